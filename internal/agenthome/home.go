// Package agenthome gives the agent of one workspace its home: the private copy of its settings
// and logins, or a directory of its own, with the host's transcripts over it where they are
// shared. It says what has to be mounted where, and carries out logins that were renewed inside.
// It removes what a run left in shared places and would lead an agent outside astray.
//
// Files of the copy and of shared places are data from inside: they are opened without
// links, and every look at them is bounded.
package agenthome

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/agents"
	"carrel/internal/hostfacts"
	"carrel/internal/logins"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// Options say which agent the home is for, and what was decided of it.
type Options struct {
	Agent   agents.Agent
	Host    string // the home of the person outside; "" where there is none
	Inside  string // the home of programs inside: the same path, but for a virtual machine
	Project string
	State   *statedir.Dir // nil where nothing can be kept
	Facts   *hostfacts.Facts
	Lookup  func(at string) policy.Decision // what programs inside may do with a path

	Own        string                            // the directory that agent_config_dir gives the agent, "" for none
	OwnAllowed func(dir string) error            // says why a directory cannot be that
	OwnRefused func(dir, why, hint string) error // is the refusal of one

	Shared bool             // transcripts and history are the host's
	By     policy.Source    // of that
	Bare   bool             // nothing can be mounted
	Hooks  agents.StepHooks // of which the private copy gets its part

	Note func(format string, args ...any)
	Once func(text string) // is a note that is told once, however often it is given
}

// Home is the home of one agent. The zero value is that of none.
type Home struct {
	Options

	logins *logins.Watch // while they are kept alike; nil without
	used   func()        // ends the use of the private copy; nil without
	run    *sharedRun    // while the home is shared; nil without
	killed []sharedRun   // of which something may be left
}

// Preview gives the mounts that Open would give, and makes nothing.
func (h *Home) Preview() []sandbox.Mount {
	if h.Host == "" {
		return nil
	}
	var out []sandbox.Mount
	plan := agents.PlanState(h.Agent, h.Host, h.Inside, h.private()).Binds
	reason := "private copy of the agent's state"
	if dir := h.Own; dir != "" {
		plan, reason = agents.PlanOwn(h.Agent, h.Host, h.Inside, dir).Binds, "agent_config_dir"
	} else if h.Shared {
		plan = append(plan, agents.PlanShared(h.Agent, h.Host, h.Inside, h.private())...)
	}
	for _, b := range plan {
		source, kind := h.Facts.Resolve(b.Source)
		if kind == sandbox.KindNone && b.Optional || h.isProgram(b) {
			continue
		}
		out = append(out, sandbox.Mount{Kind: sandbox.MountBind, Target: b.Target, Source: source,
			ReadOnly: !b.Writable, Optional: b.Optional, Dir: kind == sandbox.KindDir || b.Dir, Reason: reason})
	}
	return out
}

func (h *Home) private() string { return h.State.Agent(h.Project, h.Agent.Name) }

func (h *Home) places() agents.Places {
	var own []string // hidden as well, and what the copy is of
	for _, place := range h.Agent.State {
		if home, at, err := agents.Follow(h.Host, place); err == nil {
			own = append(own, filepath.Join(home, at))
		}
	}
	return agents.Places{HostHome: h.Host, Private: h.private(), Project: h.Project,
		Added: h.Hooks.Place, Add: h.Hooks.Edit, Hidden: func(place string) bool {
			d := h.Lookup(filepath.Join(h.Host, place))
			return d.Access == policy.Deny && (d.Rule == nil || !slices.ContainsFunc(own, func(at string) bool { return pathname.Within(d.Rule.Path, at) }))
		}}
}

// those are the logins of the agent that runs here.
func (h *Home) those() logins.Logins {
	return logins.Logins{Agent: h.Agent, Places: h.places(), Lock: filepath.Join(h.State.Root(), "agents", h.Agent.Name+".lock"), Note: h.Note, Tell: h.tell}
}

// Watch keeps the logins of both sides alike from now on, if there is a copy of any.
func (h *Home) Watch() {
	if h.State != nil && h.Own == "" && h.logins == nil && len(h.Agent.MergeBack) > 0 {
		h.logins = h.those().Watch()
	}
}

// End carries out logins that were renewed since, and removes what the run has left in
// shared places.
func (h *Home) End() {
	if h.logins != nil {
		h.logins.End()
		h.logins = nil
	}
	h.dropTokens()
	h.dropLinks()
}

// Open brings the private copy of the agent's state up to date with the host and gives the
// mounts that put it in place. What was renewed inside by a run that was killed is carried
// out with it. It may be called again, for other options.
func (h *Home) Open() ([]sandbox.Mount, error) {
	if h.Host == "" {
		return nil, nil
	}
	if h.Own != "" {
		return h.openOwn()
	}
	if h.State == nil {
		h.Note("no state directory: %s starts without its settings and login, and nothing of it is kept", h.Agent.Title)
		return nil, nil
	}
	if err := os.MkdirAll(h.private(), 0o700); err != nil {
		return nil, fmt.Errorf("making the private copy of %s: %w", h.Agent.Title, err)
	}
	mounts, err := h.mirror()
	h.dropKilled()
	return mounts, err
}

// mirror does so while no other process works on the agent's logins.
func (h *Home) mirror() ([]sandbox.Mount, error) {
	l := h.those()
	unlock, err := l.Hold()
	if err != nil {
		return nil, fmt.Errorf("locking the logins of %s: %w", h.Agent.Title, err)
	}
	defer unlock()
	if err := h.use(); err != nil {
		return nil, fmt.Errorf("using the private copy of %s: %w", h.Agent.Title, err)
	}
	agreed, notes, err := agents.MirrorIn(l.Agent, l.Places, l.Agreed())
	if err != nil {
		// What a command did to its copy must not lock the agent out.
		aside := fmt.Sprintf("%s.broken-%d", h.private(), time.Now().UnixNano())
		if os.Rename(h.private(), aside) != nil || os.Mkdir(h.private(), 0o700) != nil {
			return nil, fmt.Errorf("copying the settings of %s: %w", h.Agent.Title, err)
		}
		h.Note("the private copy of %s could not be used (%v) and begins anew; the old one is %s", h.Agent.Title, err, aside)
		agreed, notes, err = agents.MirrorIn(l.Agent, l.Places, agents.Agreed{})
	}
	if err != nil {
		return nil, fmt.Errorf("copying the settings of %s: %w", h.Agent.Title, err)
	}
	h.tell(notes)
	if err := l.Agree(agreed); err != nil {
		h.Note("%s: a login renewed inside is not carried out: %v", h.Agent.Name, err)
	}
	h.Facts.ForgetBelow(h.private()) // what was asked before it was made
	mounts := h.binds(agents.PlanState(h.Agent, h.Host, h.Inside, h.private()).Binds, "private copy of the agent's state")
	if !h.Shared {
		return mounts, nil
	}
	shared, err := h.share()
	return append(mounts, shared...), err
}

// binds are the mounts of a plan for what there is on the host.
func (h *Home) binds(binds []agents.StateBind, reason string) (mounts []sandbox.Mount) {
	for _, b := range binds {
		source, kind := h.Facts.Resolve(b.Source)
		if kind == sandbox.KindNone || h.isProgram(b) {
			continue
		}
		if err := h.clearPlace(b.Target, kind == sandbox.KindDir); err != nil {
			h.Note("%s: %s is not shown: %v", h.Agent.Name, b.Target, err)
			continue
		}
		mounts = append(mounts, sandbox.Mount{Kind: sandbox.MountBind, Target: b.Target, Source: source,
			ReadOnly: !b.Writable, Optional: b.Optional, Dir: kind == sandbox.KindDir, Reason: reason})
	}
	return mounts
}

// isProgram says whether a bind would show a program of the host's to another system, which has
// its own.
func (h *Home) isProgram(b agents.StateBind) bool {
	return h.Inside != h.Host && slices.ContainsFunc(h.Agent.Programs, func(p string) bool { return b.Source == filepath.Join(h.Host, p) })
}

// clearPlace makes sure that a mount point inside the private copy is what the
// mount needs: a command may have put a link there.
func (h *Home) clearPlace(target string, dir bool) error {
	if h.Own != "" { // openOwn has seen to it
		return nil
	}
	rel, err := filepath.Rel(h.Inside, target)
	inState := slices.ContainsFunc(h.Agent.State, func(s string) bool { return pathname.Within(rel, s) && rel != s })
	if err != nil || !inState {
		return err
	}
	root, err := os.OpenRoot(h.private())
	if err != nil {
		return err
	}
	defer root.Close()
	if st, err := root.Lstat(rel); err == nil && st.IsDir() == dir && (dir || st.Mode().IsRegular()) {
		return nil
	} else if err == nil {
		if err := root.Rename(rel, fmt.Sprintf("%s.broken-%d", rel, time.Now().UnixNano())); err != nil {
			return err
		}
	}
	if dir {
		return root.MkdirAll(rel, 0o700)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// tell tells each thing once: logins are looked at many times.
func (h *Home) tell(notes []agents.Note) {
	for _, n := range notes {
		h.Once(fmt.Sprintf("%s: %s", h.Agent.Name, n))
	}
}
