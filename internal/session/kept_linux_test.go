package session

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/named"
	"carrel/internal/notices"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// kept is a session in a project with a state directory of its own.
func kept(t *testing.T) *Session {
	t.Helper()
	s := &Session{Decision: decidedIn(t)}
	var err error
	if s.State, err = statedir.Open(t.TempDir() + "/carrel"); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAloneInAProject: of several runs in a project one makes a piece of a git directory at a time.
func TestAloneInAProject(t *testing.T) {
	s := kept(t)
	if err := os.MkdirAll(s.State.Project(s.Place.Project), 0o700); err != nil {
		t.Fatal(err)
	}
	alone := aloneInProject(s.Decision)
	var inside, times atomic.Int32
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 10 {
				done, err := alone()
				if err != nil { // a busy machine
					continue
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d at a time", n)
				}
				times.Add(1)
				inside.Add(-1)
				done()
			}
		})
	}
	wait.Wait()
	if times.Load() == 0 {
		t.Error("none came to it")
	}
	if err := os.RemoveAll(s.State.Project(s.Place.Project)); err != nil {
		t.Fatal(err)
	}
	if _, err := alone(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without its directory: %v", err)
	}
	if aloneInProject(decidedIn(t)) != nil {
		t.Error("kept apart where nothing is kept")
	}
}

// TestWhatIsKeptIsHeld: what is kept of a project is not removed while a run uses it, what is gone is
// swept with a word, and a run without a state directory does without.
func TestWhatIsKeptIsHeld(t *testing.T) {
	s := kept(t)
	id := statedir.ProjectID(s.Place.Project)
	noteKept(s)
	if s.State.Has(id) {
		t.Error("a project is noted of which nothing is kept")
	}
	if err := s.State.Use(s.Place.Project); err != nil {
		t.Fatal(err)
	}
	release := holdKept(s)
	if err := s.State.Remove(id); !errors.Is(err, statedir.ErrUsed) {
		t.Errorf("removed while it is used: %v", err)
	}
	release()
	if err := s.State.Use(s.Place.Home + "/gone"); err != nil {
		t.Fatal(err)
	}
	mark := s.State.Project(s.Place.Home+"/gone") + "/gone"
	long := time.Now().Add(-60 * 24 * time.Hour)
	if err := errors.Join(os.WriteFile(mark, nil, 0o600), os.Chtimes(mark, long, long)); err != nil {
		t.Fatal(err)
	}
	sweepGone(s)
	if notes := strings.Join(s.Noted(), "\n"); !strings.Contains(notes, "kept of 1 projects") || strings.Contains(notes, s.Place.Home) {
		t.Errorf("told %q", notes)
	}
	if s.State.Has(statedir.ProjectID(s.Place.Home+"/gone")) || !s.State.Has(id) {
		t.Error("the wrong one went")
	}
	none := &Session{Decision: decidedIn(t)}
	holdKept(none)()
	sweepGone(none)
	noteKept(none)
	if notes := none.Noted(); len(notes) > 0 {
		t.Errorf("without a state directory: %q", notes)
	}
}

// TestRefusalsOfABroker: a program that may not start has another code than a file, and where each is
// heard at once none is told at the end.
func TestRefusalsOfABroker(t *testing.T) {
	var heard []api.Denial
	b := &brokered{most: 3, heard: func(d api.Denial) { heard = append(heard, d) }}
	b.refuse(&broker.Change{Op: broker.OpExec, Path: "/bin/x"}, broker.Verdict{Rule: "programs.allow", Source: "a file", Hint: "allow it"})
	b.refuse(&broker.Change{Op: broker.OpRename, Path: "/p/a", To: "/p/.envrc"}, broker.Verdict{Rule: "a name"})
	if len(heard) != 2 || len(b.denials) != 0 {
		t.Fatalf("heard %+v, kept %+v", heard, b.denials)
	}
	if d := heard[0]; d.Code != api.CodeProgram || d.Subject != "/bin/x" || d.Rule != "programs.allow" || d.Source != "a file" ||
		d.Hint != "allow it" {
		t.Errorf("%+v", d)
	}
	if d := heard[1]; d.Code != api.CodeFile || d.Subject != "/p/.envrc" || !strings.Contains(d.Message, "a name") {
		t.Errorf("%+v", d)
	}
}

// TestListedNamesAreTold: each is an event; so many are in the log as well.
func TestListedNamesAreTold(t *testing.T) {
	s := kept(t)
	tell := tellsListed(s.Decision, nil, "ab12")
	for range notices.MaxDenials + 5 {
		tell("/p/" + strings.Repeat("x", notices.MaxSubject) + "/Makefile")
	}
	list, broken, err := statedir.Denials(s.State.Root(), nil)
	if err != nil || broken != 0 || len(list) != notices.MaxDenials {
		t.Fatalf("%d logged, %d broken, %v", len(list), broken, err)
	}
	if d := list[0]; d.Code != api.CodeListed || d.Workspace != "ab12" || !strings.HasSuffix(d.Subject, "/Makefile") ||
		len(d.Subject) > notices.MaxSubject {
		t.Errorf("%+v", d)
	}
}

// TestTermsOfAnOwner: terms that mean nothing are refused with what would be right.
func TestTermsOfAnOwner(t *testing.T) {
	less := int64(-1)
	h := &deskHistory{name: "dev"}
	for name, terms := range map[string]*api.Terms{
		"none": nil, "deletes": {Deletes: -1}, "overwrites": {Overwrites: -1}, "within": {Within: -1},
		"too long": {Within: int64(time.Hour/time.Millisecond) + 1},
		"bytes":    {MaxBytes: &less}, "steps": {MaxSteps: &less}, "bytes of a step": {MaxStepBytes: &less},
		"good, but without a history": {Deletes: 1, Within: 5},
	} {
		var d *api.Denial
		if err := h.setTerms(terms); !errors.As(err, &d) || d.Code != api.CodeRequest || d.Subject != "dev" || d.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitForAnApp: its end is told, that of the workspace too, and who goes is not held.
func TestWaitForAnApp(t *testing.T) {
	d := &desk{lifetime: lifetime{over: make(chan struct{})}}
	d.apps.all = appsOf("a1 web").all
	a := d.apps.all[0]
	a.done = make(chan struct{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.wait(gone, a); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
	close(d.over)
	var refused *api.Denial
	if _, err := d.wait(gone, a); !errors.As(err, &refused) || refused.Message != "the workspace ends" {
		t.Errorf("a workspace that ends: %v", err)
	}
	close(a.done)
	if r, err := d.wait(t.Context(), a); err != nil || r.App == nil || r.App.ID != "a1" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := d.lastWord(gone, a); err != nil || r.App.ID != "a1" {
		t.Errorf("its last word: %+v, %v", r, err)
	}
}

// TestRecordsOfADesk: many changes are one manifest, written soon; the last one says that it was
// stopped, and what comes after it writes nothing.
func TestRecordsOfADesk(t *testing.T) {
	state := t.TempDir()
	if err := os.Mkdir(state+"/workspaces", 0o700); err != nil {
		t.Fatal(err)
	}
	place, err := named.Take(state, "dev")
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	var asked atomic.Int32
	r := &deskRecords{place: place, lifetime: &lifetime{over: make(chan struct{})}, manifest: func(state string) api.Desk {
		asked.Add(1)
		return api.Desk{State: state, Purpose: "test"}
	}}
	if r.events, err = place.OpenEvents(); err != nil {
		t.Fatal(err)
	}
	defer r.events.Close()
	for range 100 {
		r.changed()
	}
	for end := time.Now().Add(20 * time.Second); asked.Load() == 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if d, err := named.Read(state, "dev"); err != nil || d.Purpose != "test" && asked.Load() > 1 || asked.Load() != 1 {
		t.Errorf("%+v, %v, asked for %d times", d, err, asked.Load())
	}
	for seq := range uint64(3) {
		r.record(api.Event{Seq: seq + 1, Text: "x"})
	}
	n := 0
	if err := r.past(1, func(api.Event) error { n++; return nil }); err != nil || n != 2 {
		t.Errorf("%d past events, %v", n, err)
	}
	close(r.over)
	if err := r.keep(api.StateStopped); err != nil {
		t.Fatal(err)
	}
	last := asked.Load()
	r.write()
	if d, err := named.Read(state, "dev"); err != nil || d.State != api.StateStopped || d.Stopped.IsZero() || asked.Load() != last {
		t.Errorf("%+v, %v, asked for %d times, and %d before", d, err, asked.Load(), last)
	}
}

// TestUmaskAndCopies: the umask is what this process has, and each copy of /tmp is given out once.
func TestUmaskAndCopies(t *testing.T) {
	was := unix.Umask(0o27)
	got := ownUmask()
	unix.Umask(was)
	if got != 0o27 || ownUmask() != was {
		t.Errorf("%o and %o, want 27 and %o", got, ownUmask(), was)
	}
	h := &hostService{up: &raised{walls: &sandbox.Walls{Copies: []int{7, 8}}}}
	if a, b, c := h.copyOfTmp(), h.copyOfTmp(), h.copyOfTmp(); a != 7 || b != 8 || c != -1 {
		t.Error(a, b, c)
	}
	if !containsAll([]string{"/a", "/b"}, []string{"/b"}) || containsAll([]string{"/a"}, []string{"/a", "/b"}) {
		t.Error("other writable places are taken for the workspace's")
	}
}
