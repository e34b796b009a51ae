package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// farEnd is a stage as its supervisor sees it: what the test says it says.
type farEnd struct {
	t  *testing.T
	of *ControlSocket
}

// faked are walls with the test as their stage.
func faked(t *testing.T) (*Walls, *farEnd) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	w := newWalls(os.NewFile(uintptr(pair[0]), "control"))
	far := &farEnd{t, NewControlSocket(os.NewFile(uintptr(pair[1]), "far control"))}
	t.Cleanup(func() { far.of.file.Close(); w.Close() })
	return w, far
}

func (s *farEnd) say(m Message, files ...*os.File) {
	s.t.Helper()
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	if err := s.of.Tell(m, fds...); err != nil {
		s.t.Error(err)
	}
}

// asked gives the next request, and its descriptors, which it closes at the end of the test.
func (s *farEnd) asked() (Message, []int) {
	s.t.Helper()
	m, fds, err := s.of.Receive()
	if err != nil {
		s.t.Error(err)
	}
	s.t.Cleanup(func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	})
	return m, fds
}

// watchedPipe is a pipe of which it is seen whether any copy of its writing end is open.
func watchedPipe(t *testing.T) (write *os.File, closed func() bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return w, func() bool {
		w.Close()
		_ = r.SetReadDeadline(time.Now().Add(20 * time.Second))
		_, err := r.Read(make([]byte, 1))
		return err == io.EOF
	}
}

// TestReady: each word of a stage before its walls stand, and what a supervisor makes of one that is
// missing a descriptor.
func TestReady(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	w, far := faked(t)
	far.say(Message{Kind: MsgNote, Text: "a note"})
	far.say(Message{Kind: MsgSocket}, null)
	far.say(Message{Kind: MsgSocket, ID: 1, Code: int(unix.EADDRINUSE)})
	far.say(Message{Kind: MsgDiag}, null)
	far.say(Message{Kind: MsgPackets}, null, null)
	far.say(Message{Kind: MsgProc}, null)
	far.say(Message{Kind: MsgCopy}, null)
	far.say(Message{Kind: MsgBroker, ID: 77}, null, null, null, null)
	far.say(Message{Kind: MsgReady}, null)
	stood := 0
	if err := w.ready(func(*Walls) error { stood++; return nil }); err != nil || stood != 1 {
		t.Fatalf("%v, told %d times that they stand", err, stood)
	}
	w.pid = os.Getpid()
	h, err := w.TakeBroker()
	if err != nil || h.MountNS != 77 || h.Level != 0 {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := w.TakeBroker(); err == nil {
		t.Error("the broker's descriptors are taken twice")
	}
	sockets, diag, packets := w.TakeListeners()
	if len(sockets) != 2 || sockets[0] < 0 || sockets[1] != -1 || diag < 0 || len(packets) != 2 || w.Procfs == nil || len(w.Copies) != 1 ||
		len(w.Notes) != 1 {
		t.Errorf("%v %d %v, notes %q", sockets, diag, packets, w.Notes)
	}
	for _, fd := range slices.Concat(packets, []int{sockets[0], diag, h.Listener, h.Mirror, h.View, h.Grants}) {
		unix.Close(fd)
	}
	for name, c := range map[string]struct {
		say  Message
		want SetupError
	}{
		"no socket": {Message{Kind: MsgReady}, SetupError{Step: "taking over the inside socket", Code: int(unix.EMFILE)}},
		"what failed": {Message{Kind: MsgSetup, Text: "mounting\x00busy", Path: "/x", Code: 16},
			SetupError{Step: "mounting", Path: "/x", Err: "busy", Code: 16}},
		"no words":     {Message{Kind: MsgSetup, Text: "mounting"}, SetupError{Step: "mounting"}},
		"alone, ready": {Message{Kind: MsgReady, Code: ReadyAlone}, SetupError{}},
	} {
		w, far := faked(t)
		far.say(c.say)
		var setup *SetupError
		err := w.ready(nil)
		if errors.As(err, &setup) != (c.want.Step != "") || setup != nil &&
			(setup.Step != c.want.Step || setup.Path != c.want.Path || setup.Code != c.want.Code) {
			t.Errorf("%s: %v, want %v", name, err, &c.want)
		}
	}
	w, far = faked(t)
	far.of.file.Close()
	if err := w.ready(nil); err == nil || !strings.Contains(err.Error(), "ended before the walls stood") {
		t.Errorf("a stage that ends: %v", err)
	}
}

// TestAnswers: what the stage answers to a request, which ends with it, and descriptors that it sends
// unasked are closed.
func TestAnswers(t *testing.T) {
	w, far := faked(t)
	go w.listen()
	socket, closed := watchedPipe(t)
	answered := make(chan error, 1)
	for _, c := range []struct {
		answer Message
		files  []*os.File
		want   error
	}{
		{Message{Kind: MsgDialed}, []*os.File{socket}, nil}, {Message{Kind: MsgDialed, Code: int(unix.ECONNREFUSED)}, nil, unix.ECONNREFUSED},
		{Message{Kind: MsgDialed}, nil, unix.EMFILE}, {Message{Kind: MsgDialed}, []*os.File{socket, socket}, unix.EMFILE},
	} {
		go func() {
			fd, err := w.Dial(netip.MustParseAddrPort("127.0.0.1:80"))
			if err == nil {
				unix.Close(fd)
			}
			answered <- err
		}()
		m, _ := far.asked()
		if m.Kind != MsgDial || m.Text != "127.0.0.1:80" {
			t.Errorf("asked %+v", m)
		}
		far.say(Message{Kind: c.answer.Kind, ID: m.ID + 1, Code: c.answer.Code}, c.files...) // of no request
		far.say(Message{Kind: c.answer.Kind, ID: m.ID, Code: c.answer.Code}, c.files...)
		far.say(Message{Kind: c.answer.Kind, ID: m.ID, Code: c.answer.Code}, c.files...) // once more
		if err := <-answered; !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.answer, err, c.want)
		}
	}
	if _, err := w.DialUnix("relative"); err != unix.EINVAL {
		t.Errorf("a relative path: %v", err)
	}
	go func() { _, _, err := w.NewPty(); answered <- err }()
	m, _ := far.asked()
	far.say(Message{Kind: MsgPty, ID: m.ID}, socket)
	if err := <-answered; !errors.Is(err, unix.EMFILE) {
		t.Errorf("half a terminal: %v", err)
	}
	go func() { answered <- w.Bind(0, 0, "name", 0o22) }()
	if m, fds := far.asked(); m.Text != "name" || m.Code != 0o22 || len(fds) != 2 {
		t.Errorf("asked %+v with %d", m, len(fds))
	} else {
		far.say(Message{Kind: MsgBound, ID: m.ID, Code: int(unix.EADDRINUSE)})
	}
	if err := <-answered; err != unix.EADDRINUSE {
		t.Errorf("a name that is taken: %v", err)
	}
	if !closed() {
		t.Error("a descriptor that was not asked for stays open")
	}
	go func() { answered <- w.Bind(0, 0, "name", 0) }()
	far.asked()
	far.of.file.Close()
	if err := <-answered; !errors.Is(err, ErrGone) {
		t.Errorf("the stage ends meanwhile: %v", err)
	}
	if _, err := w.Dial(netip.MustParseAddrPort("127.0.0.1:80")); err == nil {
		t.Error("a stage that has ended is asked")
	}
}

// TestCommandsOfAStage: how a command began and ended is told to who waits for it, once, and a stage
// that says it again holds nothing up.
func TestCommandsOfAStage(t *testing.T) {
	w, far := faked(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	go w.listen()
	type began struct {
		id  uint64
		err error
	}
	started := make(chan began, 1)
	exec := func() Message {
		t.Helper()
		go func() {
			id, err := w.Exec(Command{Argv: []string{"x"}}, [3]*os.File{null, null, null})
			started <- began{id, err}
		}()
		m, fds := far.asked()
		if m.Kind != MsgExec || len(fds) != 4 {
			t.Errorf("asked %+v with %d", m, len(fds))
		}
		return m
	}
	m := exec()
	far.say(Message{Kind: MsgNoStart, ID: m.ID, Path: "x", Code: int(unix.ENOENT), Text: "no such file"})
	var start *StartError
	if b := <-started; !errors.As(b.err, &start) || start.Code != int(unix.ENOENT) || b.err.Error() != `starting "x": no such file` {
		t.Errorf("not started: %v", b.err)
	}
	if _, err := w.Wait(m.ID); err == nil || errors.Is(err, ErrGone) {
		t.Errorf("the end of what was not started: %v", err)
	}
	m = exec()
	for range 3 {
		far.say(Message{Kind: MsgStarted, ID: m.ID, Code: 5})
		far.say(Message{Kind: MsgExited, ID: m.ID, Code: 3})
	}
	b := <-started
	if b.err != nil || b.id != m.ID {
		t.Fatalf("%+v", b)
	}
	if e, err := w.Wait(b.id); err != nil || e.Code != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := w.Wait(b.id); err == nil || !strings.Contains(err.Error(), fmt.Sprint(b.id)) {
		t.Errorf("its end is told twice: %v", err)
	}
	stopped := make(chan string, 1)
	w.stopped = func(_ *Walls, id uint64, sig syscall.Signal) { stopped <- fmt.Sprint(id == m.ID, sig) }
	far.say(Message{Kind: MsgStopped, ID: m.ID, Signal: int(unix.SIGTSTP)})
	if got := <-stopped; got != "true stopped" {
		t.Error(got)
	}
	m = exec()
	far.say(Message{Kind: MsgStarted, ID: m.ID, Code: 6})
	b = <-started
	if err := w.Signal(b.id, unix.SIGHUP); err != nil {
		t.Error(err)
	}
	if m, _ := far.asked(); m.Kind != MsgSignal || m.ID != b.id || m.Signal != int(unix.SIGHUP) {
		t.Errorf("asked %+v", m)
	}
	far.of.file.Close()
	if _, err := w.Wait(b.id); !errors.Is(err, ErrGone) {
		t.Errorf("the stage ends: %v", err)
	}
	select {
	case <-w.Done():
	case <-time.After(20 * time.Second):
		t.Error("nothing says that the stage is gone")
	}
}

// TestMessages: a message is read as it was written, cut so that it fits into a packet, and no bytes
// make reading it fail in another way than by an error.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Kind: MessageKind(rapid.Byte().Draw(t, "kind")), ID: rapid.Uint64().Draw(t, "id"), Code: int(rapid.Int32().Draw(t, "code")),
			Signal: rapid.IntRange(0, 64).Draw(t, "signal"), Path: anyBytes.Draw(t, "path"),
			Text: strings.Repeat(anyBytes.Draw(t, "text"), rapid.SampledFrom([]int{1, MaxMessage}).Draw(t, "times"))}
		packet := m.Encode()
		m.Text = m.Text[:min(len(m.Text), MaxMessage/3)]
		if got, err := DecodeMessage(packet); err != nil || got != m || len(packet) > MaxMessage {
			t.Errorf("%+v is read as %+v, %v, of %d bytes", m, got, err, len(packet))
		}
		if _, err := DecodeMessage(packet[:rapid.IntRange(0, len(packet)-1).Draw(t, "cut")]); err == nil {
			t.Error("a message that was cut short is read")
		}
	})
}
