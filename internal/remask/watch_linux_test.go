package remask

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/broker"
	"carrel/internal/policy"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// view is a project, and a root in which a command sees its files as hard links: a mask is
// another file in the place of one.
type view struct {
	t             *testing.T
	project, root string
	fail          error // of each mask
	mu            sync.Mutex
	hidden        []string // what the broker was told to refuse
}

func newView(t *testing.T) *view {
	v := &view{t: t, project: t.TempDir(), root: t.TempDir()}
	for _, dir := range []string{v.project + "/sub", v.root + v.project + "/sub"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

func (v *view) mask(at string) error {
	if v.fail != nil {
		return v.fail
	}
	if err := os.Remove(v.root + at); err != nil {
		return err
	}
	return os.WriteFile(v.root+at, nil, 0)
}

func (v *view) hide(at string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.hidden = append(v.hidden, at)
}

// put puts a new file at a name as an editor does, and a command sees it.
func (v *view) put(name string) (at string) {
	v.t.Helper()
	at = filepath.Join(v.project, name)
	write(v.t, at+"~")
	_ = os.Remove(v.root + at)
	if err := errors.Join(os.Link(at+"~", v.root+at), os.Rename(at+"~", at)); err != nil {
		v.t.Fatal(err)
	}
	return at
}

// seen says whether a command finds the host's file.
func (v *view) seen(at string) bool { return inodeAt(at) == inodeAt(v.root+at) }

func (v *view) masked(at string) {
	v.t.Helper()
	for end := time.Now().Add(20 * time.Second); v.seen(at); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			v.t.Fatalf("%s is still seen inside", at)
		}
	}
}

func (v *view) start(masked ...string) (*Watch, *OwnFiles) {
	v.t.Helper()
	fd, err := unix.Open(v.root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(func() { unix.Close(fd) })
	o := Options{
		Project: v.project, Mask: v.mask, Looked: []string{v.project + "/sub"}, Broker: &Broker{View: fd, Own: new(OwnFiles), Hide: v.hide},
		Policy: &policy.Effective{Scope: policy.Scope{Project: v.project}, Rules: []policy.Rule{{Path: v.project, Access: policy.Write}}},
		Note:   func(format string, args ...any) { v.t.Errorf(format, args...) },
	}
	for _, at := range masked {
		o.Mounts = append(o.Mounts, sandbox.Mount{Kind: sandbox.MountMask, Target: at})
	}
	return Start(o), o.Broker.Own
}

// TestWatch: a masked file that is replaced outside is masked again, before the watch began and
// each time after; a file of secrets that appears is hidden, and not one that was made inside.
func TestWatch(t *testing.T) {
	v := newView(t)
	early := v.put("early")
	m, own := v.start(early)
	v.masked(early)
	for range 3 {
		v.put("early")
		v.masked(early)
	}
	env := v.put(".env")
	v.masked(env)
	v.masked(v.put("sub/.env")) // where nothing was masked
	v.mu.Lock()
	if !slices.Contains(v.hidden, env) {
		t.Errorf("the broker refuses %q, want %s", v.hidden, env)
	}
	v.mu.Unlock()
	inside := filepath.Join(v.project, ".env.local")
	do(t, own, &broker.Change{Op: broker.OpCreate, Path: inside}, func() error {
		write(t, inside)
		return os.Link(inside, v.root+inside)
	})
	plain := v.put("main.go")
	v.put("early") // what came before it was looked at
	v.masked(early)
	for _, at := range []string{inside, plain} {
		if !v.seen(at) {
			t.Errorf("%s is hidden", at)
		}
	}
	if notes := m.Close(); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
}

// TestWatchThatFails: what could not be hidden is told, by its name and with the reason, unless it
// is gone again.
func TestWatchThatFails(t *testing.T) {
	v := newView(t)
	v.fail = unix.EPERM
	at, passing := v.put("kept"), v.put("passing")
	m := &Watch{Options: Options{Mask: v.mask}, masked: make(map[string]bool), failed: make(map[string]error)}
	var err error
	if m.root, err = unix.Open(v.root, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(m.root)
	m.done = make(chan struct{})
	close(m.done)
	if err := unix.Pipe2(m.stop[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	m.see(at)
	m.see(passing)
	if err := os.Remove(passing); err != nil {
		t.Fatal(err)
	}
	m.see(passing)
	notes := m.Close()
	if len(notes) != 1 || !strings.Contains(notes[0], at) || !strings.Contains(notes[0], unix.EPERM.Error()) {
		t.Errorf("notes: %q, want one of %s", notes, at)
	}
}

// TestWatchIsBounded: beyond the bound of directories it is told, and without any there is no watch.
func TestWatchIsBounded(t *testing.T) {
	if m := Start(Options{Mounts: []sandbox.Mount{{Kind: sandbox.MountMask, Target: "/proc/x"}}}); m != nil || m.Close() != nil {
		t.Error("nothing is watched")
	}
	var said []string
	o := Options{Note: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	for i := range maxWatched + 1 {
		o.Mounts = append(o.Mounts, sandbox.Mount{Kind: sandbox.MountMask, Target: fmt.Sprintf("/none/%d/f", i)})
	}
	if m := Start(o); m == nil || m.Close() != nil || len(said) != 1 || !strings.Contains(said[0], fmt.Sprint(maxWatched+1)) {
		t.Errorf("said %q", said)
	}
}
