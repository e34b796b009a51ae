package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestCallersThatSayMoreAndGo: who says more than is listened to and goes keeps no
// place.
func TestCallersThatSayMoreAndGo(t *testing.T) {
	s, e, d, _ := serveDesk(t, api.ControlActive)
	for range 20 {
		c, err := e.Open(context.Background(), api.Request{Op: api.OpWait})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := c.Say(api.Input{Columns: 1, Rows: 1}); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	waitFor(t, "all to have asked", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.asked) == 20
	})
	waitFor(t, "their places to be free", func() bool {
		s.door.mu.Lock()
		defer s.door.mu.Unlock()
		return len(s.door.open) == 0
	})
}

// talker answers with what is longer than a line.
type talker struct{ table }

func (*talker) Answer(context.Context, *Call) api.Reply {
	return api.Reply{OK: true, Screen: &api.Screen{Lines: []string{strings.Repeat("<", maxLine)}}}
}

// TestLongAnswers: what is too long for a line is refused in words, and what only looks
// like markup is not made longer.
func TestLongAnswers(t *testing.T) {
	_, e, _ := serve(t, Config{Name: "desk", Desk: &talker{}, Control: api.Control{Mode: api.ControlActive}})
	_, err := e.Call(context.Background(), api.Request{Op: api.OpTerminalRead})
	if why := (*api.Denial)(nil); !errors.As(err, &why) || why.Code != api.CodeRequest {
		t.Errorf("%v", err)
	}
	d := &table{}
	_, e, _ = serve(t, Config{Name: "desk", Desk: d, Control: api.Control{Mode: api.ControlActive}})
	if _, err := e.Call(context.Background(), api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: []string{strings.Repeat("<", maxLine/2)}}}); err != nil || len(d.asked) != 1 {
		t.Errorf("%v", err)
	}
}

// slow is a desk under whose hands the mode changes.
type slow struct {
	table
	tighten func()
	blocked []*api.Denial
}

func (d *slow) Answer(_ context.Context, c *Call) api.Reply {
	d.tighten()
	d.blocked = append(d.blocked, c.Blocked())
	return api.Reply{OK: true}
}

// TestBlockedMeanwhile: a request that was judged before a change of the mode, and has
// not begun, finds that it is refused now.
func TestBlockedMeanwhile(t *testing.T) {
	d := &slow{}
	s, e, _ := serve(t, Config{Name: "desk", Desk: d, Control: api.Control{Mode: api.ControlActive}, Keep: d.keep})
	d.tighten = func() {
		if err := s.Tighten(t.Context(), api.ControlReadOnly, ""); err != nil {
			t.Error(err)
		}
	}
	for _, op := range []string{api.OpDesktopDo, api.OpDesktopSee} {
		if _, err := e.Call(t.Context(), api.Request{Op: op}); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.blocked) != 2 || d.blocked[0] == nil || d.blocked[0].Code != api.CodeControl || d.blocked[1] != nil {
		t.Errorf("%v", d.blocked)
	}
}
