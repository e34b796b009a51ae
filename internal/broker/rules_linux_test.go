package broker

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The broker here serves one caller, a thread of the test itself, on the host's
// own tree: what depends on moments between two steps can be held still so.
type fakeTrap struct {
	calls   chan Call
	answers chan answer
	end     chan struct{}
	once    sync.Once

	valid    func() bool
	addFD    func(fd int) (int, error)
	onAnswer func()
}

type answer struct {
	val       int64
	errno     syscall.Errno
	continued bool
}

func (f *fakeTrap) Receive(c *Call) error {
	select {
	case *c = <-f.calls:
		return nil
	case <-f.end:
		return errors.New("over")
	}
}

func (f *fakeTrap) Answer(_ uint64, val int64, errno syscall.Errno) error {
	f.onAnswer()
	f.answers <- answer{val: val, errno: errno}
	return nil
}

func (f *fakeTrap) Continue(uint64) error {
	f.answers <- answer{continued: true}
	return nil
}
func (f *fakeTrap) Valid(uint64) bool                      { return f.valid() }
func (f *fakeTrap) AddFD(_ uint64, fd, _ int) (int, error) { return f.addFD(fd) }
func (f *fakeTrap) Close()                                 { f.once.Do(func() { close(f.end) }) }

// notes is a Decider that allows everything and a Recorder.
type notes struct {
	mu    sync.Mutex
	list  []string
	err   error
	never func(*Change) bool
	after func(error)
	vet   func(*Change) func(before, after []byte) error
}

func (n *notes) Decide(ch *Change) Verdict {
	v := Verdict{Allowed: n.never == nil || !n.never(ch)}
	if n.vet != nil {
		v.Vet = n.vet(ch)
	}
	return v
}
func (n *notes) After(_ *Change, err error) {
	if n.after != nil {
		n.after(err)
	}
}
func (n *notes) Before(ch *Change) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, ch.Op+" "+filepath.Base(ch.Path))
	return n.err
}

type bench struct {
	t     *testing.T
	trap  *fakeTrap
	notes *notes
	b     *Broker
	dir   string
	tid   uint32
	texts [][]byte
}

func newBench(t *testing.T) *bench {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := &bench{t: t, notes: &notes{}, dir: t.TempDir(), tid: uint32(unix.Gettid())}
	n.trap = &fakeTrap{calls: make(chan Call), answers: make(chan answer, 2*maxLeased), end: make(chan struct{}),
		valid: func() bool { return true }, addFD: func(int) (int, error) { return 77, nil }, onAnswer: func() {}}
	n.b, err = New(Config{Trap: n.trap, Mirror: root, View: root, Grants: root, Roots: []string{n.dir}, Decider: n.notes, Recorder: n.notes, Umask: 0o022})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.b.Close(); unix.Close(root) })
	return n
}

// call makes a system call whose first path is a name in the directory.
func (n *bench) call(nr int32, name string, rest ...uint64) answer {
	n.t.Helper()
	text := append([]byte(n.dir+"/"+name), 0)
	at := unix.AT_FDCWD
	defer runtime.KeepAlive(text)
	return n.raw(nr, append([]uint64{uint64(at), uint64(uintptr(unsafe.Pointer(&text[0])))}, rest...)...)
}

// text puts the path of a name in the directory where a call finds it.
func (n *bench) text(name string) uint64 {
	text := append([]byte(n.dir+"/"+name), 0)
	n.texts = append(n.texts, text) // so long as there are calls
	return uint64(uintptr(unsafe.Pointer(&text[0])))
}

// raw makes a system call with just these arguments.
func (n *bench) raw(nr int32, args ...uint64) answer {
	n.t.Helper()
	n.send(nr, args...)
	return n.answer()
}

// send makes a call that is answered later.
func (n *bench) send(nr int32, args ...uint64) {
	n.t.Helper()
	c := Call{ID: 1, TID: n.tid, Nr: nr}
	copy(c.Args[:], args)
	select {
	case n.trap.calls <- c:
	case <-time.After(10 * time.Second):
		n.t.Fatal("nobody takes calls")
	}
}

func (n *bench) answer() answer {
	n.t.Helper()
	select {
	case a := <-n.trap.answers:
		return a
	case <-time.After(10 * time.Second):
		n.t.Fatal("no answer")
		return answer{}
	}
}

func (n *bench) exists(name string) bool {
	_, err := os.Lstat(n.dir + "/" + name)
	return err == nil
}

// TestHonestCalls is the canary of the others: what they forbid works here.
func TestHonestCalls(t *testing.T) {
	n := newBench(t)
	if a := n.call(unix.SYS_MKDIRAT, "d", 0o755); a != (answer{}) || !n.exists("d") {
		t.Errorf("mkdir: %+v", a)
	}
	if a := n.call(unix.SYS_OPENAT, "f", unix.O_CREAT|unix.O_WRONLY, 0o644); a != (answer{val: 77}) || !n.exists("f") {
		t.Errorf("open: %+v", a)
	}
	if a := n.call(unix.SYS_UNLINKAT, "f", 0); a != (answer{}) || n.exists("f") {
		t.Errorf("unlink: %+v", a)
	}
	if len(n.notes.list) != 3 {
		t.Errorf("recorded: %q", n.notes.list)
	}
}

// TestB13DeadCallers: what the memory of a thread said that is no longer
// waiting may be another's: nothing is recorded, nothing done, nobody answered.
func TestB13DeadCallers(t *testing.T) {
	for name, call := range map[string]func(*bench) answer{
		"mkdir":  func(n *bench) answer { return n.call(unix.SYS_MKDIRAT, "new", 0o755) },
		"create": func(n *bench) answer { return n.call(unix.SYS_OPENAT, "new", unix.O_CREAT|unix.O_WRONLY, 0o644) },
		"unlink": func(n *bench) answer { return n.call(unix.SYS_UNLINKAT, "there", 0) },
		"chmod":  func(n *bench) answer { return n.call(unix.SYS_FCHMODAT, "there", 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			n := newBench(t)
			if err := os.WriteFile(n.dir+"/there", nil, 0o600); err != nil {
				t.Fatal(err)
			}
			asked := make(chan bool, 100)
			n.trap.valid = func() bool { asked <- true; return false }
			n.trap.onAnswer = func() { t.Error("a dead caller was answered") }
			go func() {
				<-asked
				time.Sleep(50 * time.Millisecond) // what would be done is done now
				n.trap.answers <- answer{errno: unix.ESRCH}
			}()
			call(n)
			st, err := os.Stat(n.dir + "/there")
			if err != nil || st.Mode().Perm() != 0o600 || n.exists("new") || len(n.notes.list) != 0 {
				t.Errorf("%v %v, new %v, recorded %q", st, err, n.exists("new"), n.notes.list)
			}
		})
	}
}

// TestB21HeldCalls: while the workspace is held, a call that was stopped before
// changes nothing.
func TestB21HeldCalls(t *testing.T) {
	n := newBench(t)
	n.b.Hold(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		time.Sleep(100 * time.Millisecond)
		if n.exists("d") {
			t.Error("made while held")
		}
		n.b.Hold(false)
	}()
	n.call(unix.SYS_MKDIRAT, "d", 0o755)
	<-done
	if !n.exists("d") {
		t.Error("not made afterwards")
	}
}

// TestB22NoRoom: a caller whose table is full loses no content, and no new file
// stays; one that somebody put in its place meanwhile does.
func TestB22NoRoom(t *testing.T) {
	n := newBench(t)
	old := n.dir + "/old"
	if err := os.WriteFile(old, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.trap.addFD = func(int) (int, error) { return 0, unix.EMFILE }
	if a := n.call(unix.SYS_OPENAT, "old", unix.O_WRONLY|unix.O_TRUNC); a.errno != unix.EMFILE {
		t.Errorf("%+v", a)
	}
	if data, _ := os.ReadFile(old); string(data) != "precious" {
		t.Errorf("the content is %q", data)
	}
	if a := n.call(unix.SYS_OPENAT, "new", unix.O_WRONLY|unix.O_CREAT, 0o600); a.errno != unix.EMFILE || n.exists("new") {
		t.Errorf("%+v, left: %v", a, n.exists("new"))
	}
	n.trap.addFD = func(int) (int, error) {
		if err := os.Rename(old, n.dir+"/new"); err != nil {
			t.Error(err)
		}
		return 0, unix.EMFILE
	}
	n.call(unix.SYS_OPENAT, "new", unix.O_WRONLY|unix.O_CREAT, 0o600)
	if data, _ := os.ReadFile(n.dir + "/new"); string(data) != "precious" {
		t.Errorf("somebody else's file was taken back: %q", data)
	}
}

// TestB23NoBudget: what cannot be recorded does not happen.
func TestB23NoBudget(t *testing.T) {
	n := newBench(t)
	n.notes.err = unix.EDQUOT
	for _, a := range []answer{n.call(unix.SYS_MKDIRAT, "d", 0o755), n.call(unix.SYS_OPENAT, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)} {
		if a.errno != unix.EDQUOT || n.exists("d") || n.exists("f") {
			t.Errorf("%+v", a)
		}
	}
}

// TestB29OursIsClosed: when the caller goes on, nobody here has the file open.
func TestB29OursIsClosed(t *testing.T) {
	n := newBench(t)
	file := n.dir + "/prog"
	open := 0
	n.trap.onAnswer = func() {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if at, _ := os.Readlink(fd); at == file {
				open++
			}
		}
	}
	handed := false
	n.trap.addFD = func(fd int) (int, error) {
		at, _ := os.Readlink("/proc/self/fd/" + itoa(fd))
		handed = at == file
		return 77, nil
	}
	for _, flags := range []uint64{unix.O_CREAT | unix.O_WRONLY, unix.O_WRONLY | unix.O_TRUNC} {
		if a := n.call(unix.SYS_OPENAT, "prog", flags, 0o755); a.val != 77 || !handed || open > 0 {
			t.Errorf("%+v, handed over %v, %d still open here", a, handed, open)
		}
	}
}

// TestOpenIsOneChange: an open for writing is over when the caller has the descriptor,
// the file is empty and nobody here has it open, and not before: a step could end
// between. One that the caller has no room for has failed.
func TestOpenIsOneChange(t *testing.T) {
	n := newBench(t)
	file := n.dir + "/f"
	handed, over := 0, 0
	n.trap.addFD = func(int) (int, error) { handed++; return 77, nil }
	n.notes.after = func(err error) {
		over++
		fds, _ := filepath.Glob("/proc/self/fd/*")
		for _, fd := range fds {
			if at, _ := os.Readlink(fd); at == file {
				t.Error("it is still open here")
			}
		}
		if st, e := os.Stat(file); err != nil || e != nil || st.Size() != 0 || handed != over {
			t.Errorf("%v: %v, %d handed over", err, e, handed)
		}
	}
	n.call(unix.SYS_OPENAT, "f", unix.O_CREAT|unix.O_WRONLY, 0o644)
	if err := os.WriteFile(file, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	n.call(unix.SYS_OPENAT, "f", unix.O_WRONLY|unix.O_TRUNC)
	if over != 2 {
		t.Errorf("%d changes", over)
	}
	n.trap.addFD = func(int) (int, error) { return 0, unix.EMFILE }
	n.notes.after = func(err error) {
		if over++; err != unix.EMFILE {
			t.Errorf("without room: %v", err)
		}
	}
	n.call(unix.SYS_OPENAT, "f", unix.O_WRONLY|unix.O_TRUNC)
	n.call(unix.SYS_OPENAT, "g", unix.O_CREAT|unix.O_RDONLY, 0o644)
	if over != 4 || n.exists("g") {
		t.Errorf("%d changes", over)
	}
}

// TestB17Text: a text that runs out of its memory names nothing.
func TestB17Text(t *testing.T) {
	n := newBench(t)
	page := unix.Getpagesize()
	mem, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	if err := unix.Mprotect(mem[page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		end  string
		want syscall.Errno
		made bool
	}{{"cut", unix.EFAULT, false}, {"whole\x00", 0, true}} {
		text := n.dir + "/" + c.end
		copy(mem[page-len(text):], text)
		at := unix.AT_FDCWD
		n.trap.calls <- Call{ID: 1, TID: n.tid, Nr: unix.SYS_MKDIRAT, Args: [6]uint64{uint64(at), uint64(uintptr(unsafe.Pointer(&mem[page-len(text)]))), 0o755}}
		if a := <-n.trap.answers; a.errno != c.want || n.exists("cut") || n.exists("whole") != c.made {
			t.Errorf("%q: %+v", c.end, a)
		}
	}
}

func itoa(n int) string { return filepath.Base((&object{fd: n}).link()) }
