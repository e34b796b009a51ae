package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/decide"
	"carrel/internal/hostfacts"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
)

// TestChangesOfRun: what a run has changed is counted, whatever its times say; the repository's own
// files are not, but its hooks are, and what could run later is named.
func TestChangesOfRun(t *testing.T) {
	project := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.MkdirAll(project+name[:strings.LastIndex(name, "/")], 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(project+name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/before")
	time.Sleep(30 * time.Millisecond)
	start := time.Now()
	for _, name := range []string{"/a", "/sub/b", "/.git/index", "/.git/hooks/pre-commit", "/.envrc"} {
		write(name)
	}
	if err := os.Chtimes(project+"/a", time.Unix(0, 0), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	c := protectednames.ChangedSince(project, start)
	slices.Sort(c.Risky)
	if c.Files != 4 || !c.Complete || !slices.Equal(c.Risky, []string{".envrc", ".git/hooks/pre-commit"}) {
		t.Errorf("%+v", c)
	}
	if c := protectednames.ChangedSince(project, time.Now().Add(time.Second)); c.Files != 0 || len(c.Risky) != 0 {
		t.Errorf("later: %+v", c)
	}
}

// TestHiddenFilesAreOneDenial: it names some of them, and says how many more there are.
func TestHiddenFilesAreOneDenial(t *testing.T) {
	if d := hiddenDenial(&api.Result{}, "/p"); d.Code != "" {
		t.Errorf("%+v", d)
	}
	r := &api.Result{Workspace: "ab12"}
	for i := range maxHiddenNamed + 3 {
		r.Hidden = append(r.Hidden, fmt.Sprintf("k%d.pem", i))
	}
	d := hiddenDenial(r, "/p")
	if d.Code != api.CodeHidden || d.Workspace != "ab12" || d.Project != "/p" || !strings.HasSuffix(d.Subject, "k19.pem and 3 more") {
		t.Errorf("%+v", d)
	}
}

// TestNamesThatAppear: a sensitive name that came, changed its kind or went is told, unless it was
// to be expected.
func TestNamesThatAppear(t *testing.T) {
	d := &decide.Decision{}
	d.Place.Project, d.Loaded = t.TempDir(), new(config.Loaded)
	d.Policy = &policy.Effective{History: policy.HistoryOff}
	for _, name := range []string{"new", "kept", "turned", "gone", "mine", "cleared"} {
		d.Policy.Rules = append(d.Policy.Rules, policy.Rule{Path: d.Place.Project + "/" + name, Access: policy.Deny})
	}
	create := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(d.Place.Project+"/"+name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	create("kept", "turned", "gone", "cleared")
	before := sensitiveNow(d)
	if len(before) != 4 {
		t.Fatalf("%q", before)
	}
	create("new", "mine")
	for _, name := range []string{"gone", "turned", "cleared"} {
		if err := os.Remove(d.Place.Project + "/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("kept", d.Place.Project+"/turned"); err != nil {
		t.Fatal(err)
	}
	m := &madeNames{expected: func(p string) bool { return strings.HasSuffix(p, "/mine") || strings.HasSuffix(p, "/turned") },
		removable: func(p string) bool { return strings.HasSuffix(p, "/cleared") }}
	if got, want := m.born(d, before), []string{"gone", "new", "turned"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (&madeNames{}).born(d, before); len(got) != 5 {
		t.Errorf("where nothing is expected: %q", got)
	}
	d.Request.Exact = new(decide.Exact)
	if got := sensitiveNow(d); got != nil {
		t.Errorf("with a policy that is taken as it is: %q", got)
	}
}

// TestWhyNotStarted: the status that a shell would tell, and what would help.
func TestWhyNotStarted(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"script": "#! /opt/none -x\n", "binary": "\x7fELF"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d := &decide.Decision{}
	d.Facts, d.Place.Cwd = hostfacts.New(), "/p"
	d.Request.Environ = []string{"PATH=relative:" + dir}
	d.Policy = &policy.Effective{Resources: policy.Resources{Pids: 5}, Scope: policy.Scope{Tmp: "/none"}}
	missing := func(name string) error {
		return &sandbox.StartError{Name: name, Err: "gone", Code: int(syscall.ENOENT)}
	}
	check := func(name string, err error, exit int, says string) {
		t.Helper()
		got, why := whyNotStarted(d, name, err)
		if got != exit || why == nil || !strings.Contains(why.Error(), says) {
			t.Errorf("%s, %v: %d, %v; want %d, %s", name, err, got, why, exit, says)
		}
	}
	check("x", missing("/p"), 0, "the working directory")
	check("x", &sandbox.StartError{Name: "x", Err: "no more", Code: int(syscall.EAGAIN)}, api.ExitNotRunable, "cannot be run inside")
	check("x", &sandbox.StartError{Name: "x", Err: "denied", Code: int(syscall.EACCES)}, api.ExitNotRunable, "denied")
	check("x", missing("x"), api.ExitNotFound, "was not found in PATH")
	check(dir+"/none", missing(dir+"/none"), api.ExitNotFound, "does not exist")
	check("script", missing("script"), api.ExitNotFound, "exists but cannot be seen inside")
	d.Policy.Rules = []policy.Rule{{Path: dir, Access: policy.Read}}
	check("script", missing("script"), api.ExitNotFound, `the interpreter that it names is not: "/opt/none -x"`)
	check("binary", missing("binary"), api.ExitNotFound, "its loader is missing")
	d.Policy.Rules[0].Access = policy.Deny
	r, err := notStarted(d, &api.Result{}, "script", missing("script"))
	if told := d.Refused(); r.Exit != api.ExitNotFound || err == nil || len(told) != 1 || told[0].Code != api.CodeNotVisible ||
		!strings.Contains(told[0].Hint, "hidden on purpose") {
		t.Errorf("%d, %v, %+v", r.Exit, err, told)
	}
	if r, _ := notStarted(d, &api.Result{Exit: 7}, "x", missing("/p")); r.Exit != 7 {
		t.Errorf("where the command is not what failed: %d", r.Exit)
	}
}

// frost is what can be frozen, and notes how often it is.
type frost struct {
	frozen int
	fails  error
}

func (f *frost) Freeze() error {
	if f.fails == nil {
		f.frozen++
	}
	return f.fails
}

func (f *frost) Thaw() error { f.frozen--; return nil }

// TestAllStandsStill: what is paused stands still as a whole or not at all, also what comes
// meanwhile; what goes is let go on, so that it can end.
func TestAllStandsStill(t *testing.T) {
	one, two, late := &frost{}, &frost{}, &frost{}
	s := &stillness{}
	s.add(one, nil)
	s.add(two, nil)
	two.fails = errors.New("it does not")
	if err := s.Freeze(); !errors.Is(err, two.fails) || one.frozen != 0 || s.frozen {
		t.Errorf("%v, %d", err, one.frozen)
	}
	if s.add(late, nil); late.frozen != 0 {
		t.Error("what comes while nothing stands still is frozen")
	}
	s.remove(late, nil)
	late.frozen, two.fails = 0, nil
	if err := s.Freeze(); err != nil || one.frozen != 1 || two.frozen != 1 || late.frozen != 0 {
		t.Errorf("%v, %d, %d, %d", err, one.frozen, two.frozen, late.frozen)
	}
	s.add(late, nil)
	if s.remove(one, nil); late.frozen != 1 || one.frozen != 0 {
		t.Errorf("what has come: %d, what has gone: %d", late.frozen, one.frozen)
	}
	if err := s.Thaw(); err != nil || two.frozen != 0 || late.frozen != 0 || one.frozen != 0 {
		t.Errorf("%v, %d, %d, %d", err, two.frozen, late.frozen, one.frozen)
	}
}

var _ supervisor.Freezer = (*frost)(nil)

// TestOwnerIsHeld: the owner is a process and not its number, and its end is told once.
func TestOwnerIsHeld(t *testing.T) {
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	o, err := holdOwner(child.Process.Pid, func() { close(ended) })
	if err != nil {
		t.Fatal(err)
	}
	if !o.is(child.Process.Pid) || o.is(os.Getpid()) || o.is(0) {
		t.Error("it is another process")
	}
	in.Close()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("its end is not told")
	}
	if o.is(child.Process.Pid) {
		t.Error("one that has ended is the owner")
	}
	_ = child.Wait()
	o.close()
	none, err := holdOwner(0, nil)
	if none.is(0) || none != nil || err != nil {
		t.Errorf("%v, %v", none, err)
	}
	none.close()
	if _, err := holdOwner(1<<30, nil); err == nil || !strings.Contains(err.Error(), "with which the workspace is to end") {
		t.Errorf("%v", err)
	}
}

// TestLastWordOfStart: nothing is said after the last word, and why it failed is said in full.
func TestLastWordOfStart(t *testing.T) {
	said := func(say func(*Reporter)) (all []report) {
		from, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		say(&Reporter{to: to})
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var r report
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	got := said(func(r *Reporter) {
		r.Progress("setup")
		if err := r.Ready(Ready{Notes: []string{"n"}}); err != nil {
			t.Error(err)
		}
		r.Failed(errors.New("late"))
		if err := r.Ready(Ready{}); err != nil {
			t.Errorf("a second last word: %v", err)
		}
		r.Progress("later")
	})
	if len(got) != 2 || got[0].Progress != "setup" || got[1].Ready == nil || got[1].Ready.Notes[0] != "n" {
		t.Errorf("%+v", got)
	}
	got = said(func(r *Reporter) { r.Failed(fmt.Errorf("dev: %w", named.ErrTaken)) })
	if len(got) != 1 || !got[0].Taken || !strings.HasPrefix(got[0].Error, "dev: ") {
		t.Errorf("%+v", got)
	}
	var none *Reporter
	none.Progress("x")
	none.Gone(nil)()
	if err := none.Ready(Ready{}); err != nil {
		t.Error(err)
	}
}

// TestHowRunsEnd: the status that a shell would tell, and the clock's word before it.
func TestHowRunsEnd(t *testing.T) {
	for _, c := range []struct {
		exit     sandbox.Exit
		timedOut bool
		want     api.Result
		told     int
	}{
		{sandbox.Exit{Code: 3}, false, api.Result{Exit: 3}, 0},
		{sandbox.Exit{Signal: 15}, false, api.Result{Exit: 143, Signal: "SIGTERM"}, 0},
		{sandbox.Exit{Signal: 9}, true, api.Result{Exit: api.ExitTimeout}, 1},
	} {
		d := &decide.Decision{}
		d.Request.Argv, d.Policy = []string{"x"}, &policy.Effective{}
		var r api.Result
		(&Session{Decision: d}).ended(&r, c.exit, c.timedOut)
		if r.Exit != c.want.Exit || r.Signal != c.want.Signal || len(d.Refused()) != c.told {
			t.Errorf("%+v: %d %s, %+v", c.exit, r.Exit, r.Signal, d.Refused())
		}
	}
	if ctx, cancel := deadline(context.Background(), 0); ctx.Err() != nil {
		t.Error("no limit is one")
	} else if _, has := ctx.Deadline(); has {
		t.Error("no limit ends")
	} else {
		cancel()
	}
	if reply := answered(api.Reply{}, errors.New("no"), "op", "dev"); reply.OK || reply.Error.Code != api.CodeRequest ||
		reply.Error.Subject != "dev" {
		t.Errorf("%+v", reply.Error)
	}
	why := &api.Denial{Code: "x"}
	if reply := answered(api.Reply{}, fmt.Errorf("around: %w", why), "op", "dev"); reply.Error != why {
		t.Errorf("%+v", reply.Error)
	}
	exit := 127
	if reply, err := notStartedReply(exit, why); *reply.Exit != exit || !errors.Is(err, why) {
		t.Errorf("%+v, %v", reply, err)
	}
}
