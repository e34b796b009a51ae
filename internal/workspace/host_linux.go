package workspace

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/display"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// openerPath is the program that opens a link on the host's desktop. It is
// looked for in the system's own directory only: what stands in the user's
// PATH may have been put there by an agent.
const openerPath = "/usr/bin/xdg-open"

// callbacks says whether a login inside may have its way back through the
// host's loopback: only where the user has links opened at all, and where the
// workspace has a loopback of its own that could answer.
func (p *Prepared) callbacks() bool {
	return p.Policy.OpenURLs == policy.LinksBrowser && p.Plan.NewNet && p.Plan.Loopback
}

// opener gives the host's link opener and the environment to start it with,
// when the user's own configuration wants links opened.
func (p *Prepared) opener() (string, []string) {
	if p.Policy.OpenURLs != policy.LinksBrowser {
		return "", nil
	}
	if st, err := os.Stat(openerPath); err != nil || !st.Mode().IsRegular() {
		p.note("open_urls is browser, but %s does not exist", openerPath)
		return "", nil
	}
	if at := p.openerLed(); at != "" {
		p.note("open_urls is browser, but links are only shown: programs inside can write %q, which says what they are opened with", at)
		return "", nil
	}
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	for _, name := range []string{"HOME", "USER", "LANG", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "DESKTOP_SESSION"} {
		if v := p.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return openerPath, env
}

// displayBinds grants exactly the display's sockets, and says so.
func (p *Prepared) displayBinds() []sandbox.Mount {
	if p.Policy.Display != policy.DisplayHost {
		return nil
	}
	var out []sandbox.Mount
	for _, s := range display.HostSockets(p.req.Environ) {
		real, kind := p.facts.Resolve(s.Path)
		if kind == sandbox.KindNone {
			continue
		}
		target := s.Path
		if s.Runtime != "" {
			target = p.insideRuntime() + "/" + s.Runtime
		}
		out = append(out, sandbox.Mount{Kind: sandbox.MountBind, Source: real, Target: target, ReadOnly: kind == sandbox.KindFile, Reason: "host display granted"})
	}
	return out
}

// holdable refuses limits that nothing here can hold, before anything starts.
func (p *Prepared) holdable() error {
	if err := p.secretsHeld(); err != nil {
		return err
	}
	for _, d := range p.Policy.Devices {
		if st, err := os.Lstat(d.V); err != nil || st.Mode()&os.ModeDevice == 0 {
			return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: d.V, Rule: "devices", Source: d.Source.String(),
				Message: fmt.Sprintf("%q is not a device node here", d.V), Hint: "--device takes one like /dev/kvm; for files there are --read and --write"}
		}
	}
	r := p.Policy.Resources
	if r.Memory > 0 {
		if err := sandbox.CanLimitMemory(); err != nil {
			return p.notHeld(policy.DimMemory, err)
		}
	}
	if r.Pids > 0 && p.uid == 0 {
		if err := sandbox.CanLimitPids(); err != nil {
			return p.notHeld(policy.DimPids, err)
		}
	}
	return nil
}

func (p *Prepared) notHeld(dim policy.Dimension, err error) error {
	r := p.reason(dim)
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: r.Value, Rule: string(dim), Source: r.Source.String(),
		Message: fmt.Sprintf("the %s limit cannot be held here: %v", dim, err),
		Hint:    "`carrel doctor` says what would hold it; where it is version 2 with systemd: systemd-run --user --scope -p MemoryMax=4G -- carrel run ..., without this limit"}
}

// limitGroup makes the control group that holds the limits, nil without any.
// Process limits of an ordinary user need none: RLIMIT_NPROC counts within the
// workspace's own user namespace. Root is exempt from that one.
func (p *Prepared) limitGroup(id string) (*sandbox.Cgroup, error) {
	limits := make(map[string]string)
	if m := p.Policy.Resources.Memory; m > 0 {
		limits["memory"] = strconv.FormatInt(m, 10)
	}
	if n := p.Policy.Resources.Pids; n > 0 && p.uid == 0 {
		limits["pids"] = strconv.FormatInt(n, 10)
	}
	if len(limits) == 0 {
		return nil, nil
	}
	return sandbox.NewCgroup(id, limits)
}

func (p *Prepared) dropGroup(g *sandbox.Cgroup) {
	if g == nil {
		return
	}
	if g.Exceeded() {
		p.deny(api.Denial{Code: api.CodeMemory, Operation: "limit", Subject: strings.Join(p.req.Argv[:min(1, len(p.req.Argv))], ""), Message: "processes were killed at the memory limit of " + p.reason(policy.DimMemory).Value,
			Rule: "memory", Source: p.reason(policy.DimMemory).Source.String(), Hint: "--memory takes a larger size"})
	}
	if err := g.Remove(); err != nil {
		p.note("the control group stays behind: %v", err)
	}
}
