package machine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/streams"
)

// pretended is a backend and its only machine. It writes down what is asked of it, and fails where
// the test says.
type pretended struct {
	fails     string
	system    System
	calls     []string
	places    []Mounted
	addresses []string
	serve     Serve // what the machine's network is carried by
}

func (p *pretended) did(what string) error {
	if p.calls = append(p.calls, what); what == p.fails {
		return errors.New(what + " fails")
	}
	return nil
}

// opened is something that is closed later.
func (p *pretended) opened(what string) (io.Closer, error) {
	if err := p.did(what); err != nil {
		return nil, err
	}
	return closing(func() error { return p.did("end of " + what) }), nil
}

type closing func() error

func (c closing) Close() error { return c() }

func (p *pretended) Version() string                  { return "pretended 1" }
func (p *pretended) Tell(func(string))                {}
func (p *pretended) Name() string                     { return "m" }
func (p *pretended) Shell() string                    { return "enter m" }
func (p *pretended) Close() error                     { return p.did("end of machine") }
func (p *pretended) Has(context.Context, string) bool { return p.did("program") == nil }

func (p *pretended) System() (System, uint32) { return p.system, 7 }

func (p *pretended) Raise(context.Context, *sandbox.Plan, io.Reader) (Guest, error) {
	return p, p.did("machine")
}

func (p *pretended) Mount(_ context.Context, places []Mounted, _ Files) (io.Closer, error) {
	p.places = places
	return p.opened("mount")
}

func (p *pretended) Listen(_ context.Context, addresses []string, serve Serve) (io.Closer, error) {
	p.addresses, p.serve = addresses, serve
	return p.opened("network")
}

func (p *pretended) Agent(context.Context, Serve) (io.Closer, error) { return p.opened("agent") }

// decider lets everything be done, and knows what it was asked and told.
type decider struct{ asked, told []string }

func (d *decider) Decide(ch *broker.Change) broker.Verdict {
	d.asked = append(d.asked, ch.Path)
	return broker.Verdict{Allowed: true}
}
func (d *decider) Before(ch *broker.Change) error     { d.told = append(d.told, ch.Path); return nil }
func (d *decider) After(ch *broker.Change, err error) { d.told = append(d.told, ch.Path) }

// newRun is a run of a project of the test's own, in a machine that is pretended.
func newRun(t *testing.T, p *pretended, plan *sandbox.Plan) (*Run, *decider) {
	t.Helper()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := (&Machine{Backend: p}).NewRun(project, plan)
	d := &decider{}
	r.Decider, r.Recorder, r.Hidden, r.Policy = d, d, func() []string { return nil }, &policy.Effective{}
	r.Came = func(string) bool { return false }
	r.Note = func(format string, args ...any) { t.Errorf(format, args...) }
	r.Lost = func(string) {}
	return r, d
}

// TestRaiseEndsWhatItBegan: where a part of a machine fails, all before it end, the last one first; so they
// do when the walls end.
func TestRaiseEndsWhatItBegan(t *testing.T) {
	parts := []string{"machine", "mount", "program", "network", "agent"}
	for i, fails := range append(parts, "") {
		p := &pretended{fails: fails}
		plan := &sandbox.Plan{Engine: sandbox.EngineLima}
		r, _ := newRun(t, p, plan)
		r.Program, r.Install = "tool", "apt install tool"
		stage, err := r.Raise(t.Context(), plan)
		if (err == nil) != (fails == "") || (stage == nil) == (fails == "") {
			t.Errorf("%q: %v, %v", fails, stage, err)
		}
		if fails == "program" && !strings.Contains(err.Error(), "the machine m has no program tool") {
			t.Errorf("%v", err)
		}
		if fails == "agent" {
			if _, err := r.Host.Control().Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the control socket is open: %v", err)
			}
		}
		want := slices.Clone(parts[:min(i+1, len(parts))])
		if stage != nil {
			r.Hold(true)
			r.Hold(false)
			stage.Abandon()
			i++
		}
		for _, part := range slices.Backward(parts[:min(i, len(parts))]) {
			if part != "program" {
				want = append(want, "end of "+part)
			}
		}
		if !slices.Equal(p.calls, want) {
			t.Errorf("%q fails: %q, want %q", fails, p.calls, want)
		}
		if len(p.places) > 0 && (p.places[0].To != r.roots[0].Host || p.places[0].From != "0") {
			t.Errorf("%+v", p.places)
		}
	}
}

// TestEndIsTold: a part of a machine that does not end well is told, and the others end.
func TestEndIsTold(t *testing.T) {
	p := &pretended{fails: "end of mount"}
	plan := &sandbox.Plan{Engine: sandbox.EngineLima}
	r, _ := newRun(t, p, plan)
	told := ""
	r.Note = func(format string, args ...any) { told = strings.TrimSpace(format); _ = args }
	stage, err := r.Raise(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	r.End()
	stage.Abandon()
	if told == "" || p.calls[len(p.calls)-1] != "end of machine" {
		t.Errorf("told %q, %q", told, p.calls)
	}
}

// TestNetworkIsLost: the end of what carries the network is told at once, and not when the run ends it.
func TestNetworkIsLost(t *testing.T) {
	for _, dies := range []bool{true, false} {
		p := &pretended{}
		plan := &sandbox.Plan{Engine: sandbox.EngineLima}
		r, _ := newRun(t, p, plan)
		told := make(chan string, 1)
		r.Lost = func(text string) { told <- text }
		stage, err := r.Raise(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs := net.Pipe()
		ended := make(chan struct{})
		go func() {
			_ = p.serve(ours, ours)
			close(ended)
		}()
		if dies {
			theirs.Close()
			select {
			case text := <-told:
				if !strings.Contains(text, "the network of m has ended") {
					t.Error(text)
				}
			case <-time.After(10 * time.Second):
				t.Error("it is not told")
			}
		}
		stage.Abandon()
		theirs.Close()
		<-ended
		select {
		case text := <-told:
			t.Errorf("told at its end: %s", text)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestNetworkOfAMachine: the machine listens at what is listened at here, at the listed ports on both
// loopbacks, and has the names that lead to the supervisor; connections go both ways.
func TestNetworkOfAMachine(t *testing.T) {
	p := &pretended{}
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MakeSymlink, Target: hostexec.ShimDir + "/make"}, {Kind: sandbox.MakeSymlink, Target: inside.Dir + "/xdg-open"},
		{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/other"}, {Kind: sandbox.MakeSymlink, Target: "/usr/bin/x"},
		{Kind: sandbox.MountBind, Target: hostexec.ShimDir + "/bound"},
	}}
	r, _ := newRun(t, p, plan)
	r.Ports = []uint16{3000}
	dialled := make(chan uint16, 1)
	r.Dial = func(_ context.Context, port uint16) (interface {
		net.Conn
		CloseWrite() error
	}, error,
	) {
		dialled <- port
		return nil, errors.New("nothing is there")
	}
	l := r.Listen("127.0.0.1:7871")
	stop, err := r.listen(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"127.0.0.1:7871=127.0.0.1:7871", "3000=127.0.0.1:3000", "3000=[::1]:3000", "make@" + hostexec.ShimDir,
		"xdg-open@" + inside.Dir}
	if !slices.Equal(p.addresses, want) {
		t.Errorf("%q, want %q", p.addresses, want)
	}
	fromMachine, toUs := io.Pipe()
	fromUs, toMachine := io.Pipe()
	served := make(chan error, 2)
	there := make(chan string, 1)
	mux := streams.New(fromUs, toUs, false, func(what string) (streams.Conn, error) {
		there <- what
		return nil, errors.New("no")
	})
	go func() { served <- p.serve(fromMachine, toMachine) }()
	go func() { served <- mux.Serve() }()
	by := func(label uint64) func() bool {
		return func() bool {
			c, err := l.Accept()
			return err == nil && c.(interface{ Label() uint64 }).Label() == label && c.Close() == nil
		}
	}
	for what, is := range map[string]func() bool{
		"127.0.0.1:7871":                      by(0),
		"127.0.0.1:7871 7":                    by(7), // of a command in the machine
		"127.0.0.1:7871 seven":                by(0),
		"127.0.0.1:7871 99999999999999999999": by(0),
		"3000":                                func() bool { return <-dialled == 3000 },
	} {
		_, theirs, err := pair(l.Addr(), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := mux.Carry(theirs, what); err != nil || !is() {
			t.Errorf("%s does not come: %v", what, err)
		}
	}
	c, err := r.DialInside(t.Context(), netip.MustParseAddrPort("127.0.0.1:8080"))
	if err != nil || <-there != "127.0.0.1:8080" {
		t.Fatal(err)
	}
	c.Close()
	toUs.Close()
	toMachine.Close()
	for range 2 {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	stop()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) || p.calls[len(p.calls)-1] != "end of network" {
		t.Errorf("%v after %q", err, p.calls)
	}
}

// TestWhatAMachineSees: what is masked, stood in for or hidden meanwhile is not seen, and no other path
// leads to it; a place of the home is the machine's own, whatever rules say of it.
func TestWhatAMachineSees(t *testing.T) {
	plan := &sandbox.Plan{Mounts: []sandbox.Mount{
		{Kind: sandbox.MountMask, Target: "/p/.env"}, {Kind: sandbox.MountData, Target: "/p/.git/config", Data: []byte("[core]\n")},
		{Kind: sandbox.MountData, Target: "/p/empty"}, {Kind: sandbox.MountBind, Source: "/s/agent", Target: Home + "/.agent"},
		{Kind: sandbox.MountBind, Source: "/s/set", Target: Home + "/.set", ReadOnly: true},
		{Kind: sandbox.MountBind, Source: "/o", Target: "/o"},
	}}
	r, d := newRun(t, &pretended{}, plan)
	r.Hidden = func() []string { return []string{"/p/key.pem"} }
	r.Came = func(path string) bool { return path == "/p/new.pem" }
	r.Policy = &policy.Effective{Rules: []policy.Rule{{Path: "/p", Access: policy.Write}, {Path: "/p/denied", Access: policy.Deny}}}
	for path, seen := range map[string]bool{"/p/a": true, "/p/.env": false, "/p/.git/config": false, "/p/empty": false, "/p/key.pem": false, "/p/new.pem": false,
		"/p/denied/x": false, "/q": false, "/s/agent/x": true} {
		if r.Seen(path) != seen {
			t.Errorf("%s is seen: %v", path, !seen)
		}
	}
	if r.standIn("/p/empty") == nil || r.standIn("/p/a") != nil || string(r.standIn("/p/.git/config")) != "[core]\n" {
		t.Error("the wrong content stands for a file")
	}
	h := homeApart{r}
	for _, c := range []struct {
		op, path, to string
		rule         string // "" is allowed
		decided      bool   // by the policy
	}{
		{broker.OpOpen, "/p/a", "", "", true},
		{broker.OpRename, "/p/a", "/p/b", "", true},
		{broker.OpRename, "/p", "/p2", "is hidden by its path", true},
		{broker.OpLink, "/p/.env", "/p/b", "/p/.env is hidden", true},
		{broker.OpExchange, "/p/a", "/p/.git", "/p/.git/config is hidden", true},
		{broker.OpRename, "/p/key.pem", "/p/b", "/p/key.pem is hidden", true},
		{broker.OpUnlink, "/p/.env", "", "", true},
		{broker.OpOpen, "/s/agent/x", "", "", false},
		{broker.OpRename, "/s/agent/x", "/s/agent/y", "", false},
		{broker.OpRename, "/s/agent/x", "/p/x", "nothing is moved or linked between", false},
		{broker.OpLink, "/p/a", "/s/agent/a", "nothing is moved or linked between", false},
		{broker.OpRead, "/s/set/x", "", "", false},
		{broker.OpOpen, "/s/set/x", "", "read-only: " + Home + "/.set", false},
		{broker.OpRename, "/s/agent/x", "/s/set/x", "read-only", false},
	} {
		d.asked, d.told = nil, nil
		ch := &broker.Change{Op: c.op, Path: c.path, To: c.to}
		if v := h.Decide(ch); v.Allowed != (c.rule == "") || !strings.Contains(v.Rule, c.rule) {
			t.Errorf("%+v: %+v", c, v)
		}
		if (len(d.asked) > 0) != c.decided {
			t.Errorf("%+v: asked %q", c, d.asked)
		}
		if err := h.Before(ch); err != nil {
			t.Error(err)
		}
		if h.After(ch, nil); (len(d.told) == 2) != (r.ownAt(c.path) == nil) || len(d.told) == 1 {
			t.Errorf("%+v: told %q", c, d.told)
		}
	}
}

// TestSystems: what a machine is served depends on whose system it has. One that lasts has its own and is
// taken; this host's is served, or shown by the backend, whose requests tell of no user.
func TestSystems(t *testing.T) {
	plan := &sandbox.Plan{Roots: []string{"/p", "/q"}, Mounts: []sandbox.Mount{
		{Kind: sandbox.MountBind, Source: "/usr", Target: "/usr", ReadOnly: true},
		{Kind: sandbox.MountBind, Source: "/p", Target: "/p"}, {Kind: sandbox.MountBind, Source: "/q", Target: "/q"},
		{Kind: sandbox.MountBind, Source: "/s/agent", Target: Home + "/.agent"},
	}}
	for system, want := range map[System]struct {
		roots, home, kept int
		alike, lasts      bool
	}{
		SystemOwn: {2, 1, 0, false, true}, SystemServed: {2, 1, 1, false, false}, SystemShown: {2, 0, 0, true, false},
	} {
		m := &Machine{Backend: &pretended{system: system}, Places: []Place{{"/mnt", "/mnt"}}}
		r := m.NewRun("/p", plan)
		if r.user != 7 || len(r.roots) != want.roots || len(r.home) != want.home || len(r.system.kept) != want.kept {
			t.Errorf("%d: %+v", system, r)
		}
		if r.alike != want.alike || m.Lasts() != want.lasts {
			t.Errorf("%d: alike %t, lasts %t", system, r.alike, m.Lasts())
		}
	}
}

// TestFilesOfTheHome: files are written for their owner alone, and shown read-only where they belong.
func TestFilesOfTheHome(t *testing.T) {
	r, _ := newRun(t, &pretended{}, &sandbox.Plan{})
	dir := t.TempDir()
	if err := r.Files(dir, map[string][]byte{".config/x/y": []byte("text")}); err != nil {
		t.Fatal(err)
	}
	at := dir + "/.config/x/y"
	st, err := os.Stat(at)
	if err != nil || st.Mode().Perm() != 0o600 || len(r.home) != 1 || r.home[0] != (own{Place{at, Home + "/.config/x/y"}, true}) {
		t.Errorf("%v, %v, %+v", st, err, r.home)
	}
	if err := r.Files(at, map[string][]byte{"a/b": nil}); err == nil {
		t.Error("a file in a file")
	}
}

// TestOneRunInAMachine: a second one is told to wait, until the first one has ended; a link in the place
// of the lock is not followed.
func TestOneRunInAMachine(t *testing.T) {
	m, dir := &Machine{Backend: &pretended{}}, t.TempDir()+"/project"
	for range 2 {
		first, err := m.Take(dir)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := m.Take(dir); err == nil || !strings.Contains(err.Error(), "another command uses the machine") {
			second.Close()
			t.Errorf("%v", err)
		}
		first.Close()
	}
	if err := errors.Join(os.Remove(dir+"/machine"), os.Symlink(dir+"/elsewhere", dir+"/machine")); err != nil {
		t.Fatal(err)
	}
	if c, err := m.Take(dir); err == nil {
		c.Close()
		t.Error("a link is followed")
	}
}
