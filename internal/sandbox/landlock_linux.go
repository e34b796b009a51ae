package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"carrel/internal/pathname"
	"carrel/internal/sandbox/landlock"

	"golang.org/x/sys/unix"
)

// LandlockABI is the lowest level of Landlock for EngineLandlock: signals and
// abstract sockets are kept apart from it on, Linux 6.12.
const LandlockABI = 6

// CanStandAlone says why EngineLandlock cannot hold anything here; nil where it can.
func CanStandAlone() error {
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	return standsOn(abi)
}

func standsOn(abi int) error {
	if abi < LandlockABI {
		return &landlock.UnsupportedError{Feature: "signals kept apart", Found: abi, Needed: LandlockABI}
	}
	return nil
}

// startAlone starts the stage without namespaces. What holds it together in their
// stead is a Landlock domain, the outer one: the thread that starts the stage's
// guard is in it, and all that comes from there, whatever becomes of its parents.
// One call from it ends all of it: the guard's when the supervisor or the stage is
// gone, and the thread's when the guard is. Commands are in a domain below that and
// reach neither.
func startAlone(p *Plan, exe string) *Stage {
	s := &Stage{engine: EngineLandlock, newNet: p.NewNet}
	a := alone(p)
	grants, err := spared(a.forLandlock(), a.hidden)
	if err == nil {
		err = furnish(p.Private, a.made)
	}
	if err != nil {
		s.err = err
		return s
	}
	told := *p
	told.Mounts, told.Grants, told.Command = nil, grants, a.command(p.Command)
	s.plan = &told
	if s.walls, s.err = keep(exe, true); s.err == nil {
		s.walls.inside = a.command
		for _, g := range grants {
			if g.Write {
				s.walls.Written = append(s.walls.Written, g.Path)
			}
		}
		s.walls.Notes = a.notes
	}
	return s
}

// startPlain starts the stage of a plan without walls where there are no namespaces
// either. The domain is there so that all of it ends together, and holds nothing else.
func startPlain(p *Plan, exe string) *Stage {
	told := *p
	told.Mounts = nil
	s := &Stage{engine: EngineNone, plain: true, plan: &told}
	s.walls, s.err = keep(exe, false)
	return s
}

// keep starts the stage from a thread of its own, which stays. abstract keeps
// abstract sockets apart as well.
func keep(exe string, abstract bool) (*Walls, error) {
	type answer struct {
		w   *Walls
		err error
	}
	started, end, swept := make(chan answer), make(chan struct{}), make(chan struct{})
	go besideMain(func() {
		defer close(swept)
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		var applied landlock.Applied
		if err == nil {
			applied, err = landlock.Apply(landlock.Ruleset{ScopeAbstract: abstract, ScopeSignal: true})
		}
		if err == nil && (applied.Scopes&landlock.Signal == 0 || os.Getuid() == 0) {
			err = unix.EPERM
		}
		if err != nil {
			started <- answer{err: &SetupError{Step: "applying Landlock", Err: err.Error()}}
			return
		}
		w, err := forkStage(exe, []string{StageArg0, GuardArg}, nil, 1)
		started <- answer{w, err}
		if err == nil {
			<-end
			EndDomain()
		}
	})
	got := <-started
	if got.err != nil {
		return nil, got.err
	}
	got.w.sweep = func() { close(end); <-swept }
	if _, err := got.w.hello(); err != nil {
		got.w.Kill()
		return nil, &SetupError{Step: "starting the stage", Err: err.Error()}
	}
	return got.w, nil
}

// besideMain runs do on a thread that ends with it. The main thread is none: the
// kernel takes its domain for that of the process, and the guard would end it.
func besideMain(do func()) {
	runtime.LockOSThread() // never unlocked where do has run
	if unix.Gettid() != unix.Getpid() {
		do()
		return
	}
	elsewhere := make(chan struct{})
	go func() { // not on this thread, which is taken
		close(elsewhere)
		besideMain(do)
	}()
	<-elsewhere
	runtime.UnlockOSThread()
}

// EndDomain kills every process of the calling thread's Landlock domain but this
// one: the kernel passes over all that may not be signalled from here. It holds
// forks back meanwhile, so that none gets away. The caller's domain has to scope
// signals, or this would end all that the user runs.
func EndDomain() {
	if os.Getuid() != 0 { // root runs nothing with this engine
		_ = unix.Kill(-1, unix.SIGKILL)
	}
}

// spared replaces what is granted for reading and has something hidden in it by
// all else that is in it now.
func spared(grants []Grant, hidden []string) ([]Grant, error) {
	var out []Grant
	for _, g := range grants {
		split, err := without(g, hidden)
		if err != nil {
			return nil, err
		}
		out = append(out, split...)
	}
	return out, nil
}

func without(g Grant, hidden []string) ([]Grant, error) {
	if slices.Contains(hidden, g.Path) {
		return nil, nil
	}
	if g.Write || g.Data || g.Device || !slices.ContainsFunc(hidden, func(h string) bool { return pathname.Within(h, g.Path) }) {
		return []Grant{g}, nil
	}
	entries, err := os.ReadDir(g.Path)
	if err != nil {
		return nil, &SetupError{Step: "listing what is granted", Path: g.Path, Err: err.Error()}
	}
	var out []Grant
	for _, e := range entries {
		at := filepath.Join(g.Path, e.Name())
		seen, err := lookAt(at)
		if err != nil || !seen.there {
			continue // a link: what it leads to is granted, or not, by itself
		}
		split, err := without(Grant{Path: at, Optional: true, Dev: seen.dev, Ino: seen.ino}, hidden)
		if err != nil {
			return nil, err
		}
		out = append(out, split...)
	}
	return out, nil
}

// furnish fills the private directory. Nobody else has it yet.
func furnish(private string, made []Mount) error {
	root, err := os.OpenRoot(private)
	if err != nil {
		return &SetupError{Step: "opening the private directory", Path: private, Err: err.Error()}
	}
	defer root.Close()
	for _, m := range made {
		if err := furnishWith(root, private, m); err != nil {
			return &SetupError{Step: "filling the private directory", Path: m.Target, Err: err.Error()}
		}
	}
	return nil
}

func furnishWith(root *os.Root, private string, m Mount) error {
	name, err := filepath.Rel(private, m.Target)
	if err != nil || name == "." || !filepath.IsLocal(name) {
		return fmt.Errorf("%q is not in it", m.Target)
	}
	if m.Kind == MakeDir {
		return root.MkdirAll(name, 0o700)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	_ = root.Remove(name) // of a start that is tried again
	if m.Kind == MakeSymlink {
		return root.Symlink(m.Source, name)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, os.FileMode(m.Perm)&0o777)
	if err != nil {
		return err
	}
	_, err = f.Write(m.Data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
