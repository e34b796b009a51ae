package supervisor

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/api"

	"golang.org/x/sys/unix"
)

// freezer is a double: it notes what was asked of it, and waits while told to.
type freezer struct {
	mu    sync.Mutex
	calls []string
	hang  chan struct{}
	err   error
}

func (f *freezer) Freeze() error {
	if f.hang != nil {
		<-f.hang
	}
	f.note("freeze")
	return f.err
}

func (f *freezer) Thaw() error {
	f.note("thaw")
	return nil
}

func (f *freezer) note(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, s)
}

func (f *freezer) said() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// TestIsolationIsTold: by the first event, the status and the manifest.
func TestIsolationIsTold(t *testing.T) {
	s, e, _ := serve(t, Config{Backend: "gvisor", Isolation: "kernel"})
	var first string
	err := e.Stream(context.Background(), api.Request{Op: api.OpEvents}, func(r api.Reply) error {
		if r.Event != nil && r.Event.Kind == api.EventStarted {
			first = r.Event.Text
		}
		return nil
	})
	if err != nil || first != "isolation kernel (backend gvisor)" {
		t.Errorf("the event of the start: %q, %v", first, err)
	}
	if st, m := s.Status(), s.Manifest(); st.Backend != "gvisor" || st.Isolation != "kernel" || m.Backend != "gvisor" || m.Isolation != "kernel" {
		t.Errorf("status %+v, manifest %+v", st, m)
	}
}

func TestPauseAndResume(t *testing.T) {
	f := &freezer{}
	s, e, _ := serve(t, Config{Freezer: f})
	s.SetGate(func(hold bool) {
		if hold {
			f.note("hold")
		} else {
			f.note("release")
		}
	})
	for _, op := range []string{api.OpPause, api.OpPause, api.OpResume, api.OpResume} {
		r, err := e.Call(context.Background(), api.Request{Op: op})
		if want := map[string]string{api.OpPause: api.StatePaused, api.OpResume: api.StateRunning}[op]; err != nil || r.Status.State != want {
			t.Errorf("%s: %+v, %v", op, r.Status, err)
		}
	}
	if got := f.said(); !slices.Equal(got, []string{"hold", "freeze", "thaw", "release"}) {
		t.Errorf("%q", got)
	}
	f.err = errors.New("frozen solid")
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpPause}); err == nil || s.Paused() {
		t.Errorf("%v", err)
	}
	if got := f.said()[4:]; !slices.Equal(got, []string{"hold", "freeze", "thaw", "release"}) {
		t.Errorf("after an error: %q", got)
	}
}

// TestStopNeverWaits: neither for a pause that hangs nor for callers that hold
// every connection.
func TestStopNeverWaits(t *testing.T) {
	f := &freezer{hang: make(chan struct{})}
	stopped := make(chan struct{})
	_, e, _ := serve(t, Config{Freezer: f, Stop: func() { close(stopped) }})
	defer close(f.hang)
	go func() { _, _ = e.Call(context.Background(), api.Request{Op: api.OpPause}) }()
	for range maxConnections + maxReserve {
		conn, err := e.reach(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := e.Call(ctx, api.Request{Op: api.OpStop}); err != nil {
		t.Error(err)
	}
	select {
	case <-stopped:
	case <-ctx.Done():
		t.Error("stop was not carried out")
	}
}

// TestThousandConnections: who comes too late is told so or cut off, and
// afterwards everything is as before.
func TestThousandConnections(t *testing.T) {
	s, e, _ := serve(t, Config{})
	var conns []net.Conn
	for range 1000 {
		conn, err := e.reach(context.Background())
		if err != nil {
			break // the kernel's queue is full: bounded, too
		}
		conns = append(conns, conn)
	}
	s.door.mu.Lock()
	if n := len(s.door.open) + len(s.door.reserve); n > maxConnections+maxReserve {
		t.Errorf("%d are held", n)
	}
	s.door.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	waitFor(t, "an answer", func() bool {
		_, err := e.Call(context.Background(), api.Request{Op: api.OpStatus})
		return err == nil
	})
	waitFor(t, "nothing to be held", func() bool {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		return len(s.door.open)+len(s.door.reserve) == 0
	})
	fds, _ := os.ReadDir("/proc/self/fd")
	if len(fds) > 60 {
		t.Errorf("%d descriptors are open", len(fds))
	}
}

func TestHostileRequests(t *testing.T) {
	_, e, id := serve(t, Config{})
	for name, c := range map[string]struct {
		text  string
		hang  bool
		wants string
	}{
		"half a line":     {`{"op":"stop"`, false, `"ok":false`},
		"nothing":         {"", false, `"ok":false`},
		"a huge line":     {strings.Repeat("x", 3*maxLine), true, `"ok":false`},
		"no json":         {"stop\n", true, api.CodeRequest},
		"no operation":    {"{}\n", true, api.CodeRequest},
		"unknown":         {`{"op":"fly"}` + "\n", true, api.CodeRequest},
		"a field too far": {`{"op":"deny","id":"` + id + `","force":true}` + "\n", true, api.CodeRequest},
		"a prefix":        {`{"op":"deny","id":"` + id[:5] + `"}` + "\n", true, api.CodeNotFound},
		"no id":           {`{"op":"deny"}` + "\n", true, api.CodeNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := e.reach(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = conn.Write([]byte(c.text))
			if !c.hang {
				_ = conn.CloseWrite()
			}
			buf := make([]byte, maxLine)
			n, err := conn.Read(buf)
			if !strings.Contains(string(buf[:n]), c.wants) && !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("%q, %v", buf[:n], err)
			}
		})
	}
	if r, err := e.Call(context.Background(), api.Request{Op: api.OpStatus}); err != nil || r.Status.Pending != 1 || r.Status.State != api.StateRunning {
		t.Errorf("%+v, %v", r.Status, err)
	}
}

// TestFollow: what waits, what comes, how it is answered, and the end.
func TestFollow(t *testing.T) {
	s, e, first := serve(t, Config{})
	lines := make(chan string, 10)
	go func() {
		defer close(lines)
		_ = e.Stream(context.Background(), api.Request{Op: api.OpApprovals, Follow: true}, func(r api.Reply) error {
			if r.Approval != nil {
				lines <- r.Approval.Subject + " " + r.Approval.Answer
			}
			return nil
		})
	}()
	next := func(want string) {
		t.Helper()
		if got := <-lines; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	next("x ")
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpDeny, ID: first}); err != nil {
		t.Error(err)
	}
	next("x denied")
	go s.Ask(context.Background(), api.Approval{Subject: "\x1b[2J"}, soon())
	next("\x1b[2J ")
	s.Close()
	next("\x1b[2J ended")
	if rest, ok := <-lines; ok {
		t.Errorf("%q after the end", rest)
	}
}

// TestWithoutServer: nobody can answer, so nothing is granted.
func TestWithoutServer(t *testing.T) {
	var none *Server
	none.Emit(api.Event{})
	none.SetGate(nil)
	none.Stop()
	none.Close()
	unreachable, err := Serve(Config{ID: "ab12"})
	if err == nil {
		t.Error("it listens nowhere")
	}
	defer unreachable.Close()
	for _, s := range []*Server{none, unreachable} {
		if s.Ask(context.Background(), api.Approval{}, soon()) || s.Paused() || s.Pause(context.Background()) == nil {
			t.Error("it said yes")
		}
	}
}

// TestStandStill: what has to stand still for a moment does so, whoever else wants it to
// go on meanwhile; and what a person has paused stays so.
func TestStandStill(t *testing.T) {
	ctx := context.Background()
	f := &freezer{}
	s := &Server{cfg: Config{Freezer: f}, hub: newHub("x")}
	s.pauser.init(f, s.hub)
	want := func(when string, frozen bool) {
		t.Helper()
		if done := f.said(); s.Paused() != frozen || (done[len(done)-1] == "freeze") != frozen {
			t.Errorf("%s: said %v, %q", when, s.Paused(), done)
		}
	}
	for range 2 {
		if err := s.Pause(ctx); err != nil {
			t.Fatal(err)
		}
	}
	s.pauser.wanted.Store(false)
	_ = s.pauser.change(ctx, false)
	want("a person resumes meanwhile", true)
	_ = s.Resume(ctx)
	want("one of two is done", true)
	_ = s.Resume(ctx)
	want("both are done", false)
	_ = s.Pause(ctx)
	s.pauser.wanted.Store(true)
	_ = s.pauser.change(ctx, true)
	_ = s.Resume(ctx)
	want("a person has paused it meanwhile", true)
	s.pauser.wanted.Store(false)
	_ = s.pauser.change(ctx, false)
	want("the person resumes", false)
}
