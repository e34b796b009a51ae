package named

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/internal/advice"
	"carrel/internal/api"
)

// stateDir makes a state directory with a place for workspaces.
func stateDir(t *testing.T) string {
	t.Helper()
	state := t.TempDir()
	if err := os.Mkdir(places(state), 0o700); err != nil {
		t.Fatal(err)
	}
	return state
}

// TestOutputOfAStoppedWorkspace: the part that was asked for, of the stream that was asked for, and
// nothing where there is no such app.
func TestOutputOfAStoppedWorkspace(t *testing.T) {
	state := stateDir(t)
	p := take(t, state, "one")
	text := strings.Repeat("0123456789", 7000) // some pieces
	for _, stream := range []string{api.StreamStdout, api.StreamStderr} {
		l, err := p.CreateLog("a1", stream)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(l, text); err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if err := p.KeepManifest(&api.Desk{Apps: []api.App{{ID: "a1", Name: "build"}, {ID: "b2", Name: "lost"}, {ID: "c3", Name: "a1"}}},
		true); err != nil {
		t.Fatal(err)
	}
	size := uint64(len(text))
	for _, c := range []struct {
		req  api.Request
		from uint64
	}{
		{api.Request{Stream: api.StreamStdout}, 0}, {api.Request{Stream: api.StreamStdout, Since: size - 5}, size - 5},
		{api.Request{Stream: api.StreamStdout, Tail: 5}, size - 5},
		{api.Request{Stream: api.StreamStdout, Tail: 1 << 40}, 0}, {api.Request{Stream: api.StreamStdout, Since: size - 3, Tail: 5}, size - 3},
		{api.Request{Stream: api.StreamStdout, Since: size + 5}, size}, {api.Request{Stream: api.StreamStdout, Follow: true}, 0},
	} {
		got, at := "", c.from
		err := Logs(t.Context(), state, "one", "a1", c.req, func(o *api.Output) error {
			if o.At != at || o.Stream != api.StreamStdout || o.Lost != 0 {
				t.Errorf("%+v: a piece of %s at %d with %d lost, want %d", c.req, o.Stream, o.At, o.Lost, at)
			}
			at += uint64(len(o.Data))
			got += string(o.Data)
			return nil
		})
		if err != nil || got != text[c.from:] {
			t.Errorf("%+v: %d bytes, %v; want %d", c.req, len(got), err, size-c.from)
		}
	}
	p.RemoveLog("a1", api.StreamStderr)
	for word, says := range map[string]string{"a1": "output of app a1 was not kept", "lost": "output of app b2", "none": `no app "none"`,
		"": `no app ""`} {
		err := Logs(t.Context(), state, "one", word, api.Request{Stream: api.StreamStderr}, func(*api.Output) error { return nil })
		var d *api.Denial
		if !errors.As(err, &d) || d.Code != api.CodeNoApp || !strings.Contains(d.Message, says) || d.Hint == "" {
			t.Errorf("%q: %v, want %q", word, err, says)
		}
	}
	gone := errors.New("the caller has gone")
	if err := Logs(context.Background(), state, "one", "a1", api.Request{Stream: api.StreamStdout},
		func(*api.Output) error { return gone }); err != nil {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// TestEventsOfAStoppedWorkspace: those after a number, but for lines that are none; a workspace
// that never was is told as one.
func TestEventsOfAStoppedWorkspace(t *testing.T) {
	state := stateDir(t)
	p := take(t, state, "one")
	if err := Events(state, "one", 0, nil); err != nil {
		t.Errorf("without any: %v", err)
	}
	lines, err := p.OpenEvents()
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"a", "", "b", "c"} {
		line := fmt.Sprintf(`{"text":%q}`, text)
		if text == "" {
			line = "7"
		}
		if err := lines.Append(uint64(i+1), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	lines.Close()
	for since, want := range map[uint64]string{0: "abc", 1: "bc", 3: "c", 9: ""} {
		got := ""
		each := func(e api.Event) error { got += e.Text; return nil }
		if err := errors.Join(Events(state, "one", since, each), p.Events(since, func(api.Event) error { return nil })); err != nil ||
			got != want {
			t.Errorf("since %d: %q, %v; want %q", since, got, err, want)
		}
	}
	for what, look := range map[string]func() error{
		"events": func() error { return Events(state, "two", 0, nil) },
		"output": func() error { return Logs(t.Context(), state, "two", "x", api.Request{}, nil) },
		"audit":  func() error { _, err := OpenAudit(state, "two"); return err },
		"all":    func() error { _, err := Read(state, "two"); return err },
		"sweep":  func() error { _, err := Sweep(state, "two", false, false); return err },
	} {
		var hint *advice.Error
		if err := look(); !errors.As(err, &hint) || !strings.Contains(err.Error(), `no workspace "two"`) ||
			!strings.Contains(hint.Hint, "carrel list") {
			t.Errorf("%s of one that never was: %v", what, err)
		}
	}
	if _, err := OpenAudit(state, "one"); err == nil || !strings.Contains(err.Error(), "no audit log") {
		t.Errorf("no audit log: %v", err)
	}
}

// TestListOfWorkspaces: by name, also one with a manifest that cannot be read, and no link and nothing that
// another user could write.
func TestListOfWorkspaces(t *testing.T) {
	state := stateDir(t)
	if list, err := List(t.TempDir()); err != nil || list != nil {
		t.Errorf("without any: %v, %v", list, err)
	}
	for _, name := range []string{"b", "a", "broken", "open"} {
		p := take(t, state, name)
		if err := p.KeepManifest(&api.Desk{State: api.StateRunning}, true); err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
	at := func(name string) string { return filepath.Join(places(state), name) }
	if err := errors.Join(os.WriteFile(at("broken")+"/"+manifestFile, []byte("{"), 0o600), os.Chmod(at("open"), 0o720),
		os.Symlink("a", at("link")),
		os.WriteFile(at("file"), nil, 0o600), os.Mkdir(at(".hidden"), 0o700)); err != nil {
		t.Fatal(err)
	}
	list, err := List(state)
	got := ""
	for _, d := range list {
		got += fmt.Sprint(d.Name, ":", d.State, ":", len(d.Notes), " ")
	}
	if err != nil || got != "a:stopped:1 b:stopped:1 broken:stopped:1 " {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"open", "link", "file", "../x", ""} {
		if p, err := Take(state, name); err == nil {
			p.Close()
			t.Errorf("%q is taken", name)
		}
	}
}

// TestOneHolderAtATime: of processes that take a name, remove what was left and take it again, one
// has it at a time, and none holds a place that is gone.
func TestOneHolderAtATime(t *testing.T) {
	state := stateDir(t)
	var holders, taken atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 60 {
				p, err := Take(state, "one")
				if errors.Is(err, ErrTaken) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold it", n)
				}
				if err := p.KeepControl(api.Control{Mode: api.ControlTakeover}); err != nil {
					t.Error(err)
				}
				if c, err := Read(state, "one"); err != nil || c.Control.Mode != api.ControlTakeover {
					t.Errorf("its holder reads %+v, %v", c.Control, err)
				}
				taken.Add(1)
				holders.Add(-1)
				if err := p.Remove(state); err != nil {
					t.Error(err)
				}
				p.Close()
			}
		})
	}
	wait.Wait()
	if taken.Load() == 0 {
		t.Error("it was never taken")
	}
}
