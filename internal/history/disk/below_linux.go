package disk

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"carrel/internal/pathname"
)

// EachBelow calls do for every name below a root until over says so; what cannot be
// read is left out.
func (r *Root) EachBelow(do func(dir int, path string, ino uint64, name string), over func() bool) {
	buf := make([]byte, 32<<10)
	for dirs := []string{r.Path}; len(dirs) > 0 && !over(); {
		path := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		dir, name, err := r.ParentThrough(path)
		if err != nil {
			continue
		}
		fd, err := OpenAt(dir, DirName(name), unix.O_RDONLY|unix.O_DIRECTORY)
		if err == unix.EACCES {
			fd, err = OpenUnreadable(dir, DirName(name))
		}
		unix.Close(dir)
		if err != nil {
			continue
		}
		for !over() {
			n, err := unix.Getdents(fd, buf)
			if err != nil || n <= 0 {
				break
			}
			entries(buf[:n], func(ino uint64, kind byte, name string) {
				if kind == unix.DT_DIR {
					dirs = append(dirs, pathname.Join(path, name))
				} else {
					do(fd, path, ino, name)
				}
			})
		}
		unix.Close(fd)
	}
}

// entries reads struct linux_dirent64.
func entries(buf []byte, do func(ino uint64, kind byte, name string)) {
	const head = 19 // d_ino, d_off, d_reclen, d_type
	for len(buf) > head {
		n := int(binary.NativeEndian.Uint16(buf[16:]))
		if n <= head || n > len(buf) {
			return
		}
		if name := unix.ByteSliceToString(buf[head:n]); name != "." && name != ".." {
			do(binary.NativeEndian.Uint64(buf), buf[18], name)
		}
		buf = buf[n:]
	}
}
