package broker

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// asCaller runs do on a thread that is both the hands and the caller, with this
// machine's own tree as the mirror and the view.
func asCaller(t *testing.T, dir string, do func(w *worker)) {
	t.Helper()
	done := make(chan error)
	go func() {
		var err error
		defer func() { done <- err }() // also when do ends the test
		runtime.LockOSThread()         // never unlocked: the thread has given up its capabilities
		w := new(worker)
		w.trap = stubTrap{}
		if err = w.becomeHands(); err != nil {
			return
		}
		if err = unix.Chdir(dir); err != nil {
			return
		}
		root, _ := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		defer unix.Close(root)
		self, _ := unix.Open("/proc/self/fd", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		defer unix.Close(self)
		var ns, proc unix.Stat_t
		must(t, unix.Stat("/proc/self/ns/mnt", &ns))
		must(t, unix.Stat("/proc", &proc))
		w.b = &Broker{config: Config{Mirror: root, View: root, Grants: root, Roots: []string{dir}}, self: self, mountNS: ns.Ino, procDev: proc.Dev}
		w.call.TID = uint32(unix.Gettid())
		defer w.b.pins.drop()
		defer w.drop()
		do(w)
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestWalksAreTheKernels: whatever a walk answers, the kernel would have answered:
// the same file or the same errno. In the mirror it may leave it to the kernel.
func TestWalksAreTheKernels(t *testing.T) {
	t.Run("mirror", func(t *testing.T) {
		walksAreTheKernels(t, []int{0, unix.O_NOFOLLOW, unix.O_DIRECTORY}, func(w *worker, dirfd int32, path string, flags int) (int, error) {
			return w.walk(dirfd, path, uint64(flags))
		})
	})
	t.Run("view", func(t *testing.T) {
		walksAreTheKernels(t, []int{0, unix.O_NOFOLLOW}, func(w *worker, dirfd int32, path string, flags int) (int, error) {
			return w.see(dirfd, path, flags&unix.O_NOFOLLOW == 0)
		})
	})
}

func walksAreTheKernels(t *testing.T, allFlags []int, walk func(w *worker, dirfd int32, path string, flags int) (int, error)) {
	dir := t.TempDir()
	for _, d := range []string{"d", "d/e", "d/e/f", "closed", "closed/in", "shared"} {
		must(t, os.Mkdir(dir+"/"+d, 0o755))
	}
	must(t, os.WriteFile(dir+"/file", nil, 0o644))
	for name, text := range map[string]string{
		"up": "..", "d/up": "../d/e/", "loop": "loop", "abs": dir + "/d", "slash": "file/", "none": "nowhere", "proc": "/proc/thread-self/cwd/d", "d/e/back": "../../file",
		"shared/other": "../d",
	} {
		must(t, os.Symlink(text, dir+"/"+name))
	}
	must(t, os.Chmod(dir+"/closed", 0o600))
	defer os.Chmod(dir+"/closed", 0o755)
	must(t, os.Chmod(dir+"/shared", 0o777|os.ModeSticky)) // see fs.protected_symlinks
	if os.Getuid() == 0 {
		must(t, os.Lchown(dir+"/shared/other", 65534, 65534))
	}
	parts := []string{"shared", "other", "d", "e", "f", "file", "up", "loop", "abs", "slash", "none", "proc", "back", "closed", "in", "..", ".", "", "missing"}
	asCaller(t, dir, func(w *worker) {
		e, err := unix.Open(dir+"/d/e", unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(e)
		open := descriptors(t)
		answered := 0
		rapid.Check(t, func(t *rapid.T) {
			for range 40 { // a path alone says little
				path := rapid.SampledFrom([]string{"", "", "", dir + "/", "/proc/thread-self/cwd/", "/proc/thread-self/fd/" + strconv.Itoa(e) + "/"}).Draw(t, "start")
				path += strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 1, 5).Draw(t, "parts"), "/")
				dirfd := rapid.SampledFrom([]int{unix.AT_FDCWD, unix.AT_FDCWD, e, 900}).Draw(t, "dirfd")
				flags := rapid.SampledFrom(allFlags).Draw(t, "flags")
				if path == "" {
					continue
				}
				fd, got := walk(w, int32(dirfd), path, flags)
				if likeTheKernel(t, fd, got, dirfd, path, flags) {
					answered++
				}
			}
		})
		if answered < 1000 {
			t.Errorf("only %d paths were answered", answered)
		}
		w.drop()
		if left := descriptors(t); left > open {
			t.Errorf("%d descriptors were open before and %d are now", open, left)
		}
	})
}

// likeTheKernel compares what one walk found, and says whether it was an answer.
func likeTheKernel(t *rapid.T, fd int, got error, dirfd int, path string, flags int) bool {
	native, want := unix.Openat(dirfd, path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if got == nil {
		defer unix.Close(fd)
	}
	if want == nil {
		defer unix.Close(native)
	}
	if got != errNotMine && (got != want || got == nil && !sameFile(fd, native)) {
		t.Fatalf("%q from %d with %#x: %v, natively %v", path, dirfd, flags, got, want)
	}
	return got != errNotMine
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}

// TestSeeStaysInside: neither ".." nor a link leads out of the caller's root,
// also not one of procfs that is a text, which the kernel would follow from ours.
func TestSeeStaysInside(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(dir+"/d", 0o755))
	must(t, os.Symlink(strings.Repeat("../", 40)+"etc", dir+"/d/up"))
	must(t, os.Symlink("/etc", dir+"/d/abs"))
	asCaller(t, dir, func(w *worker) {
		inside, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(inside)
		outside := w.b.config.View
		defer func() { w.b.config.View = outside }()
		w.b.config.View = inside
		ways := [][2]string{{dir + "/d", "up"}, {dir + "/d", "abs"}, {dir + "/d", strings.Repeat("../", 40) + "etc"}}
		links, err := filepath.Glob("/proc/fs/*/*")
		must(t, err)
		for _, link := range links { // /proc/fs/xfs/stat is one, where there is XFS
			if text, _ := os.Readlink(link); strings.HasPrefix(text, "/") {
				ways = append(ways, [2]string{filepath.Dir(link), filepath.Base(link)})
			}
		}
		for _, way := range ways {
			from, err := unix.Open(way[0], unix.O_PATH|unix.O_CLOEXEC, 0)
			must(t, err)
			if fd, err := w.see(int32(from), way[1], true); err != unix.ENOENT {
				at, _ := w.fdPath(fd)
				t.Errorf("%s from %s led to %q, %v", way[1], way[0], at, err)
				unix.Close(fd)
			}
			unix.Close(from)
		}
	})
}

// TestWalkIsBounded: what links say may not grow without end.
func TestWalkIsBounded(t *testing.T) {
	k := walker{rest: strings.Repeat("a", maxText-1)}
	if err := k.aside("b"); err != nil {
		t.Error(err)
	}
	if err := k.aside("b"); err != unix.ENAMETOOLONG {
		t.Errorf("one more: %v", err)
	}
}

// TestHeldBelowUnsearchable: what a caller has open below a directory is found
// when that directory may not be searched any more, and let go of when it is
// removed.
func TestHeldBelowUnsearchable(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(dir+"/a/b/c", 0o755))
	must(t, os.WriteFile(dir+"/a/file", nil, 0o644))
	defer os.Chmod(dir+"/a", 0o755)
	asCaller(t, dir, func(w *worker) {
		for _, name := range []string{"/a/b/c", "/a/file"} {
			fd, err := unix.Open(dir+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer unix.Close(fd)
		}
		a, err := w.find(unix.AT_FDCWD, "a", true)
		if err != nil {
			t.Error(err)
			return
		}
		defer a.close()
		w.b.pins.hold(&w.pinner, &a, 0o600)
		must(t, os.Chmod(dir+"/a", 0o600))
		for _, name := range []string{"/a/b", "/a/b/c", "/a/file"} {
			fd, err := w.named(dir+name, 0)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			unix.Close(fd)
		}
		if fd, err := w.named(dir+"/a/other", 0); err != unix.EACCES {
			t.Errorf("something that nobody holds: %d, %v", fd, err)
		}
		must(t, os.Chmod(dir+"/a", 0o755))
		must(t, os.Remove(dir+"/a/file"))
		w.b.pins.sweep()
		if n := len(w.b.pins.list); n != 1 {
			t.Errorf("%d pins after a removal, want 1", n)
		}
	})
}

// TestDirectoriesStayForTheCall: a directory that a call works in is not closed while
// the same call finds others; the next call's make room of those that were used least.
func TestDirectoriesStayForTheCall(t *testing.T) {
	open := func(d *directory) bool {
		_, err := unix.FcntlInt(uintptr(d.fd), unix.F_GETFD, 0)
		return err == nil
	}
	var d directories
	d.next()
	var all []*directory
	add := func() {
		n := &directory{inode: inode{ino: uint64(len(all) + 1)}, fd: devNull(t), grant: -1}
		all = append(all, n)
		d.add(n)
	}
	for range maxDirectories + 2 {
		add()
	}
	for i, n := range all {
		if !open(n) {
			t.Errorf("number %d was closed in the call that found it", i)
		}
	}
	d.next()
	first := d.find(func(k *directory) bool { return k.ino == 1 })
	for range maxDirectories - 1 {
		add()
	}
	if first != all[0] || !open(first) || !slices.Contains(d.known, first) || slices.Contains(d.known, all[1]) || len(d.known) != maxDirectories {
		t.Errorf("first found %v, known %v, second known %v, %d in all", first == all[0], slices.Contains(d.known, first), slices.Contains(d.known, all[1]), len(d.known))
	}
	d.drop()
	if open(first) {
		t.Error("what was dropped is still open")
	}
}

func devNull(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	must(t, err)
	return fd
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
