package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/display"
	"carrel/internal/gui"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"
	"carrel/internal/xvfb"
)

// openDesktop makes the workspace's desktop, once: there is none where the policy has no
// virtual display.
func (p *Prepared) openDesktop() error {
	if p.Policy.Display != policy.DisplayVirtual || p.desktop != nil {
		return nil
	}
	size, gl, err := p.screen()
	if err != nil {
		return err
	}
	c := gui.Config{Size: size, GL: gl, Watch: p.Policy.WatchVNC, Runtime: p.insideRuntime(), Environ: p.environ, Raise: p.raiseDisplay, Note: p.note}
	for _, dir := range supervisorDirs(p.getenv) {
		c.Dirs = append(c.Dirs, filepath.Join(dir, "displays"))
	}
	if p.state != nil {
		c.Keymaps = p.state.Root()
	}
	p.desktop, err = gui.New(c)
	return err
}

// screen says how large the display is, and whether it has OpenGL: the command
// line's word before the configuration's.
func (p *Prepared) screen() (size policy.Size, gl bool, err error) {
	size = xvfb.DefaultSize
	set := p.Loaded.Settings
	switch {
	case p.req.Size != "":
		if size, err = policy.ParseSize(p.req.Size); err != nil {
			return size, false, fmt.Errorf("--size: %w", err)
		}
	case set.DisplaySize == nil && p.profile != nil && p.profile.Width > 0:
		if size, err = policy.ParseSize(fmt.Sprintf("%dx%d", p.profile.Width, p.profile.Height)); err != nil {
			return size, false, fmt.Errorf("profile %s: size: %w", p.profile.Name, err)
		}
	case set.DisplaySize != nil:
		if size, err = policy.ParseSize(set.DisplaySize.V); err != nil {
			return size, false, fmt.Errorf("%s: %w", set.DisplaySize.Source, err)
		}
	}
	return size, set.DisplayGL != nil && set.DisplayGL.V, nil
}

// raiseDisplay raises the walls of a display's programs.
func (p *Prepared) raiseDisplay(pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Walls, error) {
	plan, err := p.displayPlan(pol, binds, files)
	if err != nil {
		return nil, fmt.Errorf("planning the walls of the display: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	walls, err := sandbox.Launch(plan, selfExe, nil, [3]*os.File{null, null, null}, nil, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("raising the walls of the display: %w", err)
	}
	return walls, nil
}

// displayPlan makes their plan, for the workspace's engine and with all layers.
func (p *Prepared) displayPlan(pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Plan, error) {
	in := sandbox.Input{Policy: pol, Engine: p.engine.name, UID: uint32(p.uid), GID: uint32(p.gid), Binds: binds, Files: files}
	self, err := hostfacts.OwnProgram()
	if err == nil {
		in.Self = self
	}
	abi, err := landlock.ABI()
	if err != nil {
		return nil, err
	}
	in.Landlock, in.Scopes = abi >= filesABI, abi >= scopesABI
	arch, err := seccomp.HostArch()
	if err != nil {
		return nil, err
	}
	filter, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedNone, NoGroupSignals: !in.Scopes})
	if err != nil {
		return nil, err
	}
	in.Seccomp, in.HighestPID = seccomp.Marshal(filter), highestPID()
	plan, err := sandbox.Compile(in, hostfacts.New())
	if err == nil && !sameProgram(self, selfExe) {
		// A workspace can be older than the program that is installed; in there it is
		// not needed.
		plan.Mounts = slices.DeleteFunc(plan.Mounts, func(m sandbox.Mount) bool { return m.Target == sandbox.SelfPath })
	}
	return plan, err
}

// sameProgram says whether two names are of one file.
func sameProgram(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}

// desktopMounts are what programs inside see of the display.
func (p *Prepared) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	if p.desktop == nil {
		return nil, nil, nil
	}
	binds, files, sockets = p.desktop.Mounts()
	for i := range binds {
		p.facts.Forget(binds[i].Source) // it was made just now
		_, _ = p.facts.Resolve(binds[i].Source)
	}
	return binds, files, sockets
}

// desktopOptions says what variables lead programs inside to the display. A preview
// has taken no number yet.
func (p *Prepared) desktopOptions(o *display.Options) {
	if p.Policy.Display != policy.DisplayVirtual {
		return
	}
	o.Display, o.XAuthority = fmt.Sprintf(":%d", xvfb.First), gui.Authority(p.insideRuntime())
	if d := p.desktop; d != nil {
		o.Display, o.Bus = d.Display(), d.Bus()
	}
}

// withoutDesktop goes on without a virtual display, where this machine or engine
// cannot have one: never with the host's.
func (p *Prepared) withoutDesktop(why string) {
	without := *p.Policy
	without.Display, without.WatchVNC = policy.DisplayNone, false
	without.Reasons = slices.Clone(without.Reasons)
	for i := range without.Reasons {
		if r := &without.Reasons[i]; r.Dimension == policy.DimDisplay {
			r.Value, r.Note = string(policy.DisplayNone), "virtual cannot be had here: "+why
		}
	}
	p.Policy = &without
	p.noDisplay = why
}

// displayHeld finds out whether a virtual display can be had.
func (p *Prepared) displayHeld() error {
	if p.Policy.Display != policy.DisplayVirtual {
		if p.req.Size != "" {
			return &advice.Error{Err: fmt.Errorf("--size %s is the virtual display's, and the display is %s (%s)", p.req.Size, p.Policy.Display, p.reason(policy.DimDisplay).Source), Hint: "add --display virtual"}
		}
		return nil
	}
	if p.req.Exact != nil {
		return &api.Denial{Code: api.CodeUnsupported, Operation: "start", Subject: "virtual", Rule: string(policy.DimDisplay), Source: p.reason(policy.DimDisplay).Source.String(),
			Message: "the low-level form has no virtual display", Hint: "use display none or host, or `carrel run --display virtual`"}
	}
	if _, _, err := p.screen(); err != nil {
		return err
	}
	if !gui.Available() {
		p.withoutDesktop(fmt.Sprintf("%s is not installed (Debian's package xvfb has it)", xvfb.Server))
	}
	return nil
}
