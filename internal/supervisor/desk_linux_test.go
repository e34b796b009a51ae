package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/fdpass"

	"golang.org/x/sys/unix"
)

// table is a workspace that stays: it answers with what it was asked, and keeps what
// was written down.
type table struct {
	mu    sync.Mutex
	kept  []api.Control
	full  error // of the disk
	asked []string
	files []int // how many came with each request
}

func (d *table) Answer(ctx context.Context, c *Call) api.Reply {
	d.mu.Lock()
	d.asked, d.files = append(d.asked, c.Request.Op), append(d.files, len(c.Files))
	d.mu.Unlock()
	switch c.Request.Op {
	case api.OpWait: // for ever
		<-ctx.Done()
	case api.OpAttach:
		for in := range c.Inputs() {
			_ = c.Send(api.Reply{Output: &api.Output{Data: in.Data}})
			if in.Signal != 0 {
				break
			}
		}
	case api.OpTerminal:
		_ = c.Send(api.Reply{}, os.Stdin)
	}
	return api.Reply{OK: true}
}

func (d *table) Describe(s *api.WorkspaceStatus) { s.Purpose = "test" }

func (d *table) keep(c api.Control) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.full == nil {
		d.kept = append(d.kept, c)
	}
	return d.full
}

func (d *table) modes() (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.kept {
		out = append(out, c.Mode)
	}
	return out
}

// serveDesk starts a server for a workspace that stays.
func serveDesk(t *testing.T, mode string) (*Server, Entry, *table, *freezer) {
	t.Helper()
	d, f := &table{}, &freezer{}
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: mode}, Freezer: f})
	return s, e, d, f
}

// TestControlOnlyTightens: who is no person at a terminal can go up, and neither down
// nor across; the test itself is nobody.
func TestControlOnlyTightens(t *testing.T) {
	modes := []string{api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlPaused}
	for _, from := range modes {
		for _, to := range modes {
			s, e, d, f := serveDesk(t, from)
			a, _ := tightness(from)
			b, _ := tightness(to)
			r, err := e.Call(context.Background(), api.Request{Op: api.OpControl, Mode: to})
			if allowed := from == to || b > a; allowed != (err == nil) {
				t.Errorf("%s to %s: %v", from, to, err)
			} else if allowed && r.Control.Mode != to {
				t.Errorf("%s to %s: %+v", from, to, r.Control)
			}
			if got := s.control.get().Mode; (err == nil) != (got == to) && from != to {
				t.Errorf("%s to %s: it is %s", from, to, got)
			}
			if wrote := slices.Contains(d.modes(), to); wrote != (err == nil && from != to) {
				t.Errorf("%s to %s: written down: %q", from, to, d.modes())
			}
			if froze := len(f.said()) > 0; froze != (to == api.ControlPaused && from != to) {
				t.Errorf("%s to %s: %q", from, to, f.said())
			}
		}
	}
}

// TestAPersonLoosens: whoever is at a terminal goes back, and nobody while it cannot be
// written down.
func TestAPersonLoosens(t *testing.T) {
	d, f := &table{}, &freezer{}
	s := &Server{cfg: Config{Name: "desk", Desk: d, Keep: d.keep, Freezer: f, Agent: robot}, hub: newHub("x"), queue: newQueue("x", "", func(api.Event) {})}
	s.pauser.init(f, s.hub)
	person := caller{human: func(func(Process) string) *api.Denial { return nil }}
	set := func(mode string) error {
		if r := s.setControl(context.Background(), person, api.Request{Op: api.OpControl, Mode: mode}); r.Error != nil {
			return r.Error
		}
		return nil
	}
	s.control.set(api.Control{Mode: api.ControlActive})
	for _, mode := range []string{api.ControlPaused, api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlReadOnly, api.ControlActive} {
		if err := set(mode); err != nil || s.control.get().By != "person" {
			t.Errorf("%s: %v", mode, err)
		}
	}
	if got := f.said(); !slices.Equal(got, []string{"freeze", "thaw"}) {
		t.Errorf("%q", got)
	}
	d.full = errors.New("no space")
	if err := set(api.ControlPaused); err == nil || s.control.get().Mode != api.ControlPaused || !s.Paused() {
		t.Errorf("tighter on a full disk: %v, %s", err, s.control.get().Mode)
	}
	if err := set(api.ControlActive); err == nil || s.control.get().Mode != api.ControlPaused || !s.Paused() {
		t.Errorf("looser on a full disk: %v, %s", err, s.control.get().Mode)
	}
	if err := set("open"); err == nil {
		t.Error("a mode that does not exist")
	}
}

// TestBlockedRequests: in each mode what acts and what looks; stop always.
func TestBlockedRequests(t *testing.T) {
	for _, mode := range []string{api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlPaused} {
		s, e, d, _ := serveDesk(t, mode)
		for op, does := range deskOps {
			if op == api.OpWait || op == api.OpAttach {
				continue
			}
			_, err := e.Call(context.Background(), api.Request{Op: op})
			var why *api.Denial
			blocked := errors.As(err, &why) && why.Code == api.CodeControl
			if want := does == acts && mode != api.ControlActive; blocked != want || (err != nil) != want {
				t.Errorf("%s while %s: %v", op, mode, err)
			}
			if slices.Contains(d.asked, op) == blocked {
				t.Errorf("%s while %s came through: %t", op, mode, blocked)
			}
		}
		if _, err := e.Call(context.Background(), api.Request{Op: api.OpStop}); err != nil {
			t.Errorf("stop while %s: %v", mode, err)
		}
		kinds := 0
		for _, ev := range s.hub.kept {
			if ev.Kind == api.EventBlocked {
				kinds++
			}
		}
		if (kinds > 0) != (mode != api.ControlActive) {
			t.Errorf("%d events of refusals while %s", kinds, mode)
		}
	}
}

// TestTypingIsJudgedByItself: somebody who was attached before types nothing after.
func TestTypingIsJudgedByItself(t *testing.T) {
	_, e, _, _ := serveDesk(t, api.ControlActive)
	c, err := e.Open(context.Background(), api.Request{Op: api.OpAttach})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	say := func(in api.Input) {
		if err := c.Say(in); err != nil {
			t.Fatal(err)
		}
	}
	say(api.Input{Data: []byte("before")})
	if r, _, err := c.Next(); err != nil || string(r.Output.Data) != "before" {
		t.Fatalf("canary: %+v, %v", r, err)
	}
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpControl, Mode: api.ControlReadOnly}); err != nil {
		t.Fatal(err)
	}
	say(api.Input{Data: []byte("after")})
	say(api.Input{Columns: 80, Rows: 24}) // types nothing
	if r, _, err := c.Next(); err != nil || len(r.Output.Data) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestDescriptors: as many as may come, come once, and none is left open; with the
// answer they come too.
func TestDescriptors(t *testing.T) {
	s, e, d, _ := serveDesk(t, api.ControlActive)
	for _, n := range []int{0, 3, fdpass.Most, fdpass.Most + 5} {
		files := slices.Repeat([]*os.File{os.Stdin}, n)
		c, err := e.Open(context.Background(), api.Request{Op: api.OpExec}, files...)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Next(); err != nil {
			t.Error(err)
		}
		c.Close()
		if got := d.files[len(d.files)-1]; got != min(n, fdpass.Most) {
			t.Errorf("%d of %d came", got, n)
		}
	}
	c, err := e.Open(context.Background(), api.Request{Op: api.OpTerminal})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, files, err := c.Next()
	if err != nil || len(files) != 1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	files[0].Close()
	s.Close()
	before := countFiles(t)
	for range 20 {
		_, e, _, _ := serveDesk(t, api.ControlActive)
		if c, err := e.Open(context.Background(), api.Request{Op: "nothing"}, os.Stdin, os.Stdin); err == nil {
			_, _, _ = c.Next()
			c.Close()
		}
	}
	waitFor(t, "their descriptors to be closed", func() bool { return countFiles(t) < before+20*8 })
}

func countFiles(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestWaitersEndWithTheWorkspace: however long they wanted to wait, Stop comes first.
func TestWaitersEndWithTheWorkspace(t *testing.T) {
	s, e, d, _ := serveDesk(t, api.ControlActive)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _ = e.Call(context.Background(), api.Request{Op: api.OpWait}) })
	}
	waitFor(t, "all to wait", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.asked) == 20
	})
	began := time.Now()
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpStop}); err != nil {
		t.Error(err)
	}
	s.Close()
	all.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestLongCommands: a command of many arguments comes through, an endless line does
// not.
func TestLongCommands(t *testing.T) {
	_, e, _, _ := serveDesk(t, api.ControlActive)
	argv := slices.Repeat([]string{strings.Repeat("x", 1000)}, 500)
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: argv}}); err != nil {
		t.Error(err)
	}
	argv = slices.Repeat(argv, 3)
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: argv}}); err == nil {
		t.Error("a line of more than a megabyte was taken")
	}
}

// TestInsideOfADesk: a process in namespaces of its own can do nothing with one.
func TestInsideOfADesk(t *testing.T) {
	s, e, d, _ := serveDesk(t, api.ControlActive)
	ops := []string{api.OpControl}
	for op := range deskOps {
		ops = append(ops, op)
	}
	for _, op := range ops {
		cmd := client(e.dir, op, "x")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}}
		if got := said(t, cmd); strings.Fields(got)[0] != api.CodeInside {
			t.Errorf("%s: %s", op, got)
		}
	}
	if len(d.asked) > 0 || s.control.get().Mode != api.ControlActive {
		t.Errorf("it did %q", d.asked)
	}
	if got := said(t, client(e.dir, api.OpApps, "x")); got != "ok" {
		t.Errorf("canary: from outside: %s", got)
	}
}

// TestEventsFromBefore: who asks for more than is in memory gets it from where it was
// written down, each once and in order.
func TestEventsFromBefore(t *testing.T) {
	var all []api.Event
	past := func(since uint64, each func(api.Event) error) error {
		for _, e := range all {
			if e.Seq > since {
				if err := each(e); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var mu sync.Mutex
	s, e, _ := serve(t, Config{Name: "desk", Desk: &table{}, First: 7, Past: past, Record: func(e api.Event) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, e)
	}})
	for i := range 2 * keptEvents {
		s.Emit(api.Event{Kind: api.EventNote, Text: fmt.Sprint(i)})
	}
	for _, since := range []uint64{0, 8, 100, 7 + 2*keptEvents} {
		next := max(since, 7) + 1
		err := e.Stream(context.Background(), api.Request{Op: api.OpEvents, Since: since}, func(r api.Reply) error {
			if r.Event == nil {
				return nil
			}
			if r.Event.Seq != next {
				return fmt.Errorf("event %d, want %d", r.Event.Seq, next)
			}
			next++
			return nil
		})
		if err != nil || next != s.hub.last()+1 {
			t.Errorf("since %d: up to %d of %d: %v", since, next, s.hub.last(), err)
		}
	}
}
