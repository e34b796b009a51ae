package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Main carries out what is read from in, and gives the exit status: 0 also where some of it was
// not done, which the report says.
func Main(in io.Reader, out, errs io.Writer) int {
	r := &replayer{in: bufio.NewReaderSize(in, maxHeader), root: -1, parent: -1, tree: -1, lost: make(map[string]bool),
		opened: make(map[string]uint32)}
	err := r.run()
	r.close()
	if err == nil {
		err = json.NewEncoder(out).Encode(&r.report)
	}
	if err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

// replayer does one operation after the other.
type replayer struct {
	in     *bufio.Reader
	root   int // the tree's directory
	path   string
	tree   int // how many there were before
	parent int // of the operation before, -1 for none
	at     string
	lost   map[string]bool   // git directories of which an object is missing
	unmade []string          // directories that could not be made
	opened map[string]uint32 // directories of the tree whose mode kept the user out, and that mode
	report Report
}

func (r *replayer) close() {
	r.restore()
	for _, fd := range []int{r.parent, r.root} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	r.parent, r.root, r.at = -1, -1, ""
}

func (r *replayer) run() error {
	unix.Umask(0)
	for {
		op, err := next(r.in)
		if err != nil {
			return err
		}
		body := &io.LimitedReader{R: r.in, N: op.Size}
		switch op.Do {
		case DoEnd:
			return nil
		case DoTree:
			err = r.enter(string(op.Path))
		case DoFile, DoWrite, DoMkdir, DoSymlink, DoFifo, DoLink, DoRemove, DoRmdir, DoMeta, DoDir:
			r.note(op, r.one(op, body))
		default:
			err = fmt.Errorf("an unknown operation %q", op.Do)
		}
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil || body.N > 0 {
			return errors.New("what is to be applied ends too soon")
		}
	}
}

func (r *replayer) enter(tree string) error {
	r.close()
	r.tree++
	r.unmade = nil
	r.path = tree
	fd, err := unix.Open("/", dirFlags, 0)
	if err == nil {
		fd, err = descend(fd, strings.TrimPrefix(tree, "/"), nil)
	}
	if err != nil {
		return fmt.Errorf("opening %q: %w", tree, err)
	}
	r.root = fd
	return nil
}

// dirFlags open a directory and follow no link. There is no openat2(2) inside.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// descend opens what lies below a directory, which it closes, one name after the other. each
// sees every directory on the way.
func descend(fd int, rel string, each func(at, name string, parent, fd int)) (int, error) {
	at := ""
	for part := range strings.SplitSeq(rel, "/") {
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			unix.Close(fd)
			return -1, unix.EINVAL
		}
		at = path.Join(at, part)
		next, err := unix.Openat(fd, part, dirFlags, 0)
		if err != nil {
			unix.Close(fd)
			return -1, err
		}
		if each != nil {
			each(at, part, fd, next)
		}
		unix.Close(fd)
		fd = next
	}
	return fd, nil
}

// note counts an operation that was done, or not.
func (r *replayer) note(op *Op, err error) {
	if err == nil {
		r.report.Done++
		return
	}
	if op.Do == DoMkdir && !errors.Is(err, errAround) {
		r.unmade = append(r.unmade, string(op.Path))
	}
	if op.Do == DoDir && errors.Is(err, errAround) {
		return // it has been told
	}
	if len(op.Git) > 0 && !op.Ref {
		r.lost[r.repository(op)] = true
	}
	if len(r.report.Failed) == maxFailure {
		r.report.More++
		return
	}
	f := Failure{Tree: r.tree, Path: op.Path, Why: err.Error()}
	var n unix.Errno
	if errors.As(err, &n) {
		f.Code = int(n)
	}
	r.report.Failed = append(r.report.Failed, f)
}

// errAround is a directory that there is not, in which something was to be made.
var errAround = errors.New("what it lies in is missing")

// without gives the directory around a path, or at it, that could not be made; "" for none.
func (r *replayer) without(at string) string {
	for _, dir := range r.unmade {
		if at == dir || strings.HasPrefix(at, dir+"/") {
			return dir
		}
	}
	return ""
}

func (r *replayer) repository(op *Op) string { return fmt.Sprint(r.tree, string(op.Git)) }

// one does an operation, if what it was planned for is there still.
func (r *replayer) one(op *Op, body io.Reader) error {
	if op.Ref && r.lost[r.repository(op)] {
		return errors.New("an object of the repository could not be written, so nothing is changed that may refer to it")
	}
	if around := r.without(string(op.Path)); around != "" {
		return fmt.Errorf("%w: %q could not be made", errAround, around)
	}
	dir, name, err := r.place(string(op.Path))
	if err != nil {
		return err
	}
	if err := still(dir, name, &op.Was); err != nil {
		return err
	}
	switch op.Do {
	case DoMkdir:
		return unix.Mkdirat(dir, name, 0o700)
	case DoFile:
		return r.replace(dir, name, op, body)
	case DoWrite:
		return r.rewrite(dir, name, op, body)
	case DoSymlink:
		if err := gone(dir, name, op); err != nil {
			return err
		}
		return errors.Join(unix.Symlinkat(string(op.To), dir, name), setTime(dir, name, op.Mtime))
	case DoFifo:
		if err := gone(dir, name, op); err != nil {
			return err
		}
		return errors.Join(unix.Mknodat(dir, name, unix.S_IFIFO|op.Perm, 0), setTime(dir, name, op.Mtime))
	case DoLink:
		return r.link(dir, name, op)
	case DoRemove:
		return unix.Unlinkat(dir, name, 0)
	case DoRmdir:
		return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	case DoMeta:
		return r.setMeta(dir, name, op)
	}
	delete(r.opened, string(op.Path))
	return r.setMeta(dir, name, op)
}

// still compares what is at a name with what was there when the operation was planned. Each
// name that is made or removed changes the times of a file that has several.
func still(dir int, name string, was *Stat) error {
	var st unix.Stat_t
	err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.ENOENT) && was.Kind == None {
		return nil
	}
	if err != nil {
		return err
	}
	changed := errors.New("it was changed meanwhile")
	kinds := map[Kind]uint32{File: unix.S_IFREG, Dir: unix.S_IFDIR, Symlink: unix.S_IFLNK, Fifo: unix.S_IFIFO, Socket: unix.S_IFSOCK}
	switch kind := st.Mode & unix.S_IFMT; {
	case was.Kind == Device && (kind == unix.S_IFCHR || kind == unix.S_IFBLK):
		return nil
	case kinds[was.Kind] != kind:
		return changed
	case was.Kind == Dir:
		return nil
	case st.Ino != was.Ino || st.Size != was.Size || st.Mtim.Nano() != was.Mtime || was.Nlink == 1 && st.Ctim.Nano() != was.Ctime:
		return changed
	}
	return nil
}

// place gives the directory that a path lies in, in which the user may make names, and its name.
func (r *replayer) place(at string) (int, string, error) {
	dir, name := path.Dir(at), path.Base(at)
	if r.parent >= 0 && r.at == dir {
		return r.parent, name, nil
	}
	if r.parent >= 0 {
		unix.Close(r.parent)
		r.parent = -1
	}
	fd, err := r.open(dir)
	if err != nil {
		return -1, "", fmt.Errorf("opening what it lies in: %w", err)
	}
	r.parent, r.at = fd, dir
	return fd, name, nil
}

// open opens a directory of the tree. One whose mode keeps the user out gets another one, until
// all is done.
func (r *replayer) open(dir string) (int, error) {
	fd, err := unix.Openat(r.root, ".", dirFlags, 0)
	if err != nil {
		return -1, err
	}
	return descend(fd, dir, func(at, name string, parent, fd int) {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&0o700 == 0o700 || int(st.Uid) != os.Geteuid() {
			return
		}
		if unix.Fchmodat(parent, name, st.Mode&0o7777|0o700, 0) == nil {
			r.opened[at] = st.Mode & 0o7777
		}
	})
}

// restore closes directories again that were opened, and that no operation has given a mode.
func (r *replayer) restore() {
	for dir, mode := range r.opened {
		parent, err := unix.Openat(r.root, ".", dirFlags, 0)
		if err == nil {
			parent, err = descend(parent, path.Dir(dir), nil)
		}
		if err == nil {
			err = unix.Fchmodat(parent, path.Base(dir), mode, 0)
			unix.Close(parent)
		}
		if err != nil && !errors.Is(err, unix.ENOENT) {
			r.report.Failed = append(r.report.Failed, Failure{Tree: r.tree, Path: []byte(dir), Why: "its mode: " + err.Error()})
		}
	}
	r.opened = make(map[string]uint32)
}

// spare is the name under which new content is written, before it takes its place. In a git
// directory it is that of git's own lock.
func spare(name string, op *Op) string {
	switch {
	case op.Ref:
		return name + ".lock"
	case len(op.Git) > 0:
		return "tmp_obj_carrel"
	}
	return fmt.Sprintf(".carrel-apply-%d", os.Getpid())
}

// replace puts a new file into the place of what is there.
func (r *replayer) replace(dir int, name string, op *Op, body io.Reader) (err error) {
	temp := spare(name, op)
	fd, err := unix.Openat(dir, temp, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EEXIST) && op.Ref {
		return errors.New("git holds the lock of it: does a program use the repository?")
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	defer f.Close()
	defer func() {
		if err != nil {
			_ = unix.Unlinkat(dir, temp, 0)
		}
	}()
	if _, err := io.CopyN(f, body, op.Size); err != nil {
		return err
	}
	if op.Ref { // now that no other process changes it
		if err := still(dir, name, &op.Was); err != nil {
			return err
		}
	}
	if err := r.setMeta(dir, temp, op); err != nil {
		return err
	}
	return unix.Renameat(dir, temp, dir, name)
}

// rewrite gives the file that is there another content. It keeps its other names.
func (r *replayer) rewrite(dir int, name string, op *Op, body io.Reader) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) && op.Was.Perm&0o200 == 0 {
		if err = unix.Fchmodat(dir, name, op.Was.Perm|0o200, 0); err == nil {
			fd, err = unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.CopyN(f, body, op.Size)
	if err == nil {
		err = f.Truncate(op.Size)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return r.setMeta(dir, name, op)
}

// gone removes what is in the place of something that is made anew.
func gone(dir int, name string, op *Op) error {
	if op.Was.Kind == None {
		return nil
	}
	return unix.Unlinkat(dir, name, 0)
}

func (r *replayer) link(dir int, name string, op *Op) error {
	from, err := r.open(path.Dir(string(op.To)))
	if err != nil {
		return err
	}
	defer unix.Close(from)
	if err := gone(dir, name, op); err != nil {
		return err
	}
	return unix.Linkat(from, path.Base(string(op.To)), dir, name, 0)
}

func setTime(dir int, name string, mtime int64) error {
	return unix.UtimesNanoAt(dir, name, []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(mtime)}, unix.AT_SYMLINK_NOFOLLOW)
}

// setMeta gives a file or a directory its attributes, mode and time.
func (r *replayer) setMeta(dir int, name string, op *Op) error {
	if op.Xattrs != nil {
		if err := setXattrs(path.Join(r.path, path.Dir(string(op.Path)), name), op.Xattrs); err != nil {
			return fmt.Errorf("its attributes: %w", err)
		}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	if st.Mode&0o7777 != op.Perm {
		if err := unix.Fchmodat(dir, name, op.Perm, 0); err != nil {
			return fmt.Errorf("its mode: %w", err)
		}
	}
	return setTime(dir, name, op.Mtime)
}

// setXattrs gives a file the attributes that it has to have, and takes the others of the kind.
func setXattrs(at string, want map[string][]byte) error {
	list := make([]byte, 64<<10)
	n, err := unix.Llistxattr(at, list)
	if errors.Is(err, unix.ENOTSUP) && len(want) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(string(list[:n]), "\x00") {
		user := strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "system.posix_acl_")
		if _, kept := want[name]; user && !kept {
			if err := unix.Lremovexattr(at, name); err != nil {
				return err
			}
		}
	}
	for name, value := range want {
		had := make([]byte, len(value)+1)
		if n, err := unix.Lgetxattr(at, name, had); err == nil && string(had[:n]) == string(value) {
			continue
		}
		if err := unix.Lsetxattr(at, name, value, 0); err != nil {
			return err
		}
	}
	return nil
}
