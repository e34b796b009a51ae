package agenthome

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/agents"
	"carrel/internal/dirlist/deeptree"
	"carrel/internal/hostfile"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// sharing is a run of an agent with one shared place in an own home.
func sharing(t *testing.T, home, state string) *noted {
	t.Helper()
	n := &noted{}
	n.Options = Options{Agent: agents.Agent{Name: "a", Shared: []agents.SharedPlace{{Place: "s"}}}, Host: home, Inside: home,
		State: statedir.At(state),
		Note:  func(format string, args ...any) { n.notes = append(n.notes, fmt.Sprintf(format, args...)) }}
	return n
}

// noted is a home with what it has told.
type noted struct {
	Home
	notes []string
}

// TestKilledSharedRun: what a run has left that never came to its end goes when the next
// one begins, and not while it lives.
func TestKilledSharedRun(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	at := filepath.Join(home, "s")
	leave := func() {
		t.Helper()
		if err := os.MkdirAll(at+"/d", 0o700); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"/d/out": "/etc/passwd", "/d/within": "../x"} {
			if err := os.Symlink(to, at+name); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at+"/x", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(at+"/fifo", 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at+"/d", 0); err != nil { // to be opened by a later run
			t.Fatal(err)
		}
	}
	killed := sharing(t, home, state)
	if err := killed.beginShared(); err != nil {
		t.Fatal(err)
	}
	leave()
	gone := func(name string) bool { _, err := os.Lstat(at + name); return err != nil }
	beside := sharing(t, home, state)
	if err := beside.beginShared(); err != nil || gone("/fifo") {
		t.Errorf("beside one that lives: %v, gone: %v", err, gone("/fifo"))
	}
	killed.run.unlock() // as the kernel does
	time.Sleep(1100 * time.Millisecond)
	next := sharing(t, home, state)
	if err := next.beginShared(); err != nil {
		t.Fatal(err)
	}
	if gone("/fifo") {
		t.Error("it was looked for while the logins are locked")
	}
	next.dropKilled()
	if !gone("/d/out") || !gone("/fifo") || gone("/d/within") || gone("/x") || len(next.notes) != 2 {
		t.Errorf("the next start left it: %q", next.notes)
	}
	beside.dropLinks()
	next.dropLinks()
	if left, _ := os.ReadDir(state + "/agents/a.shared"); len(left) != 0 {
		t.Errorf("still written down: %v", left)
	}
}

// TestTooManyShared: the place is named that was not looked at to its end.
func TestTooManyShared(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(home+"/s/0/1/2/3", 0o700); err != nil {
		t.Fatal(err)
	}
	p := sharing(t, home, t.TempDir())
	s, now := p.Agent.Shared[0], time.Now()
	if p.dropLeftIn(s, time.Time{}, now.Add(time.Hour), 2) || len(p.notes) != 1 || !strings.Contains(p.notes[0], `~/s has too many files`) || !strings.Contains(p.notes[0], `"0/1/2"`) {
		t.Errorf("%q", p.notes)
	}
	if p.dropLeftIn(s, time.Time{}, now, 4) || len(p.notes) != 2 || !strings.Contains(p.notes[1], `~/s takes too long`) || !strings.Contains(p.notes[1], `"0"`) {
		t.Errorf("%q", p.notes)
	}
	if !p.dropLeftIn(s, time.Time{}, now.Add(time.Hour), 4) || len(p.notes) != 2 {
		t.Errorf("%q", p.notes)
	}
}

// TestDeepShared: directories in each other, as many as no path reaches, hold up neither
// the end of a run nor the next start; where a transcript may be, a link goes.
func TestDeepShared(t *testing.T) {
	deeptree.AsOrdinary(t, func(home string) {
		if err := os.MkdirAll(home+"/s", 0o700); err != nil {
			t.Error(err)
		}
		deeptree.Make(t, home+"/s", 5000, func(depth, fd int) {
			if depth == 60 || depth == 4999 {
				if err := unix.Symlinkat("/etc/passwd", fd, "link"); err != nil {
					t.Error(err)
				}
			}
		})
		p := sharing(t, home, home+"/state")
		begin := time.Now()
		all := p.dropLeft(time.Time{})
		if took := time.Since(begin); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if !all || len(p.notes) != 2 || !strings.Contains(p.notes[0], "removed a link") || !strings.Contains(p.notes[1], "64 deep") {
			t.Errorf("all %v, %q", all, p.notes)
		}
	})
}

// TestClosedShared: a directory that was closed before a run is nothing of it; one that
// was closed by it is opened, and what is in it looked at.
func TestClosedShared(t *testing.T) {
	deeptree.AsOrdinary(t, func(home string) {
		state := home + "/state"
		for _, dir := range []string{"/s/old/in", "/s/new"} {
			if err := os.MkdirAll(home+dir, 0o700); err != nil {
				t.Error(err)
			}
		}
		if err := os.Chmod(home+"/s/old", 0); err != nil {
			t.Error(err)
		}
		time.Sleep(1100 * time.Millisecond)
		p := sharing(t, home, state)
		if err := p.beginShared(); err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(os.Symlink("/etc/passwd", home+"/s/new/link"), os.Chmod(home+"/s/new", 0)); err != nil {
			t.Error(err)
		}
		p.dropLinks()
		if st, err := os.Lstat(home + "/s/old"); err != nil || st.Mode().Perm() != 0 {
			t.Errorf("the old one: %v, %v", st, err)
		}
		if _, err := os.Lstat(home + "/s/new/link"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the link: %v", err)
		}
		if left, _ := os.ReadDir(state + "/agents/a.shared"); len(left) != 0 {
			t.Errorf("still written down: %v", left)
		}
	})
}

// TestUnseenShared: of killed runs whose places cannot be looked through the oldest stays
// written down, and only that.
func TestUnseenShared(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(home+"/s", nil, 0o600); err != nil { // no directory
		t.Fatal(err)
	}
	dir := state + "/agents/a.shared"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, began := range []string{"3000", "1000", "20000"} {
		if err := os.WriteFile(filepath.Join(dir, began), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := sharing(t, home, state)
	p.Agent.Shared[0].Place = "s/t"
	for range 2 {
		if err := p.beginShared(); err != nil {
			t.Fatal(err)
		}
		p.dropKilled()
		left, _ := os.ReadDir(dir)
		if len(left) != 2 || left[0].Name() != "1000" && left[1].Name() != "1000" {
			t.Errorf("written down: %v", left)
		}
	}
	if unlock, err := hostfile.Lock(dir+"/1000", 0); err != nil {
		t.Errorf("it is held on: %v", err)
	} else {
		unlock()
	}
}

// TestLinksToWhatIsLeftOut: a new link in a place of which something is left out goes,
// wherever it leads: inside and outside that may be two things.
func TestLinksToWhatIsLeftOut(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"/s/bin", "/s/chats"} {
		if err := os.MkdirAll(home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(home+"/s/bin/rg", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	p := sharing(t, home, t.TempDir())
	p.Agent.Shared[0].Except = []string{"bin"}
	links := map[string]string{"/s/chats/x": "../bin/rg", "/s/y": "bin", "/s/z": "y/rg", "/s/chats/w": "../y"}
	for at, to := range links {
		if err := os.Symlink(to, home+at); err != nil {
			t.Fatal(err)
		}
	}
	if !p.dropLeft(time.Time{}) {
		t.Error("not all was seen")
	}
	for at := range links {
		if _, err := os.Lstat(home + at); err == nil {
			t.Errorf("%s is still there", at)
		}
	}
}

// TestOwnLinkShared: an agent's directory may be the user's link to elsewhere in home, by
// whatever name; out of home, and in what commands write, none is followed.
func TestOwnLinkShared(t *testing.T) {
	base := t.TempDir()
	for at, to := range map[string]string{"/home": base + "/real", "/real/.abs": base + "/real/dot/abs", "/real/.rel": "dot/rel", "/real/.byname": base + "/home/dot/byname",
		"/real/.out": base + "/elsewhere", "/real/.all": ".", "/real/.lost": "nowhere", "/real/dot/plain/s/bin": ".."} {
		for _, dir := range []string{filepath.Dir(base + at), base + "/real/dot/abs", base + "/real/dot/rel", base + "/real/dot/byname", base + "/elsewhere"} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(to, base+at); err != nil {
			t.Fatal(err)
		}
	}
	home := base + "/home"
	for place, at := range map[string]string{".abs/s": "dot/abs/s", ".rel/s": "dot/rel/s", ".byname/s/t": "dot/byname/s/t", ".new/s": ".new/s"} {
		s := agents.SharedPlace{Place: place, Except: []string{"bin"}}
		if _, err := makeShared(home, s); err != nil {
			t.Errorf("%s: %v", place, err)
			continue
		}
		if st, err := os.Lstat(base + "/real/" + at + "/bin"); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", place, err)
		}
		if err := os.Symlink("/etc/passwd", home+"/"+place+"/link"); err != nil {
			t.Fatal(err)
		}
		p := sharing(t, home, t.TempDir())
		p.Agent.Shared[0] = s
		if !p.dropLeft(time.Time{}) {
			t.Errorf("%s was not looked through", place)
		}
		if _, err := os.Lstat(home + "/" + place + "/link"); err == nil {
			t.Errorf("%s: the link is still there", place)
		}
		if _, err := makeShared(home, agents.SharedPlace{Place: filepath.Dir(place) + "/h.jsonl", File: true}); err != nil {
			t.Errorf("a file beside %s: %v", place, err)
		}
	}
	for _, place := range []string{".out/s", ".all", ".lost/s"} {
		_, err := makeShared(home, agents.SharedPlace{Place: place})
		if err == nil || place != ".lost/s" && !strings.Contains(err.Error(), "hint: --agent-home private") {
			t.Errorf("%s: %v", place, err)
		}
	}
	if _, err := makeShared(home, agents.SharedPlace{Place: "dot/plain/s", Except: []string{"bin"}}); err == nil {
		t.Error("a link in what commands write")
	}
	if left, _ := os.ReadDir(base + "/elsewhere"); len(left) != 0 {
		t.Errorf("out of home: %v", left)
	}
}
