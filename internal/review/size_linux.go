package review

import "golang.org/x/sys/unix"

// bytesIn adds up a directory that may change meanwhile. What is closed to the user counts
// nothing.
func bytesIn(dir, depth int) (sum int64, err error) {
	names, err := namesIn(dir)
	if err != nil || depth > maxDepth {
		return 0, nil
	}
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		const blockSize = 512
		sum += st.Blocks * blockSize / max(1, int64(st.Nlink))
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		sum += st.Blocks*blockSize - st.Blocks*blockSize/max(1, int64(st.Nlink))
		fd, err := openIn(dir, name)
		if err != nil {
			continue
		}
		n, err := bytesIn(fd, depth+1)
		unix.Close(fd)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}
