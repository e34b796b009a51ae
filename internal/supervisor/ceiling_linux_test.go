package supervisor

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/api"
)

// operations are all that a supervisor answers.
func operations() []string {
	all := []string{api.OpStatus, api.OpStop, api.OpEvents, api.OpApprovals, api.OpApprove, api.OpDeny, api.OpPause, api.OpResume, api.OpControl,
		api.OpNetAllow, api.OpNetDeny, api.OpWatch, api.OpClipboardSend, api.OpClipboardTake, "nonsense"}
	for op := range deskOps {
		all = append(all, op)
	}
	return all
}

func denied(err error) *api.Denial {
	var d *api.Denial
	errors.As(err, &d)
	return d
}

// TestOtherCeiling: a request that names another ceiling than the workspace's is refused,
// whatever it is, but for looking at the status and stopping.
func TestOtherCeiling(t *testing.T) {
	for name, own := range map[string]*api.Ceiling{"none": nil, "one": {Hash: "aa11", Source: "/c.json"}, "the operator's": {Source: "/etc/x"}} {
		for _, op := range operations() {
			d := &table{}
			_, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: api.ControlActive}, Freezer: &freezer{}, Ceiling: own, Stop: func() {}})
			e.Ceiling = "bb22"
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			_, err := e.Call(ctx, api.Request{Op: op, App: "x", Follow: op == api.OpWatch})
			cancel()
			if free := op == api.OpStatus || op == api.OpStop; free {
				if err != nil {
					t.Errorf("%s, %s: %v", name, op, err)
				}
				continue
			}
			why := denied(err)
			if why == nil || why.Code != api.CodeCeiling || why.Rule != "ceiling" || !strings.Contains(why.Message, "bb22") || len(d.asked) > 0 {
				t.Errorf("%s, %s: %v, carried out: %q", name, op, err, d.asked)
			} else if own != nil && own.Hash != "" && !strings.Contains(why.Message, "aa11 (/c.json)") {
				t.Errorf("%s, %s: %s does not name both", name, op, why.Message)
			}
		}
	}
	d := &table{}
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: api.ControlActive}, Ceiling: &api.Ceiling{Hash: "aa11"},
		Held: func(req *api.Request) *api.Denial {
			if req.Op == api.OpKill {
				return &api.Denial{Code: api.CodeCeiling, Rule: "programs"}
			}
			return nil
		}})
	for _, hash := range []string{"", "aa11"} {
		e.Ceiling = hash
		if _, err := e.Call(context.Background(), api.Request{Op: api.OpApps}); err != nil {
			t.Errorf("under %q: %v", hash, err)
		}
		if _, err := e.Call(context.Background(), api.Request{Op: api.OpKill}); denied(err) == nil || denied(err).Rule != "programs" {
			t.Errorf("what the workspace refuses: %v", err)
		}
	}
	if got := s.Status().Ceiling; got == nil || got.Hash != "aa11" {
		t.Errorf("status: %+v", got)
	}
}

// TestExpiry: from its moment on a workspace is frozen for good, and answers what looks,
// stops and tightens.
func TestExpiry(t *testing.T) {
	d, f := &table{}, &freezer{}
	var told atomic.Int32
	end := time.Now().Add(300 * time.Millisecond)
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: api.ControlActive}, Freezer: f, Stop: func() {},
		Ceiling: &api.Ceiling{Hash: "aa11", Source: "/c.json", Expires: end}, Expiry: "/c.json:3:1", Denied: func(n api.Denial) { told.Add(1) }})
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpLaunch}); err != nil || len(f.said()) > 0 {
		t.Fatalf("before: %v, %q", err, f.said())
	}
	for deadline := time.Now().Add(5 * time.Second); !s.Paused(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was not paused")
		}
	}
	if time.Now().Before(end) || told.Load() != 1 {
		t.Errorf("paused %s before its end, told %d times", time.Until(end), told.Load())
	}
	for _, op := range operations() {
		if op == api.OpStop || op == api.OpWait || op == api.OpAttach || op == api.OpControl {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := e.Call(ctx, api.Request{Op: op, App: "x"})
		cancel()
		why := denied(err)
		if refused := why != nil && why.Rule == "expires" && why.Source == "/c.json:3:1"; refused == afterEnd[op] {
			t.Errorf("%s: %v", op, err)
		}
	}
	for mode, ok := range map[string]bool{api.ControlPaused: true, api.ControlActive: false, api.ControlTakeover: false} {
		if _, err := e.Call(context.Background(), api.Request{Op: api.OpControl, Mode: mode}); (err == nil) != ok {
			t.Errorf("control %s: %v", mode, err)
		}
	}
	person := caller{human: func(func(Process) string) *api.Denial { return nil }}
	if r := s.setControl(context.Background(), person, api.Request{Op: api.OpControl, Mode: api.ControlActive}); r.Error == nil || r.Error.Rule != "expires" {
		t.Errorf("a person loosens: %+v", r)
	}
	if !s.Paused() || !s.Status().Ceiling.Expired {
		t.Error("it goes on")
	}
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpStop}); err != nil {
		t.Errorf("stop: %v", err)
	}
	for deadline := time.Now().Add(5 * time.Second); s.Paused(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it was not let go of, to end")
		}
	}
}

// TestExpiryKeepsDisplay: a control that is tightened afterwards gives nobody the display
// back.
func TestExpiryKeepsDisplay(t *testing.T) {
	d, told := &table{}, make(chan string, 8)
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Keep: d.keep, Control: api.Control{Mode: api.ControlActive}, Freezer: &freezer{}, Stop: func() {},
		Ceiling: &api.Ceiling{Expires: time.Now().Add(-time.Second)}, Controlled: func(mode string) { told <- mode }})
	for range 2 {
		select {
		case mode := <-told:
			if mode != api.ControlPaused {
				t.Errorf("the display is told %s", mode)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the display is told nothing")
		}
		if _, err := e.Call(context.Background(), api.Request{Op: api.OpControl, Mode: api.ControlTakeover}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.Control().Mode; got != api.ControlTakeover {
		t.Errorf("control %s", got)
	}
}

// TestExpiryWithoutFreezer: what cannot be paused is stopped.
func TestExpiryWithoutFreezer(t *testing.T) {
	stopped := make(chan struct{})
	s, _ := Serve(Config{ID: "ab", Ceiling: &api.Ceiling{Expires: time.Now().Add(-time.Hour)}, Stop: func() { close(stopped) }}) // nobody reaches it
	defer s.Close()
	select {
	case <-stopped:
	case <-time.After(5 * time.Second):
		t.Error("it runs on")
	}
}
