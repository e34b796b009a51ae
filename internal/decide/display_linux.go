package decide

import (
	"fmt"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/display"
	"carrel/internal/gui"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/xvfb"
)

// Screen says how large the display is, and whether it has OpenGL: the command
// line's word before the configuration's.
func (p *configured) Screen() (size policy.Size, gl bool, err error) {
	size = xvfb.DefaultSize
	set := p.Loaded.Settings
	switch {
	case p.Request.Size != "":
		if size, err = policy.ParseSize(p.Request.Size); err != nil {
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

// desktopMounts are what programs inside see of the display.
func (p *displayed) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	if p.Desktop == nil {
		return nil, nil, nil
	}
	binds, files, sockets = p.Desktop.Mounts()
	for i := range binds {
		p.Facts.Forget(binds[i].Source) // it was made just now
		_, _ = p.Facts.Resolve(binds[i].Source)
	}
	return binds, files, sockets
}

// desktopOptions says what variables lead programs inside to the display. A preview
// has taken no number yet.
func (p *displayed) desktopOptions(o *display.Options) {
	if p.Policy.Display != policy.DisplayVirtual {
		return
	}
	o.Display, o.XAuthority = fmt.Sprintf(":%d", xvfb.First), gui.Authority(p.InsideRuntime())
	if d := p.Desktop; d != nil {
		o.Display, o.Bus = d.Display(), d.Bus()
	}
}

// withoutDesktop goes on without a virtual display, where this machine or engine
// cannot have one: never with the host's.
func (p *displayed) withoutDesktop(why string) {
	without := *p.Policy
	without.Display, without.WatchVNC = policy.DisplayNone, false
	without.Reasons = slices.Clone(without.Reasons)
	for i := range without.Reasons {
		if r := &without.Reasons[i]; r.Dimension == policy.DimDisplay {
			r.Value, r.Note = string(policy.DisplayNone), "virtual cannot be had here: "+why
		}
	}
	p.Policy = &without
	p.NoDisplay = why
}

// displayHeld finds out whether a virtual display can be had.
func (p *displayed) displayHeld() error {
	if p.Policy.Display != policy.DisplayVirtual {
		if p.Request.Size != "" {
			return &advice.Error{Err: fmt.Errorf("--size %s is the virtual display's, and the display is %s (%s)", p.Request.Size, p.Policy.Display, p.Reason(policy.DimDisplay).Source), Hint: "add --display virtual"}
		}
		return nil
	}
	if p.Request.Exact != nil {
		return &api.Denial{Code: api.CodeUnsupported, Operation: "start", Subject: "virtual", Rule: string(policy.DimDisplay), Source: p.Reason(policy.DimDisplay).Source.String(),
			Message: "the low-level form has no virtual display", Hint: "use display none or host, or `carrel run --display virtual`"}
	}
	if _, _, err := p.Screen(); err != nil {
		return err
	}
	if !gui.Available() {
		p.withoutDesktop(fmt.Sprintf("%s is not installed (Debian's package xvfb has it)", xvfb.Server))
	}
	return nil
}

// displayBinds grants exactly the display's sockets, and says so.
func (p *displayed) displayBinds() []sandbox.Mount {
	if p.Policy.Display != policy.DisplayHost {
		return nil
	}
	var out []sandbox.Mount
	for _, s := range display.HostSockets(p.Request.Environ) {
		real, kind := p.Facts.Resolve(s.Path)
		if kind == sandbox.KindNone {
			continue
		}
		target := s.Path
		if s.Runtime != "" {
			target = p.InsideRuntime() + "/" + s.Runtime
		}
		out = append(out, sandbox.Mount{Kind: sandbox.MountBind, Source: real, Target: target, ReadOnly: kind == sandbox.KindFile, Reason: "host display granted"})
	}
	return out
}
