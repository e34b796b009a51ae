package ownfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// besides is a context as it is where unshare(2) is refused.
func besides(t *testing.T) *Context {
	c, err := beside(unix.EPERM)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func opened(t *testing.T, path string) int {
	dir, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(dir) })
	return dir
}

// status reads a line of this process in /proc.
func status(t *testing.T, name string) string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+name+":\t")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// TestUmaskIsTheThreads: what each thread makes has the mode that its own umask leaves,
// while others work; the process keeps its umask and directory.
func TestUmaskIsTheThreads(t *testing.T) {
	before, _ := os.Getwd()
	mask := status(t, "Umask")
	var all sync.WaitGroup
	for range 4 {
		at := t.TempDir()
		c, dir := besides(t), opened(t, at)
		all.Go(func() {
			for i := range 200 {
				mask, mode := rand.Uint32N(0o1000), rand.Uint32N(0o1000)
				name := fmt.Sprint(i)
				err := c.Under(int(mask), func() error {
					switch i % 3 {
					case 0:
						fd, err := c.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, mode)
						if err != nil {
							return err
						}
						return unix.Close(fd)
					case 1:
						return c.Mkdirat(dir, name, mode)
					}
					return c.Mknodat(dir, name, unix.S_IFIFO|mode)
				})
				st, e := os.Lstat(at + "/" + name)
				if err != nil || e != nil || uint32(st.Mode().Perm()) != mode&^mask {
					t.Errorf("umask %o, mode %o: %v, %v, %v", mask, mode, err, e, st)
				}
				runtime.GC()
			}
		})
	}
	all.Wait()
	if now, _ := os.Getwd(); now != before || status(t, "Umask") != mask {
		t.Errorf("the process is in %s with umask %s, was in %s with %s", now, status(t, "Umask"), before, mask)
	}
}

// TestErrors: what the kernel answers is what the caller gets, and what cannot be asked is
// refused before it is.
func TestErrors(t *testing.T) {
	c, dir := besides(t), opened(t, t.TempDir())
	for name, want := range map[string]error{
		"a/b": unix.ENOENT, "": unix.ENOENT, "\x00": unix.EINVAL,
		strings.Repeat("n", 256): unix.ENAMETOOLONG, strings.Repeat("n", 4096): unix.ENAMETOOLONG,
	} {
		if err := c.Mkdirat(dir, name, 0o700); err != want {
			t.Errorf("%.10q: %v, want %v", name, err, want)
		}
	}
	if _, err := c.Openat(-1, "a", unix.O_CREAT|unix.O_EXCL, 0o600); err != unix.EBADF {
		t.Error(err)
	}
}

// TestBind: a socket gets its name in the directory, whatever the name, and by the umask.
func TestBind(t *testing.T) {
	at := t.TempDir()
	c, dir := besides(t), opened(t, at)
	for _, name := range []string{"s", "@s", strings.Repeat("n", 105)} {
		s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(s)
		if err := c.Under(0o027, func() error { return c.BindAt(s, dir, name) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if st, err := os.Lstat(at + "/" + name); err != nil || st.Mode().Type() != os.ModeSocket || st.Mode().Perm() != 0o750 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
	if err := c.BindAt(-1, dir, strings.Repeat("n", 106)); err != unix.EINVAL {
		t.Error(err)
	}
}

// TestEnd: Close leaves no thread, and a signal of the process meets none of ours.
func TestEnd(t *testing.T) {
	count := func() int {
		tasks, _ := filepath.Glob("/proc/self/task/*/status")
		n := 0
		for _, task := range tasks {
			if text, err := os.ReadFile(task); err == nil && strings.Contains(string(text), "\nSigBlk:\tfffffffffffbfeff") {
				n++
			}
		}
		return n
	}
	var threads []*Context
	for range 8 {
		c, err := beside(unix.EPERM)
		if err != nil {
			t.Fatal(err)
		}
		threads = append(threads, c)
	}
	if n := count(); n != len(threads) {
		t.Errorf("%d threads block all signals, want %d", n, len(threads))
	}
	for range 100 {
		_ = syscall.Kill(os.Getpid(), unix.SIGURG)
	}
	for _, c := range threads {
		c.set(0)
		c.Close()
	}
	if n := count(); n != 0 {
		t.Errorf("%d threads are left", n)
	}
}

func BenchmarkMkdir(b *testing.B) {
	c, err := beside(unix.EPERM)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		_ = c.Mkdirat(-1, "x", 0)
	}
}
