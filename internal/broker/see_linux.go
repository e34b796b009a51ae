package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procRoot is the inode number of the top of every procfs.
const procRoot = 1

// see finds what a path means to the caller, in the mounts that the caller has,
// and pins it: a descriptor for paths only. Where it fails, the errno is the one
// that the caller would have got.
func (w *worker) see(dirfd int32, path string, follow bool) (int, error) {
	if path == "" {
		return -1, unix.ENOENT
	}
	root := w.b.config.View
	if w.away {
		own, err := w.ofCaller("root")
		if err != nil {
			return -1, err
		}
		defer unix.Close(own)
		root = own
	}
	from, resolve := root, uint64(inMirror)
	if path[0] != '/' {
		dir, err := w.standing(dirfd)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		from, resolve = dir, below
	}
	flags := uint64(unix.O_NOFOLLOW)
	if follow {
		flags = 0
	}
	fd, err := w.open(from, path, flags, resolve)
	if err == unix.ENOENT {
		// Procfs does not know the caller as "self" when it is we who look. Where
		// no link is on the way, that is not the reason.
		fd, err = w.open(from, path, flags, resolve|unix.RESOLVE_NO_SYMLINKS)
	}
	if err == unix.ELOOP || err == unix.EXDEV {
		s := stroll{w: w, root: root, rest: path}
		return s.walk(from, follow)
	}
	return fd, err
}

// standing opens the directory that a relative path of the caller begins at.
func (w *worker) standing(dirfd int32) (int, error) {
	if dirfd == unix.AT_FDCWD {
		return w.ofCaller("cwd")
	}
	fd, err := w.callerFD(w.call.TID, dirfd)
	if err != nil {
		return -1, unix.EBADF
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		unix.Close(fd)
		return -1, unix.ENOTDIR
	}
	return fd, nil
}

// ofCaller follows a link of the caller's directory in procfs.
func (w *worker) ofCaller(link string) (int, error) {
	fd := -1
	err := w.proc(w.call.TID, func(dir int) (e error) {
		fd, e = unix.Openat(dir, link, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return e
	})
	if err != nil {
		return -1, unix.EACCES
	}
	return fd, nil
}

// stroll resolves a path step by step, where one openat2 does not do: through
// links that procfs answers for the caller and nobody else, and up from a
// directory that is not the root.
type stroll struct {
	w     *worker
	root  int
	cur   int
	rest  string
	links int
}

func (s *stroll) walk(from int, follow bool) (int, error) {
	if s.rest[0] == '/' {
		from = s.root
	}
	var err error
	if s.cur, err = again(from); err != nil {
		return -1, err
	}
	directory := false
	for {
		s.rest = strings.TrimLeft(s.rest, "/")
		if s.rest == "" {
			break
		}
		name := s.rest
		if i := strings.IndexByte(name, '/'); i >= 0 {
			name = name[:i]
		}
		s.rest = s.rest[len(name):]
		last := strings.Trim(s.rest, "/") == ""
		directory = last && s.rest != ""
		if err := s.step(name, !last || follow || directory); err != nil {
			unix.Close(s.cur)
			return -1, err
		}
	}
	var st unix.Stat_t
	if directory && (unix.Fstat(s.cur, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR) {
		unix.Close(s.cur)
		return -1, unix.ENOTDIR
	}
	return s.cur, nil
}

// again opens a directory a second time.
func again(dir int) (int, error) {
	return unix.Openat(dir, ".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

func (s *stroll) step(name string, follow bool) error {
	if name == "." || name == ".." {
		return s.dots(name)
	}
	fd, err := s.w.open(s.cur, name, unix.O_NOFOLLOW, below)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK || !follow {
		s.to(fd)
		return nil
	}
	defer unix.Close(fd)
	if s.links++; s.links > maxLinks {
		return unix.ELOOP
	}
	if st.Dev == s.w.b.procDev {
		return s.throughProcfs(fd, name)
	}
	return s.throughLink(fd)
}

func (s *stroll) to(fd int) {
	unix.Close(s.cur)
	s.cur = fd
}

func (s *stroll) dots(name string) error {
	var here, top unix.Stat_t
	if unix.Fstat(s.cur, &here) == nil && unix.Fstat(s.root, &top) == nil && here.Dev == top.Dev && here.Ino == top.Ino {
		name = "."
	}
	fd, err := unix.Openat(s.cur, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err == nil {
		s.to(fd)
	}
	return err
}

func (s *stroll) throughLink(fd int) error {
	n, err := unix.Readlinkat(fd, "", s.w.link[:])
	switch {
	case err != nil:
		return err
	case n == 0:
		return unix.ENOENT
	case n == len(s.w.link) || n+len(s.rest) > 16*pathMax:
		return unix.ENAMETOOLONG
	}
	return s.aside(string(s.w.link[:n]))
}

// aside goes on with a link's text in place of the link.
func (s *stroll) aside(text string) error {
	s.rest = text + s.rest
	if text[0] != '/' {
		return nil
	}
	fd, err := again(s.root)
	if err == nil {
		s.to(fd)
	}
	return err
}

// throughProcfs follows a link of procfs as if the caller did. At its top these
// are texts; below, they are the things themselves.
func (s *stroll) throughProcfs(fd int, name string) error {
	var dir unix.Stat_t
	if err := unix.Fstat(s.cur, &dir); err != nil {
		return err
	}
	if dir.Ino == procRoot {
		if name != "self" && name != "thread-self" {
			return s.throughLink(fd)
		}
		text, err := s.w.itself(name)
		if err != nil {
			return err
		}
		return s.aside(text)
	}
	at, err := s.w.fdPath(s.cur)
	if err != nil || s.w.stageOnly(at+"/"+name) {
		return unix.EACCES
	}
	thing, err := unix.Openat(s.cur, name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err == nil {
		s.to(thing)
	}
	return err
}

// itself is what self and thread-self say to the caller.
func (w *worker) itself(name string) (string, error) {
	text, err := readAll("/proc/" + strconv.FormatUint(uint64(w.call.TID), 10) + "/status")
	if err != nil {
		return "", unix.ENOENT
	}
	process, thread := innerID(text, "\nNStgid:"), innerID(text, "\nNSpid:")
	if process == "" || thread == "" {
		return "", unix.ENOENT
	}
	if name == "self" {
		return process, nil
	}
	return process + "/task/" + thread, nil
}

// innerID gives a thread's number in the namespace below ours, which is the
// workspace's.
func innerID(status, line string) string {
	_, rest, _ := strings.Cut(status, line)
	rest, _, _ = strings.Cut(rest, "\n")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return ""
	}
	return words[min(1, len(words)-1)]
}

// openToAll is what everybody may read of any process, as far as its mode goes.
var openToAll = map[string]bool{
	"stat": true, "statm": true, "status": true, "cmdline": true, "comm": true, "cgroup": true, "mounts": true, "mountinfo": true,
	"limits": true, "task": true, "loginuid": true, "sessionid": true, "oom_score": true, "oom_score_adj": true, "oom_adj": true,
	"fd": true, "cpuset": true, "schedstat": true, "sched": true, "uid_map": true, "gid_map": true, "setgroups": true,
}

// stageOnly says whether a path of procfs shows what the stage keeps to itself.
// It is not dumpable, so that nobody inside may look into it; we own its user
// namespace, and the kernel would let us.
func (w *worker) stageOnly(at string) bool {
	rest, ok := strings.CutPrefix(at, "/proc/")
	pid, file, _ := strings.Cut(rest, "/")
	if _, err := strconv.ParseUint(pid, 10, 32); !ok || err != nil {
		return false
	}
	if thread, below, ok := strings.Cut(strings.TrimPrefix(file, "task/"), "/"); ok && thread != file && strings.HasPrefix(file, "task/") {
		file = below
	}
	if file == "" || openToAll[file] || strings.HasPrefix(file, "net/") {
		return false
	}
	fd, err := unix.Openat2(w.b.config.View, "/proc/"+pid+"/status", &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC, Resolve: inMirror})
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	var buf [512]byte
	n, err := unix.Read(fd, buf[:])
	_, tgid, ok := strings.Cut(string(buf[:max(n, 0)]), "\nTgid:")
	tgid, _, _ = strings.Cut(tgid, "\n")
	return err != nil || !ok || strings.TrimSpace(tgid) == "1"
}

// readAll reads a small file of our own procfs.
func readAll(name string) (string, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, 4096)
	for have := 0; ; {
		n, err := unix.Read(fd, buf[have:])
		if err != nil {
			return "", err
		}
		if have += n; n == 0 {
			return string(buf[:have]), nil
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}
