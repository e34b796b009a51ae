package broker

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestDescriptorIsFoundAnew: changes of one file by its descriptor, one after the other,
// are of the path that the file has at each, whatever was moved between them.
func TestDescriptorIsFoundAnew(t *testing.T) {
	n := newBench(t)
	f, err := os.Create(n.dir + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var asked Change
	n.notes.never = func(ch *Change) bool { asked = *ch; return false }
	mode := uint64(0o600)
	expect := func(what, path string) {
		t.Helper()
		asked = Change{}
		mode ^= 0o044
		a := n.raw(unix.SYS_FCHMOD, uint64(f.Fd()), mode)
		st, err := f.Stat()
		if err != nil || uint64(st.Mode().Perm()) != mode || a.errno != 0 {
			t.Fatalf("%s: %+v, %v, %v", what, a, st, err)
		}
		if asked.Path != n.dir+path {
			t.Fatalf("%s: a change of %q, want %q", what, asked.Path, n.dir+path)
		}
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect("first", "/f")
	expect("again", "/f")
	do(os.Rename(n.dir+"/f", n.dir+"/g"))
	do(os.WriteFile(n.dir+"/f", nil, 0o600))
	expect("renamed and replaced", "/g")
	do(os.Mkdir(n.dir+"/d", 0o755))
	do(os.Rename(n.dir+"/g", n.dir+"/d/g"))
	expect("in a directory", "/d/g")
	do(os.Rename(n.dir+"/d", n.dir+"/e"))
	expect("the directory renamed", "/e/g")
	do(os.Link(n.dir+"/e/g", n.dir+"/other"))
	expect("two names", "/e/g")
	do(os.Remove(n.dir + "/e/g"))
	do(os.Rename(n.dir+"/other", n.dir+"/e/g"))
	expect("the other name in place of the first", "/e/g (deleted)")
}

// TestRemovedFileIsLetGo: what a descriptor led to is not kept from being freed.
func TestRemovedFileIsLetGo(t *testing.T) {
	n := newBench(t)
	pinned := func(path string) (found bool) {
		fds, _ := os.ReadDir("/proc/self/fd")
		for _, fd := range fds {
			at, _ := os.Readlink("/proc/self/fd/" + fd.Name())
			found = found || at == path || at == path+" (deleted)"
		}
		return found
	}
	change := func(name string) {
		t.Helper()
		f, err := os.Create(n.dir + name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if a := n.raw(unix.SYS_FCHMOD, uint64(f.Fd()), 0o600); a.errno != 0 {
			t.Fatal(a)
		}
	}
	change("/f")
	n.call(unix.SYS_MKDIRAT, "d", 0o755)
	n.call(unix.SYS_MKDIRAT, "e", 0o755) // the call before is over
	if pinned(n.dir + "/f") {
		t.Error("another call leaves it pinned")
	}
	change("/g")
	for end := time.Now().Add(5 * time.Second); pinned(n.dir + "/g"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it stays pinned when calls cease")
		}
	}
}

// TestGrantedFileIsFoundAnew: a change by a descriptor that the broker gave is of the file
// that it is of, and not of what lies where that was opened.
func TestGrantedFileIsFoundAnew(t *testing.T) {
	moves := []struct {
		name, path string
		do         func(dir string) error
		pinned     bool
	}{
		{"nothing", "/d/f", func(string) error { return nil }, true},
		{"replaced", "/d/g", func(dir string) error {
			if err := os.Rename(dir+"/d/f", dir+"/d/g"); err != nil {
				return err
			}
			return os.WriteFile(dir+"/d/f", nil, 0o600)
		}, false},
		{"a link in its place", "/d/g", func(dir string) error {
			if err := os.Rename(dir+"/d/f", dir+"/d/g"); err != nil {
				return err
			}
			return os.Symlink("g", dir+"/d/f")
		}, false},
		{"the directory moved", "/e/f", func(dir string) error { return os.Rename(dir+"/d", dir+"/e") }, true},
		{"in another directory", "/f", func(dir string) error { return os.Rename(dir+"/d/f", dir+"/f") }, false},
	}
	for _, m := range moves {
		t.Run(m.name, func(t *testing.T) {
			n := newBench(t)
			if err := os.Mkdir(n.dir+"/d", 0o755); err != nil {
				t.Fatal(err)
			}
			var fd int
			n.trap.addFD = func(given int) (int, error) {
				var err error
				fd, err = unix.Dup(given)
				return fd, err
			}
			var asked Change
			n.notes.never = func(ch *Change) bool { asked = *ch; return false }
			if a := n.call(unix.SYS_OPENAT, "d/f", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600); a.errno != 0 {
				t.Fatal(a)
			}
			defer unix.Close(fd)
			if err := m.do(n.dir); err != nil {
				t.Fatal(err)
			}
			if a := n.raw(unix.SYS_FCHMOD, uint64(fd), 0o640); a.errno != 0 {
				t.Fatal(a)
			}
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil || st.Mode&0o777 != 0o640 {
				t.Errorf("the mode is %o: %v", st.Mode, err)
			}
			if asked.Path != n.dir+m.path || asked.Was.Ino != st.Ino {
				t.Errorf("a change of %q, inode %d; want %q, inode %d", asked.Path, asked.Was.Ino, n.dir+m.path, st.Ino)
			}
			if asked.Dir > 0 != m.pinned || m.pinned && asked.Name != "f" {
				t.Errorf("it is pinned by directory %d and name %q", asked.Dir, asked.Name)
			}
		})
	}
}
