package guest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/sandbox"
	"carrel/internal/streams"

	"golang.org/x/sys/unix"
)

// machine is the other side of a host: it answers with what a test has it say.
type machine struct {
	t       *testing.T
	host    *Host
	walls   *sandbox.Walls
	records io.Writer // to the host
	asked   chan Record
	mu      sync.Mutex
	streams map[string]streams.Conn
}

// pair gives two ends of a stream of bytes.
func pair(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
		t.Cleanup(func() { c.Close() })
	}
	return ends[0], ends[1]
}

// newMachine connects a host to one, with walls of it in which no command runs yet.
func newMachine(t *testing.T) *machine {
	t.Helper()
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	near, far := pair(t)
	m := &machine{t: t, host: h, asked: make(chan Record, 1<<12), streams: make(map[string]streams.Conn)}
	conn, in, out := Messages()
	m.records = out
	served := make(chan error, 1)
	go func() { served <- h.Serve(near, near) }()
	go func() {
		_ = streams.New(far, far, false, func(what string) (streams.Conn, error) {
			if what == Control {
				return conn, nil
			}
			mine, theirs := pair(t)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.streams[what] = mine
			return theirs, nil
		}).Serve()
	}()
	go func() {
		for {
			r, err := Read(in)
			if err != nil {
				return
			}
			m.asked <- r
		}
	}()
	stage := sandbox.StageElsewhere(&sandbox.Plan{Engine: sandbox.EngineLima}, h.Control(), func() {
		far.Close()
		near.Close()
		select {
		case <-served:
		case <-time.After(10 * time.Second):
			t.Error("serving does not end")
		}
	})
	null := devNull(t)
	m.walls, err = sandbox.Launch(&sandbox.Plan{Engine: sandbox.EngineLima}, "", stage, [3]*os.File{null, null, null}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.walls.Kill)
	return m
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// says has the machine say something.
func (m *machine) says(r sandbox.Message, body []byte) {
	if err := (&Record{Message: r, Body: body}).Write(m.records); err != nil {
		m.t.Error(err)
	}
}

// asks waits for what the machine is asked.
func (m *machine) asks(kind sandbox.MessageKind) Record {
	m.t.Helper()
	select {
	case r := <-m.asked:
		if r.Message.Kind != kind {
			m.t.Fatalf("it is asked %q, want %q", r.Message.Kind, kind)
		}
		return r
	case <-time.After(10 * time.Second):
		m.t.Fatalf("it is not asked %q", kind)
	}
	return Record{}
}

// TestCommandHasOneStartAndOneEnd: whatever a machine says of a command, and of others that were not
// asked for, the walls hear of each start and end once.
func TestCommandHasOneStartAndOneEnd(t *testing.T) {
	m := newMachine(t)
	null := devNull(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ids := make(chan uint64, 1)
	go func() {
		id, err := m.walls.Exec(sandbox.Command{Argv: []string{"x"}, Dir: "/"}, [3]*os.File{null, w, w})
		if err != nil {
			t.Error(err)
		}
		w.Close()
		ids <- id
	}()
	asked := m.asks(sandbox.MsgExec)
	if len(asked.Files) != 3 || asked.Files[0].Kind != Null || asked.Files[1] != asked.Files[2] || asked.Files[1].Kind != Output {
		t.Errorf("descriptors %+v", asked.Files)
	}
	id := asked.Message.ID
	m.says(sandbox.Message{Kind: sandbox.MsgExited, ID: id, Code: 1}, nil) // before it has started
	for range 100 {
		m.says(sandbox.Message{Kind: sandbox.MsgStarted, ID: id}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgStarted, ID: id + 1}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgStopped, ID: id, Signal: 19}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgBroker, ID: id}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgPty, ID: id}, nil)
	}
	if got := <-ids; got != id {
		t.Fatalf("command %d, want %d", got, id)
	}
	m.mu.Lock()
	out := m.streams["w1"]
	m.mu.Unlock()
	if _, err := out.Write([]byte("written\n")); err != nil {
		t.Error(err)
	}
	out.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "written\n" {
		t.Errorf("output %q %v", got, err)
	}
	for range 100 {
		m.says(sandbox.Message{Kind: sandbox.MsgNoStart, ID: id}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgExited, ID: id, Code: 7 + 256}, nil)
		m.says(sandbox.Message{Kind: sandbox.MsgExited, ID: id + 7}, nil)
	}
	if exit, err := m.walls.Wait(id); err != nil || exit.Code != 7 {
		t.Errorf("%+v %v", exit, err)
	}
	if got, err := m.walls.Wait(id); err == nil {
		t.Errorf("it has ended twice: %+v", got)
	}
}

// TestSilentMachine: one that answers nothing is told of as such, and holds up no end.
func TestSilentMachine(t *testing.T) {
	m := newMachine(t)
	began := time.Now()
	if n, err := m.host.Left(3); err == nil {
		t.Errorf("%d processes of a machine that says nothing", n)
	}
	if err := m.host.Freeze(); err == nil {
		t.Error("it was frozen, without an answer")
	}
	if err := m.host.Kill(3); err == nil {
		t.Error("it was killed, without an answer")
	}
	m.walls.Flush()
	if took := time.Since(began); took > 10*askTime {
		t.Errorf("that took %s", took)
	}
	m.walls.Kill()
	if n, err := m.host.Left(3); err != nil || n != 0 {
		t.Errorf("after the end: %d %v", n, err)
	}
}

// TestKilledCommandEnds: a machine cannot keep a command whose end was asked for by not telling it.
func TestKilledCommandEnds(t *testing.T) {
	m := newMachine(t)
	null := devNull(t)
	go func() {
		m.says(sandbox.Message{Kind: sandbox.MsgStarted, ID: m.asks(sandbox.MsgExec).Message.ID}, nil)
	}()
	id, err := m.walls.Exec(sandbox.Command{Argv: []string{"x"}, Dir: "/"}, [3]*os.File{null, null, null})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan sandbox.Exit, 1)
	go func() {
		exit, _ := m.walls.Wait(id)
		ended <- exit
	}()
	if err := m.walls.Signal(id, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case exit := <-ended:
		if exit.Signal != int(unix.SIGKILL) {
			t.Errorf("%+v", exit)
		}
	case <-time.After(2 * killTime):
		t.Error("a command that was killed goes on")
	}
}

// TestDeafMachine: one that reads nothing has ended when too much waits for it.
func TestDeafMachine(t *testing.T) {
	h, err := New()
	if err != nil {
		t.Fatal(err)
	}
	near, _ := pair(t)
	served := make(chan error, 1)
	go func() { served <- h.Serve(near, near) }()
	for range 1 << 17 {
		h.Signal(1, unix.SIGTERM)
		if h.over() {
			break
		}
	}
	if !h.over() {
		t.Error("what waits has no bound")
	}
	near.Close()
	select {
	case <-served:
	case <-time.After(10 * time.Second):
		t.Error("serving does not end")
	}
	h.Control().Close()
}

// TestCounts: counts are read as they were written, and what is no count ends them.
func TestCounts(t *testing.T) {
	m := newMachine(t)
	go func() {
		r := m.asks(MsgCount)
		m.says(r.Message, append(Counts{0: 9, 4: 2}.Encode(), 0xff))
	}()
	if n, err := m.host.Left(4); err != nil || n != 2 {
		t.Errorf("%d %v", n, err)
	}
	if got := decodeCounts(bytes.Repeat([]byte{1}, 1<<20)); len(got) > maxCounts {
		t.Errorf("%d labels", len(got))
	}
	if got := decodeCounts(binary.AppendUvarint([]byte{1}, 1<<60)); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// TestRecords: a record is read as it was written; one that is too long, short or odd is none.
func TestRecords(t *testing.T) {
	var b bytes.Buffer
	r := Record{Message: sandbox.Message{Kind: sandbox.MsgExec, ID: 7, Text: "x"},
		Files: []Descriptor{{Null, 0}, {Output, 300}}, Body: []byte("body")}
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	whole := bytes.Clone(b.Bytes())
	got, err := Read(&b)
	if err != nil || got.Message != r.Message || len(got.Files) != 2 || got.Files[1] != r.Files[1] || string(got.Body) != "body" {
		t.Errorf("%+v %v", got, err)
	}
	for i := range whole[:len(whole)-len("body")-1] {
		short := bytes.Clone(whole[:i+1])
		if len(short) > 4 {
			binary.BigEndian.PutUint32(short, uint32(len(short)-4))
		}
		if r, err := Read(bytes.NewReader(short)); err == nil {
			t.Errorf("%d bytes: %+v", i, r)
		}
	}
	if _, err := read(strings.NewReader("\xff\xff\xff\xff"), maxFromGuest); !errors.Is(err, errRecord) {
		t.Errorf("too long: %v", err)
	}
}

// TestTerminal: a terminal of a command passes bytes on as they are, tells its size, and ends with
// either side.
func TestTerminal(t *testing.T) {
	m := newMachine(t)
	near, far, err := m.walls.NewPty()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	go func() {
		_, _ = m.walls.Exec(sandbox.Command{Argv: []string{"x"}, Dir: "/", Session: true, Terminal: true}, [3]*os.File{far, far, far})
		far.Close()
	}()
	m.asks(MsgResize)
	asked := m.asks(sandbox.MsgExec)
	if asked.Files[0].Kind != Terminal || asked.Files[0] != asked.Files[2] {
		t.Fatalf("descriptors %+v", asked.Files)
	}
	m.says(sandbox.Message{Kind: sandbox.MsgStarted, ID: asked.Message.ID}, nil)
	m.mu.Lock()
	there := m.streams["t1"]
	m.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(near.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 90, Row: 30}); err != nil {
		t.Fatal(err)
	}
	if r := m.asks(MsgResize); r.Message.Code != 90<<16|30 || r.Message.ID != asked.Files[0].Stream {
		t.Errorf("a new size: %+v", r.Message)
	}
	if _, err := near.WriteString("a\rb\x03"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 5)
	if n, err := io.ReadFull(there, buf[:4]); err != nil || string(buf[:n]) != "a\rb\x03" {
		t.Errorf("typed %q %v", buf[:n], err)
	}
	if _, err := there.Write([]byte("x\ny")); err != nil {
		t.Error(err)
	}
	there.Close()
	if got, _ := io.ReadAll(near); string(got) != "x\ny" { // then EIO
		t.Errorf("shown %q", got)
	}
}
