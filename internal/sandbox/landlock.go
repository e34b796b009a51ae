package sandbox

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// The stage's first argument where there are no namespaces: of the process that
// watches over all others, and of the one that starts commands.
const (
	GuardArg = "guard"
	AloneArg = "alone"
)

// alonePlan is a plan without mounts. The host's files are where they are, and
// only what is granted can be opened. What is private in a view lies in one
// directory of the host, with the same paths in it; variables lead there.
type alonePlan struct {
	private string
	grants  []Grant
	hidden  []string // masked, below what is granted for reading
	made    []Mount  // in private: MakeDir, WriteFile and MakeSymlink by their host paths
	notes   []string

	// guarded are what the broker keeps unchanged, with all in it, and pinned what it
	// keeps from being moved: only Landlock has no rule for them.
	guarded, pinned []string
	// What cannot be held, of each kind the first.
	kept, moved string

	roots []string // where changes are a broker's

	self   string // our own program
	behind []behind
}

// machineFiles are what is granted of procfs: nothing of a process.
var machineFiles = []string{
	"/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat", "/proc/uptime", "/proc/version",
	"/proc/sys/fs/file-max", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/pid_max", "/proc/sys/kernel/random/uuid",
	"/proc/sys/net/core/somaxconn", "/proc/sys/vm/overcommit_memory",
}

// unseen are file systems of a view that nothing stands in for.
var unseen = []string{"/dev", "/dev/shm", "/proc", "/run", "/sys"}

// alone translates the steps of p. Rules of Landlock add up: what is narrower
// below something that is read can be left out of it, below something that is
// written nothing can. It says so in kept and moved.
func alone(p *Plan) *alonePlan {
	a := &alonePlan{private: p.Private, roots: p.Roots}
	for _, f := range machineFiles {
		a.grants = append(a.grants, Grant{Path: f, Data: true, Optional: true})
	}
	if a.private != "" {
		a.grants = append(a.grants, Grant{Path: a.private, Write: true})
	}
	frozen := make(map[string]bool)
	for _, m := range p.Mounts {
		frozen[m.Target] = frozen[m.Target] || m.Kind == Freeze
		if m.Target == SelfPath {
			a.self = m.Source
		}
	}
	for _, m := range p.Mounts {
		a.step(m, frozen[m.Target])
	}
	return a
}

func (a *alonePlan) step(m Mount, frozen bool) {
	switch m.Kind {
	case MountProc:
		a.hide(m.Target)
	case MountTmpfs:
		a.tmpfs(m, frozen)
	case MountDevice:
		a.grants = append(a.grants, Grant{Path: m.Source, Device: true, Optional: m.Optional})
	case MountBind:
		a.bind(m)
	case MountOverlay:
		a.overlay(m)
	case MountMask:
		a.hide(m.Target)
	case MountData, WriteFile:
		a.data(m)
	case MakeDir, MakeSymlink:
		if host, private := a.host(m.Target); private {
			m.Target = host
			a.made = append(a.made, m)
		}
	case MountSelf:
		a.pin(m.Target)
	}
}

// tmpfs has the private directory stand in for a file system in memory.
func (a *alonePlan) tmpfs(m Mount, frozen bool) {
	a.hide(m.Target)
	if frozen || slices.Contains(unseen, m.Target) {
		return
	}
	to := path.Join(a.private, m.Target)
	a.made = append(a.made, Mount{Kind: MakeDir, Target: to})
	a.behind = append(a.behind, behind{m.Target, to})
}

// bind grants a path of the host. Where it is shown in a private place, a link
// leads to it.
func (a *alonePlan) bind(m Mount) {
	if m.Source == a.self && m.Target != m.Source {
		return // our own program, in another's place: nothing leads to it
	}
	host, private := a.host(m.Target)
	switch {
	case m.ReadOnly && a.brokered(m.Source):
		a.guarded = append(a.guarded, m.Source)
		return
	case m.ReadOnly && a.writes(m.Source):
		a.keeps(m.Target)
		return
	case private && host != m.Source:
		a.made = append(a.made, Mount{Kind: MakeSymlink, Target: host, Source: m.Source})
	case host != m.Source && m.Optional:
		return
	case host != m.Source:
		a.moves(m.Target)
		return
	}
	a.grants = append(a.grants, Grant{Path: m.Source, Write: !m.ReadOnly, Optional: m.Optional, Dev: m.Dev, Ino: m.Ino})
	a.behind = append(a.behind, behind{m.Target, m.Source})
}

// overlay grants what stands in for a cache that the host would not see changed.
func (a *alonePlan) overlay(m Mount) {
	m.Kind, m.Optional = MountBind, true
	if m.ReadOnly = m.Spare == ""; !m.ReadOnly {
		m.Source = m.Spare
	}
	if len(a.notes) == 0 {
		a.notes = append(a.notes, "without mounts there are no copy-on-write caches: those of the host are not used")
	}
	a.bind(m)
}

// data writes a generated file in a private place. The system's own settings are
// shown as they are; another file that would be covered is left out.
func (a *alonePlan) data(m Mount) {
	host, private := a.host(m.Target)
	switch {
	case private:
		m.Kind, m.Target = WriteFile, host
		a.made = append(a.made, m)
	case a.writes(host):
		a.keeps(m.Target)
	case !pathname.Within(host, "/etc"):
		a.hide(m.Target)
	}
}

// hide leaves a path out of what is granted above it.
func (a *alonePlan) hide(target string) {
	host, private := a.host(target)
	switch {
	case private:
	case a.writes(host):
		a.keeps(target)
	case a.granted(host, false):
		a.hidden = append(a.hidden, host)
	}
}

func (a *alonePlan) pin(target string) {
	host, private := a.host(target)
	switch {
	case private:
	case a.brokered(host):
		a.pinned = append(a.pinned, host)
	case a.writes(host):
		a.keeps(target)
	}
}

// brokered says whether the broker makes the changes at a path.
func (a *alonePlan) brokered(host string) bool {
	return a.writes(host) && slices.ContainsFunc(a.roots, func(r string) bool { return pathname.Within(host, r) })
}

func (a *alonePlan) keeps(target string) {
	if a.kept == "" {
		a.kept = target
	}
}

func (a *alonePlan) moves(target string) {
	if a.moved == "" {
		a.moved = target
	}
}

// host gives what a guest path is on the host, and whether it is a place of the
// private directory.
func (a *alonePlan) host(guest string) (host string, private bool) {
	host, by := guest, behind{}
	for _, at := range a.behind {
		if pathname.Within(guest, at.target) && len(at.target) >= len(by.target) {
			by, host = at, path.Join(at.host, strings.TrimPrefix(guest, at.target))
		}
	}
	return host, by.target != "" && pathname.Within(by.host, a.private)
}

func (a *alonePlan) writes(host string) bool { return a.granted(host, true) }

// granted says whether something at or above a path is granted.
func (a *alonePlan) granted(host string, write bool) bool {
	return slices.ContainsFunc(a.grants, func(g Grant) bool {
		return pathname.Within(host, g.Path) && (g.Write || !write) && !g.Device && !g.Data
	})
}

// forLandlock are the grants as Landlock has them: what the broker changes is read.
func (a *alonePlan) forLandlock() []Grant {
	out := slices.Clone(a.grants)
	for i := range out {
		if slices.ContainsFunc(a.roots, func(r string) bool { return pathname.Within(out[i].Path, r) }) {
			out[i].Write = false
		}
	}
	return out
}

// Granted are the grants of a plan for EngineLandlock, without its private
// directory, which is made for each run.
func Granted(p *Plan) []Grant {
	a := translated(p)
	return slices.DeleteFunc(a.forLandlock(), func(g Grant) bool { return g.Path == a.private })
}

// Guarded gives, for a plan of EngineLandlock with roots, what a broker has to keep
// unchanged with all that is in it, and what it has to keep at its name.
func Guarded(p *Plan) (whole, names []string) {
	a := translated(p)
	return a.guarded, a.pinned
}

// command rewrites what leads to private places: the directory, the program and
// each path of a list in a variable.
func (a *alonePlan) command(c Command) Command {
	c.Dir, _ = a.host(c.Dir)
	if c.Path != "" {
		c.Path, _ = a.host(c.Path)
	}
	c.Env = slices.Clone(c.Env)
	for i, e := range c.Env {
		name, value, _ := strings.Cut(e, "=")
		parts := strings.Split(value, ":")
		for j, part := range parts {
			if path.IsAbs(part) {
				parts[j], _ = a.host(part)
			}
		}
		c.Env[i] = name + "=" + strings.Join(parts, ":")
	}
	return c
}

// examplePrivate stands for a private directory where only refusals are asked for.
const examplePrivate = "/run/carrel-private"

func translated(p *Plan) *alonePlan {
	q := *p
	if q.Private == "" {
		q.Private = examplePrivate
	}
	return alone(&q)
}

func keptInWritable(_ *policy.Effective, p *Plan) string {
	return prefixed("below what is written: ", translated(p).kept)
}

func shownElsewhere(_ *policy.Effective, p *Plan) string {
	return prefixed("at another place: ", translated(p).moved)
}

func prefixed(what, subject string) string {
	if subject == "" {
		return ""
	}
	return what + subject
}

func decidedReads(_ *policy.Effective, p *Plan) string { return when(p.Reads, "what a pattern denies") }

func sharedNetwork(pol *policy.Effective, _ *Plan) string {
	return when(pol.Network != policy.NetClosed && pol.Network != policy.NetOpen, string(pol.Network))
}

func socketOfHost(pol *policy.Effective, _ *Plan) string {
	if len(pol.UnixSockets) == 0 {
		return ""
	}
	return prefixed("socket ", pol.UnixSockets[0].V)
}

// nestedAsked finds a level that somebody wrote down: the default may be less.
func nestedAsked(pol *policy.Effective, _ *Plan) string {
	return when(pol.Nested == policy.NestedFull || nestedWritten(pol) && pol.Nested != policy.NestedNone, string(pol.Nested))
}

// nestedKept finds a level that was written down, and that keeps something from commands.
func nestedKept(pol *policy.Effective, _ *Plan) string {
	return when(nestedWritten(pol) && pol.Nested != policy.NestedFull, string(pol.Nested))
}

func nestedWritten(pol *policy.Effective) bool {
	return slices.ContainsFunc(pol.Reasons, func(r policy.Reason) bool {
		return r.Dimension == policy.DimNested && r.Source.Layer != policy.LayerDefault
	})
}

func anyDisplay(pol *policy.Effective, _ *Plan) string {
	return when(pol.Display != policy.DisplayNone, string(pol.Display))
}

func countedProcesses(_ *policy.Effective, p *Plan) string {
	return when(p.NProc > 0, "limit of processes")
}
