package review

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxSeedBytes = 256 << 20 // of files that are copied for their links
	maxSeeds     = 20_000    // of them
)

// seeding copies the files of a tree that have several names in it, so that they have them in
// the layer.
type seeding struct {
	lower, upper int
	dirs         map[string]bool // that are there above
	left         int             // files that are not copied
	bytes        int64
	files        int
}

// seed makes the upper directory of a tree look as the tree does, with the files in linked.
func (l *Layer) seed(i, root int, linked map[uint64][]string, note func(string)) error {
	upper, err := openTree(l.Upper(i))
	if err != nil {
		return err
	}
	defer unix.Close(upper)
	list, err := os.OpenFile(l.part(i, "seeds"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer list.Close()
	s := &seeding{lower: root, upper: upper, dirs: map[string]bool{".": true}}
	for _, ino := range slices.Sorted(maps.Keys(linked)) {
		names := linked[ino]
		if len(names) < 2 {
			continue
		}
		made, err := s.file(ino, names)
		if err != nil {
			return fmt.Errorf("copying %q, which has several names: %w", names[0], err)
		}
		if made == nil {
			s.left++
			continue
		}
		if _, err := fmt.Fprintf(list, "%d %d %d\n", made.ino, made.born, ino); err != nil {
			return err
		}
	}
	if s.left > 0 {
		note(fmt.Sprintf("%d files with several names are too much to copy: a change of one of their names does not reach the others", s.left))
	}
	return s.finish()
}

// seed is a copy in an upper directory. Its number alone may come to be another file's.
type seed struct {
	ino  uint64
	born int64 // when the kernel made it, in nanoseconds
}

// bornAt gives what identifies an open file, nil where its file system does not say when it
// was made.
func bornAt(fd int) (*seed, error) {
	var st unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil || st.Mask&unix.STATX_BTIME == 0 {
		return nil, err
	}
	return &seed{st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}, nil
}

// file copies one file, nil where it is left out.
func (s *seeding) file(ino uint64, names []string) (*seed, error) {
	fd, err := openFile(s.lower, names[0])
	if err != nil {
		return nil, nil // what cannot be read is not changed inside either
	}
	from := os.NewFile(uintptr(fd), names[0])
	defer from.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Ino != ino || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != uint32(os.Geteuid()) || s.files >= maxSeeds ||
		s.bytes+st.Size > maxSeedBytes {
		return nil, nil
	}
	s.files, s.bytes = s.files+1, s.bytes+st.Size
	for _, name := range names {
		if err := s.above(path.Dir(name)); err != nil {
			return nil, err
		}
	}
	made, err := s.copy(from, &st, names[0])
	if err != nil {
		return nil, err
	}
	for _, name := range names[1:] {
		if now, err := statAtPath(s.lower, name); err != nil || now.Ino != ino {
			continue
		}
		if err := unix.Linkat(s.upper, names[0], s.upper, name, 0); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (s *seeding) copy(from *os.File, st *unix.Stat_t, name string) (*seed, error) {
	fd, err := unix.Openat(s.upper, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	to := os.NewFile(uintptr(fd), name)
	defer to.Close()
	if unix.IoctlFileClone(fd, int(from.Fd())) != nil {
		if _, err := io.Copy(to, from); err != nil {
			return nil, err
		}
	}
	attrs, err := xattrs(int(from.Fd()))
	if err != nil {
		return nil, err
	}
	if err := setXattrs(fd, attrs); err != nil {
		return nil, err
	}
	if err := errors.Join(unix.Fchmod(fd, st.Mode&0o7777), setTimes(fd, st)); err != nil {
		return nil, err
	}
	return bornAt(fd)
}

// above makes a directory in the upper one as it is in the tree, but for its times.
func (s *seeding) above(dir string) error {
	if s.dirs[dir] {
		return nil
	}
	if err := s.above(path.Dir(dir)); err != nil {
		return err
	}
	s.dirs[dir] = true
	return unix.Mkdirat(s.upper, dir, 0o700)
}

// finish gives the directories above the modes, times and attributes of those below.
func (s *seeding) finish() error {
	dirs := slices.Sorted(maps.Keys(s.dirs))
	slices.SortStableFunc(dirs, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") })
	dirs = append(slices.DeleteFunc(dirs, func(d string) bool { return d == "." }), ".")
	for _, dir := range dirs {
		if err := s.like(dir); err != nil {
			return fmt.Errorf("copying the mode of %q: %w", dir, err)
		}
	}
	return nil
}

func (s *seeding) like(dir string) error {
	from, err := openDir(s.lower, dir, 0)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	to, err := openDir(s.upper, dir, 0)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	var st unix.Stat_t
	if err := unix.Fstat(from, &st); err != nil {
		return err
	}
	attrs, err := xattrs(from)
	if err != nil {
		return err
	}
	if err := setXattrs(to, attrs); err != nil {
		return err
	}
	return errors.Join(unix.Fchmod(to, st.Mode&0o7777), setTimes(to, &st))
}

// openFile opens a regular file below a directory; no link is followed, and nothing is waited for.
func openFile(root int, name string) (int, error) {
	return unix.Openat2(root, name, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
}

// statAtPath is statAt for a path of which no component may be a link.
func statAtPath(root int, name string) (Stat, error) {
	dir, err := openDir(root, path.Dir(name), 0)
	if err != nil {
		return Stat{}, err
	}
	defer unix.Close(dir)
	return statAt(dir, path.Base(name))
}

func setTimes(fd int, st *unix.Stat_t) error {
	times := []unix.Timespec{st.Atim, st.Mtim}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), times, 0)
}

// seeds are the files of an upper directory that are copies for their links.
type seeds struct {
	of    map[uint64]uint64 // the file in the tree, by the number of its copy
	born  map[uint64]int64  // the time of the copy
	below map[uint64]bool   // the files in the tree
}

// check forgets a copy whose number has come to be another file's, which is open.
func (s *seeds) check(fd int, ino uint64) error {
	if _, ok := s.of[ino]; !ok {
		return nil
	}
	now, err := bornAt(fd)
	if err == nil && (now == nil || now.born != s.born[ino]) {
		delete(s.of, ino)
	}
	return err
}

// seeds reads the list of a tree.
func (l *Layer) seeds(i int) (*seeds, error) {
	f, err := os.Open(l.part(i, "seeds"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &seeds{make(map[uint64]uint64), make(map[uint64]int64), make(map[uint64]bool)}
	in := bufio.NewScanner(f)
	for in.Scan() {
		var above, below uint64
		var born int64
		if _, err := fmt.Sscanf(in.Text(), "%d %d %d", &above, &born, &below); err != nil {
			return nil, fmt.Errorf("the list of linked files in the layer: %w", err)
		}
		out.of[above], out.born[above], out.below[below] = below, born, true
	}
	return out, in.Err()
}
