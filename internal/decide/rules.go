package decide

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/globscan"
	"carrel/internal/guard"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// Reason says why a dimension of the policy is what it is.
func (p *rules) Reason(dim policy.Dimension) policy.Reason {
	for _, r := range p.Policy.Reasons {
		if r.Dimension == dim {
			return r
		}
	}
	return policy.Reason{Dimension: dim}
}

// NoWalls says whether commands run as their user without walls. Then the policy
// has one kind of place: what is recorded, and the rest, which is not.
func (p *rules) NoWalls() bool { return p.Policy.Backend == policy.BackendNone }

// contained says whether the system that commands see is that of a container's image.
func (p *rules) contained() bool {
	return p.Policy != nil && p.Policy.Backend == policy.BackendContainer
}

// inMachine says whether programs run under another kernel: in a machine with a system of its own, or
// with this one's under QEMU or gVisor.
func (p *rules) inMachine() bool { return p.ofMachine() || p.inVM() || p.inGvisor() }
func (p *rules) ofMachine() bool { return p.Policy != nil && p.Policy.Backend == policy.BackendLima }
func (p *rules) inVM() bool      { return p.Policy != nil && p.Policy.Backend == policy.BackendVM }
func (p *rules) inGvisor() bool  { return p.Policy != nil && p.Policy.Backend == policy.BackendGvisor }

// History says whether changes go through the broker.
func (p *rules) History() bool { return p.Policy.History == policy.HistoryOn }

// brokered says whether the changes of a place and all that lies in it go
// through the broker.
func (p *rules) brokered(place string) bool {
	d := p.Policy.Lookup(place)
	return p.History() && d.Access == policy.Write && d.Rule != nil && d.Rule.Path != p.Policy.Scope.Tmp && !guard.FoldsCase(place)
}

// deniesBelow says whether some glob could keep something in a place from being
// read.
func (p *rules) deniesBelow(place string) bool { return p.someBelow(place, policy.Deny) }

// someBelow finds a glob of the given access, or of any, that could match in a
// place.
func (p *rules) someBelow(place string, access policy.Access) bool {
	return slices.ContainsFunc(p.Policy.Rules, func(r policy.Rule) bool {
		if r.Glob == "" || access != policy.Unset && r.Access != access {
			return false
		}
		base := globscan.Base(r.Glob)
		return pathname.Within(base, place) || pathname.Within(place, base)
	})
}

// globPins are the directories that a glob names by letter: one that could be
// renamed would take the next run's matches with it.
func (p *rules) globPins() []string {
	var pins []string
	for _, r := range p.Policy.Rules {
		if r.Glob == "" {
			continue
		}
		for dir := globscan.Base(r.Glob); dir != "/"; dir = filepath.Dir(dir) {
			if p.Policy.Lookup(dir).Access != policy.Write || p.Policy.Lookup(filepath.Dir(dir)).Access != policy.Write {
				break
			}
			pins = append(pins, dir)
		}
	}
	return pins
}

// steady refuses what is named by a link that can be changed.
func (p *rules) steady(f policy.FileRequest, places ...string) error {
	for _, l := range hostview.Links(places) {
		if p.changeable(l.Path) {
			return notHeldRule(f, l.Path, fmt.Sprintf("the way to %q leads over the link %q, which the policy lets be changed", places[0], l.Path), "name the place that it leads to")
		}
	}
	return nil
}

// changeable says whether a program inside could put something else in the place
// of a link. The root directory is the workspace's own, and fixed; what is taken
// away there keeps a link only where changes are decided one by one.
func (p *rules) changeable(link string) bool {
	dir := path.Dir(link)
	if dir == "/" || p.Policy.Lookup(dir).Access != policy.Write || !p.visible(dir) {
		return false
	}
	d := p.Policy.Lookup(link)
	return !p.brokered(dir) || d.Access == policy.Write && !d.Protected
}

func (p *rules) notHeld(dim policy.Dimension, err error) error {
	r := p.Reason(dim)
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: r.Value, Rule: string(dim), Source: r.Source.String(),
		Message: fmt.Sprintf("the %s limit cannot be held here: %v", dim, err),
		Hint:    "`carrel doctor` says what would hold it; where it is version 2 with systemd: systemd-run --user --scope -p MemoryMax=4G -- carrel run ..., without this limit"}
}

// dropped says whether a rule takes a variable out.
func (p *rules) dropped(name string) bool {
	_, passed, rule := p.Policy.Env.Lookup(name, "")
	return !passed && rule != nil
}

// setVariables are those that a rule sets, and what says where a command runs.
func (p *rules) setVariables() []string {
	out := []string{EnvInside + "=1"}
	for name := range p.Policy.Env.Set {
		if value, ok, _ := p.Policy.Env.Lookup(name, ""); ok {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

func (p *rules) agentHomeBy() policy.Source { return p.Reason(policy.DimAgentHome).Source }

// soundGranted says that the person gave the workspace their sound server itself: there the
// real programs work.
func (p *rules) soundGranted() bool {
	return p.grantsSocket("/pulse/native", "/pipewire-0") || slices.ContainsFunc(p.Policy.Devices, func(d policy.Value[string]) bool { return strings.HasPrefix(d.V, "/dev/snd") })
}

func (p *rules) grantsSocket(ends ...string) bool {
	return slices.ContainsFunc(p.Policy.UnixSockets, func(at policy.Value[string]) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(at.V, end) })
	})
}
