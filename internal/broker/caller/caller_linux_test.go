package caller

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// self is the thread that the test runs on, which reads its own memory.
func self(t *testing.T) uint32 {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	return uint32(unix.Gettid())
}

// edge gives memory of some pages, of which the last cannot be read, and the address of
// the end of what can.
func edge(t *testing.T) (mem []byte, end uint64) {
	t.Helper()
	page := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	if err := unix.Mprotect(mem[2*page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem[:2*page], uint64(uintptr(unsafe.Pointer(&mem[2*page-1]))) + 1
}

// TestText: a text is all of it up to its NUL, or an error, wherever it lies.
func TestText(t *testing.T) {
	tid := self(t)
	mem, end := edge(t)
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		name, held, want string
		err              error
	}{
		{"whole", "/a\x00", "/a", nil},
		{"empty", "\x00", "", nil},
		{"more behind it", "/a\x00/b\x00", "/a", nil},
		{"long", long + "\x00", long, nil},
		{"over a page", strings.Repeat("y", PathMax-1) + "\x00", strings.Repeat("y", PathMax-1), nil},
		{"without an end", "/a", "", unix.EFAULT},
		{"long without an end", long, "", unix.EFAULT},
		{"too long", strings.Repeat("z", PathMax+1) + "\x00", "", unix.ENAMETOOLONG},
	} {
		copy(mem[len(mem)-len(c.held):], c.held)
		at := end - uint64(len(c.held))
		for _, fetched := range []bool{false, true} {
			var m Memory
			m.Begin(tid)
			if fetched {
				m.Fetch(at, at)
			}
			if got, err := m.Text(at, 1); got != c.want || err != c.err {
				t.Errorf("%s, fetched %v: %q, %v", c.name, fetched, got, err)
			}
		}
	}
}

// TestFetchedIsOfOneCall: what was read ahead for a call is not believed for the next.
func TestFetchedIsOfOneCall(t *testing.T) {
	tid := self(t)
	mem, end := edge(t)
	at := end - 3
	copy(mem[len(mem)-3:], "/a\x00")
	var m Memory
	m.Begin(tid)
	m.Fetch(at, at)
	if err := Write(tid, at, []byte("/b\x00")); err != nil {
		t.Fatal(err)
	}
	if got, err := m.Text(at, 0); err != nil || got != "/a" {
		t.Errorf("of one call: %q, %v; read once is read once", got, err)
	}
	m.Begin(tid)
	if got, err := m.Text(at, 0); err != nil || got != "/b" {
		t.Errorf("of the next: %q, %v", got, err)
	}
	buf := make([]byte, 4)
	if err := m.ReadExact(at, buf); err != unix.EFAULT {
		t.Errorf("four bytes of three: %q, %v", buf, err)
	}
	if err := Write(tid, at, buf); err != unix.EFAULT {
		t.Errorf("four bytes written to three: %v", err)
	}
}

// TestThreads: what a thread has is found by its directory, and nothing of one that is gone.
func TestThreads(t *testing.T) {
	tid := self(t)
	var threads Threads
	defer threads.Drop()
	f, err := os.CreateTemp(t.TempDir(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	path, err := unix.Open(f.Name(), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(path)
	for range 2 { // opened anew, and kept
		fd, err := threads.Open(tid, Link(int32(f.Fd())), 0)
		if err != nil {
			t.Fatal(err)
		}
		same, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil || same != f.Name() {
			t.Errorf("%q, %v", same, err)
		}
		unix.Close(fd)
	}
	if threads.OnlyPath(tid, int32(f.Fd())) || !threads.OnlyPath(tid, int32(path)) || threads.OnlyPath(tid, -1) {
		t.Error("which of the descriptors is a path only")
	}
	if _, err := threads.Open(tid, Link(1<<20), 0); err == nil {
		t.Error("a descriptor that is not there was opened")
	}
	if _, err := threads.Open(1<<30, "cwd", 0); err == nil {
		t.Error("a thread that is not there has a working directory")
	}
	two, err := Duplicate(tid, int32(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(two)
}

// TestStatus: lines of procfs, as the kernel writes them and as nothing.
func TestStatus(t *testing.T) {
	tid := self(t)
	if got := Status(tid, "Tgid:"); got != strconv.Itoa(os.Getpid()) {
		t.Errorf("the thread group is %q", got)
	}
	if got := Status(1<<30, "Tgid:"); got != "" {
		t.Errorf("of no thread: %q", got)
	}
	const text = "Name:\tx\nNStgid:\t7\t3\nNSpid:\t9\n"
	for label, want := range map[string]string{"NStgid:": "3", "NSpid:": "9", "None:": ""} {
		if got := InnerID(text, label, 1); got != want {
			t.Errorf("%s %q", label, got)
		}
	}
	whole, err := ReadFile(Dir(tid) + "/status")
	if err != nil || Field(whole, "Name:") == "" || Interrupted(tid) {
		t.Errorf("%q, %v", whole, err)
	}
}
