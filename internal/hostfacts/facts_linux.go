package hostfacts

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/mountinfo"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// Facts answers questions about host paths, each path once per run: three
// system calls give both the canonical name and the kind. Requests of programs inside
// are answered at the same time, so it may be asked by several.
type Facts struct {
	mu     sync.Mutex
	known  map[string]fact
	kernel []string // mounts, see KernelMounts; nil before the first question
}

type fact struct {
	real     string
	kind     sandbox.Kind
	dev, ino uint64
}

// New gives facts of which none is known yet.
func New() *Facts { return &Facts{known: make(map[string]fact)} }

// Resolve gives the canonical path and what is there; KindNone with the path
// as it was given when nothing is.
func (f *Facts) Resolve(p string) (string, sandbox.Kind) {
	f.mu.Lock()
	k, ok := f.known[p]
	f.mu.Unlock()
	if ok {
		return k.real, k.kind
	}
	k = look(p) // a disk may take its time
	f.mu.Lock()
	defer f.mu.Unlock()
	if first, ok := f.known[p]; ok {
		return first.real, first.kind
	}
	f.known[p] = k
	if k.kind != sandbox.KindNone {
		f.known[k.real] = k
	}
	return k.real, k.kind
}

// Identity gives what a path was when it was resolved.
func (f *Facts) Identity(p string) (dev, ino uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.known[p]
	if k.real != p {
		return 0, 0
	}
	return k.dev, k.ino
}

// Pin makes sure that the project is the directory that we stand in, not one
// that has taken its name since: it is reached from the working directory by
// "..", as many times as the names say.
func (f *Facts) Pin(p *Place) error {
	fd, err := unix.Open(".", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the working directory: %w", err)
	}
	for range strings.Count(strings.TrimPrefix(p.Cwd, p.Project), "/") {
		up, err := unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("opening the project: %w", err)
		}
		fd = up
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("looking at the project: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[p.Project] = fact{real: p.Project, kind: sandbox.KindDir, dev: st.Dev, ino: st.Ino}
	return nil
}

// kernelTypes are the file systems that show or change what the kernel knows of
// the machine, its processes above all.
var kernelTypes = []string{"proc", "sysfs", "cgroup", "cgroup2", "devtmpfs", "devpts", "debugfs", "tracefs", "securityfs", "configfs",
	"bpf", "pstore", "efivarfs", "fusectl", "binfmt_misc", "mqueue", "nsfs", "rpc_pipefs", "selinuxfs", "smackfs"}

// KernelMounts are the places that such file systems have beside those that every
// workspace has of its own: in a directory for chroot, say. Whoever is granted a
// directory around one would have it along.
func (f *Facts) KernelMounts() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kernel != nil {
		return f.kernel, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("looking for mounts of the kernel's file systems: %w", err)
	}
	f.kernel = make([]string, 0)
	for _, m := range mountinfo.Parse(string(text)) {
		if slices.Contains(kernelTypes, m.Type) && !slices.ContainsFunc(OwnTops, func(top string) bool { return pathname.Within(m.At, "/"+top) }) {
			f.kernel = append(f.kernel, m.At)
		}
	}
	return f.kernel, nil
}

// Canonical resolves a path of which the end may not exist: the part that does
// is resolved, the rest is kept.
func (f *Facts) Canonical(p string) string {
	rest := ""
	for dir := path.Clean(p); ; dir = path.Dir(dir) {
		if real, kind := f.Resolve(dir); kind != sandbox.KindNone || dir == "/" {
			return path.Join(real, rest)
		}
		rest = path.Join(path.Base(dir), rest)
	}
}

func look(p string) fact {
	none := fact{real: p}
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return none
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return none
	}
	var buf [unix.PathMax]byte
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), buf[:])
	if err != nil || n == 0 || n == len(buf) || buf[0] != '/' {
		return none
	}
	k := fact{real: string(buf[:n]), kind: sandbox.KindOther, dev: st.Dev, ino: st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		k.kind = sandbox.KindFile
	case unix.S_IFDIR:
		k.kind = sandbox.KindDir
	}
	return k
}

// Forget makes the next question about p look again.
func (f *Facts) Forget(p string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.known, p)
}

// Readable asks with the effective ids and groups of this process.
func Readable(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK, unix.AT_EACCESS) == nil
}

// ForgetBelow makes questions about what is below dir look again.
func (f *Facts) ForgetBelow(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.known {
		if p != dir && pathname.Within(p, dir) {
			delete(f.known, p)
		}
	}
}

// Searchable asks whether a directory may be entered and listed.
func Searchable(dir string) bool {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.X_OK, unix.AT_EACCESS) == nil
}
