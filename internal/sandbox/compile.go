package sandbox

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// Kind is what is at a host path.
type Kind uint8

const (
	KindNone Kind = iota // nothing, or nothing that we may see
	KindFile
	KindDir
	KindOther // socket, FIFO, device
)

// Facts tells Compile of the machine. Resolve gives the canonical form of a
// host path and what is there; for a path that does not exist, KindNone.
type Facts interface {
	Resolve(path string) (canonical string, kind Kind)
	// Identity gives device and inode of a canonical path as they were when it
	// was resolved; zeros when it was not.
	Identity(path string) (dev, ino uint64)
}

// Overlay is a host directory that commands may change without the host seeing it.
type Overlay struct {
	Path        string // guest and host path
	Lower       string // directory at or above Path that the overlay covers
	Upper, Work string // host directories, the supervisor makes them
	Private     bool   // never show the host's content: Upper itself is bound
	Spare       string // host directory to bind where no overlay can be made; "" means Path itself, read-only
	Kept        bool   // see [MountOverlay]
	Reason      string
}

// Input is all that a plan is made of, beside the machine's facts.
type Input struct {
	Policy   *policy.Effective
	Engine   Engine
	UID, GID uint32

	// Expanded are paths that were found on disk: what globs match now, and
	// protected names. Nobody wrote them down, so none of them may lead
	// anywhere: a grant among them that has become a symlink is dropped.
	Expanded []policy.Rule
	// Pins are directories below a writable root that must keep their names.
	Pins []string
	// Binds are grants that are none of the file rules': agent state, sockets.
	Binds []Mount
	// Files replace what is at their path; Symlinks and Dirs are made in memory.
	Files    []Mount // MountData or WriteFile; Compile picks by what lies below
	Symlinks []Mount
	Overlays []Overlay

	// HostPorts are ports of the host's loopback to be reached inside at the same
	// port.
	HostPorts []uint16

	// Sockets are guest paths of Unix sockets to listen at; they follow all other
	// listeners.
	Sockets []string
	Listen  []string // further addresses to listen at over TCP

	Self     string // host path of our own executable
	Terminal string // host path of the controlling terminal's device, or ""
	Seccomp  []byte
	Scopes   bool // the kernel has Landlock scopes
	Landlock bool // the kernel has Landlock file rules
	Limited  bool // only Execute, guest paths of files, can be started; needs Landlock
	Execute  []string
	Broker   bool // what file rules let be written is changed by a broker
	Inotify  Inotify
	Reads    bool // and opens for reading there are decided by it
	Draft    bool // what file rules let be written is changed in overlays that are kept, and nowhere else
	Command  Command

	HighestPID uint64 // see [Plan]
}

// SelfPath is where our own executable is inside.
const SelfPath = "/run/carrel/bin/carrel"

// maxMounts keeps a plan below the kernel's default limit for a mount
// namespace (fs.mount-max, 100,000) with room for recursive binds.
const maxMounts = 80_000

// Compile makes the plan for a decided policy. It fails when the policy asks
// for something that mounts cannot hold, and names the rule.
func Compile(in Input, facts Facts) (*Plan, error) {
	c := &compiler{in: in, facts: facts, p: in.Policy, access: make(map[string]policy.Access), memory: make(map[string]bool)}
	c.imageSteps()
	c.skeleton()
	if err := c.rules(); err != nil {
		return nil, err
	}
	c.additions()
	c.order()
	if len(c.mounts) > maxMounts {
		return nil, fmt.Errorf("the policy needs %d mounts, more than %d; use fewer --deny and --protect matches", len(c.mounts), maxMounts)
	}
	return c.plan(), nil
}

type compiler struct {
	in     Input
	facts  Facts
	p      *policy.Effective
	mounts []Mount
	tail   []Mount // freezes: after everything
	access map[string]policy.Access
	memory map[string]bool // private file systems by target
	// literal are the paths that a rule names, not a glob's matches: such a rule
	// has to hold at this path tomorrow as well.
	literal map[string]bool
	write   []string
	roots   []string // written by a rule, not private
}

func (c *compiler) add(m Mount) {
	if m.Kind == MountBind {
		m.Dev, m.Ino = c.facts.Identity(m.Source)
	}
	if m.Kind == MountTmpfs {
		c.memory[m.Target] = true
	}
	c.mounts = append(c.mounts, m)
}

// DeviceNodes are the names in /dev of the devices that every workspace has.
var DeviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}

// skeleton is what every workspace has, whatever its policy says.
func (c *compiler) skeleton() {
	runtime := fmt.Sprintf("/run/user/%d", c.in.UID)
	c.add(Mount{Kind: MountProc, Target: "/proc", Dir: true, Optional: true, Reason: "own pid namespace"})
	c.procMasks()
	c.add(Mount{Kind: MountTmpfs, Target: "/dev", Perm: 0o755, Dir: true, Reason: "minimal devices"})
	for _, d := range DeviceNodes {
		c.add(Mount{Kind: MountDevice, Target: "/dev/" + d, Source: "/dev/" + d, Optional: d == "tty", Reason: "minimal devices"})
	}
	for name, to := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		c.add(Mount{Kind: MakeSymlink, Target: "/dev/" + name, Source: to})
	}
	c.add(Mount{Kind: MountPts, Target: "/dev/pts", Dir: true, Reason: "private pseudoterminals"})
	c.private("/dev/shm", 0o1777, "private shared memory")
	if c.in.Terminal != "" {
		c.add(Mount{Kind: MountDevice, Target: ConsolePath, Source: c.in.Terminal, Optional: true, Reason: "the terminal that started it"})
	}
	c.tail = append(c.tail, Mount{Kind: Freeze, Target: "/dev"})
	c.add(Mount{Kind: MountTmpfs, Target: "/run", Perm: 0o755, Dir: true, Reason: "no host sockets"})
	c.private(runtime, 0o700, "private XDG_RUNTIME_DIR")
	c.add(Mount{Kind: MountBind, Target: SelfPath, Source: c.in.Self, ReadOnly: true, Reason: "link and helper commands"})
	c.private("/var/tmp", 0o1777, "private temporary files")
	c.add(Mount{Kind: MakeSymlink, Target: "/var/run", Source: "/run", Optional: true}) // where /var is the host's, so is the link
	c.write = append(c.write, "/dev", "/proc")
}

// procMasks matter where the workspace runs as uid 0: sysctl files check the
// uid, not a capability. For everybody else they are the system's, and leaving
// procfs whole lets a nested one be mounted at full nesting.
func (c *compiler) procMasks() {
	if c.in.UID != 0 {
		return
	}
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"} {
		c.add(Mount{Kind: MountSelf, Target: "/proc/" + name, ReadOnly: true, Optional: true, Reason: "kernel settings"})
	}
	for _, name := range []string{"kcore", "keys", "timer_list", "kmsg", "kpagecount", "kpageflags", "kpagecgroup", "slabinfo", "vmallocinfo", "pagetypeinfo", "sched_debug"} {
		c.add(Mount{Kind: MountMask, Target: "/proc/" + name, Optional: true, Reason: "kernel memory"})
	}
}

// private adds a memory file system that commands may write.
func (c *compiler) private(target string, perm uint32, reason string) {
	c.add(Mount{Kind: MountTmpfs, Target: target, Perm: perm, Dir: true, Reason: reason})
	c.write = append(c.write, target)
}

// rules turns file rules into mounts, shallow first.
func (c *compiler) rules() error {
	all := slices.Concat(c.p.Rules, c.in.Expanded)
	c.literal = make(map[string]bool)
	for _, r := range c.p.Rules {
		c.literal[r.Path] = true
	}
	slices.SortStableFunc(all, func(a, b policy.Rule) int {
		return cmp.Or(depth(a.Path)-depth(b.Path), strings.Compare(a.Path, b.Path), int(a.Access)-int(b.Access))
	})
	c.privateHome(all)
	for _, r := range all {
		if r.Path == "" {
			continue // a glob: its matches are in Expanded
		}
		if err := c.rule(r); err != nil {
			return err
		}
	}
	return nil
}

// privateHome gives an empty home and /tmp where no rule grants the real ones.
func (c *compiler) privateHome(all []policy.Rule) {
	granted := func(dir string, byDefault bool) bool {
		return slices.ContainsFunc(all, func(r policy.Rule) bool {
			return r.Path == dir && (r.Access == policy.Read || r.Access == policy.Write) &&
				(byDefault || r.Source.Layer != policy.LayerDefault)
		})
	}
	if home := c.p.Scope.Home; home != "" && home != "/" && !granted(home, true) {
		c.private(home, 0o700, "private home")
		c.access[home] = policy.Unset // also where home lies below a private /tmp
	}
	// The default rule for /tmp means a private one; only an explicit rule
	// brings the host's in.
	if tmp := c.p.Scope.Tmp; tmp != "" && !granted(tmp, false) {
		c.private(tmp, 0o1777, "private temporary files")
		c.access[tmp] = policy.Write
	}
}

func (c *compiler) rule(r policy.Rule) error {
	if r.Path == c.p.Scope.Tmp && r.Source.Layer == policy.LayerDefault {
		return nil // privateHome has seen to it
	}
	real, kind := c.facts.Resolve(r.Path)
	around := c.around(r.Path)
	if r.Access == policy.Deny {
		c.deny(r, real, kind, around)
		return nil
	}
	if c.p.Lookup(r.Path).Access == policy.Deny {
		return nil // a deny pattern is not opened again by a rule below it
	}
	if kind == KindNone {
		if r.Source.Layer == policy.LayerCommandLine && c.literal[r.Path] {
			return fmt.Errorf("%s: %q does not exist or cannot be seen; name an existing path", r.Source.Text, r.Path)
		}
		return nil
	}
	if kind == KindOther {
		return fmt.Errorf("%s: %q is neither a file nor a directory; sockets and devices are not granted by file rules", sourceName(r.Source), r.Path)
	}
	if real != r.Path && !c.literal[r.Path] {
		return nil
	}
	if real != r.Path {
		c.add(Mount{Kind: MakeSymlink, Target: r.Path, Source: real, Optional: true, Reason: reason(r)})
		if c.around(real) >= r.Access && !c.covered(real) {
			return nil
		}
	}
	if c.overlaid(real) && (c.literal[r.Path] || c.in.Draft && r.Access == policy.Write) {
		c.access[real] = policy.Write // additions lays the overlay here
		return nil
	}
	c.access[real] = r.Access
	if around == r.Access && !c.covered(real) && !slices.Contains(c.in.Pins, real) {
		return nil // its surroundings give the same already
	}
	m := Mount{Kind: MountBind, Target: real, Source: real, ReadOnly: r.Access == policy.Read, Dir: kind == KindDir,
		Optional: !c.literal[r.Path], Reason: reason(r)}
	if c.in.Draft && r.Access == policy.Write && !c.layered(&m) {
		return fmt.Errorf("%s: changes of %q cannot be kept for review: no layer lies over it", sourceName(r.Source), real)
	}
	c.add(m)
	if r.Access == policy.Read {
		c.pinAbove(r, real)
	}
	if r.Access == policy.Write {
		c.write = append(c.write, real)
		c.roots = append(c.roots, real)
	}
	return nil
}

// deny masks what exists and would be visible. A denied directory with grants
// below it becomes an empty memory directory that one can pass but not list.
func (c *compiler) deny(r policy.Rule, real string, kind Kind, around policy.Access) {
	if a := c.access[r.Path]; a == policy.Read || a == policy.Write {
		// What a glob denies is not shown by a rule for the same path.
		c.mounts = slices.DeleteFunc(c.mounts, func(m Mount) bool { return m.Target == real })
		c.write = slices.DeleteFunc(c.write, func(w string) bool { return w == real })
	}
	c.access[r.Path] = policy.Deny
	if kind == KindNone || r.Path == "/" {
		return
	}
	// What is not visible, or lies in what is masked, has no place for a mask.
	hidden := func(a policy.Access) bool { return a == policy.Unset || a == policy.Deny }
	if hidden(around) && hidden(c.around(real)) {
		return
	}
	if kind == KindDir && c.regranted(real) {
		c.add(Mount{Kind: MountTmpfs, Target: real, Perm: 0o711, Dir: true, Reason: reason(r)})
		c.tail = append(c.tail, Mount{Kind: Freeze, Target: real, Perm: 0o111})
		return
	}
	// What was found must still be there when its turn comes: a mask that finds
	// nothing would leave open what has only been renamed. In an overlay an
	// earlier run may have removed it for good.
	c.add(Mount{Kind: MountMask, Target: real, Dir: kind == KindDir, Optional: c.inOverlay(real), Reason: reason(r)})
	c.pinAbove(r, real)
}

// pinAbove keeps the directories between a narrower rule and the writable place
// around it from being renamed: the mount would move along, and another
// directory could take the name that the rule speaks of. A mount point cannot
// be renamed; its content can be worked with as before, but a rename across it
// gives EXDEV.
func (c *compiler) pinAbove(r policy.Rule, real string) {
	if r.Access == policy.Deny && !c.literal[r.Path] {
		return // wherever a pattern's match goes, its content stays hidden
	}
	for dir := path.Dir(real); dir != "/" && c.around(dir) == policy.Write; dir = path.Dir(dir) {
		if _, decided := c.access[dir]; decided {
			return
		}
		if !slices.Contains(c.in.Pins, dir) {
			c.in.Pins = append(c.in.Pins, dir)
		}
	}
}

// regranted says whether something below a denied directory is to be seen.
func (c *compiler) regranted(dir string) bool {
	below := func(m Mount) bool { return strings.HasPrefix(m.Target, dir+"/") }
	return slices.ContainsFunc(c.in.Files, below) || slices.ContainsFunc(c.in.Binds, below) ||
		slices.ContainsFunc(c.in.Overlays, func(o Overlay) bool { return strings.HasPrefix(o.Path, dir+"/") }) ||
		slices.ContainsFunc(c.p.Rules, func(r policy.Rule) bool {
			return r.Access != policy.Deny && strings.HasPrefix(r.Path, dir+"/") && c.p.Lookup(r.Path).Access != policy.Deny
		})
}

// around is the access that the nearest rule above p gives.
func (c *compiler) around(p string) policy.Access {
	for p != "/" {
		p = path.Dir(p)
		if a, ok := c.access[p]; ok {
			return a
		}
	}
	return policy.Unset
}

// covered says whether a private file system lies between p and the grant
// above it, so that p has to be bound again to be seen.
func (c *compiler) covered(p string) bool {
	for dir := path.Dir(p); dir != "/"; dir = path.Dir(dir) {
		if c.memory[dir] {
			return true
		}
		if _, ok := c.access[dir]; ok {
			return false
		}
	}
	return false
}

func (c *compiler) additions() {
	taken := make(map[string]bool, len(c.mounts))
	for i := range c.mounts {
		taken[c.mounts[i].Target] = true
	}
	for _, pin := range c.in.Pins {
		if !taken[pin] {
			taken[pin] = true
			c.add(Mount{Kind: MountSelf, Target: pin, Dir: true, Optional: true, ReadOnly: c.around(pin) == policy.Read, Reason: "keeps its name"})
		}
	}
	for _, o := range c.in.Overlays {
		m := Mount{Kind: MountOverlay, Target: o.Path, Source: o.Path, Lower: o.Lower, Upper: o.Upper, Work: o.Work, Spare: o.Spare,
			Kept: o.Kept, Dir: true, Reason: o.Reason}
		if o.Private {
			// Optional: where home is the host's own, read-only, there may be no
			// place to put it.
			m = Mount{Kind: MountBind, Target: o.Path, Source: o.Upper, Dir: true, Optional: true, Reason: o.Reason}
		}
		c.add(m)
		c.write = append(c.write, o.Path)
	}
	for _, b := range c.in.Binds {
		c.add(b)
		if !b.ReadOnly && b.Kind == MountBind {
			c.write = append(c.write, b.Target)
		}
	}
	for _, d := range c.p.Devices {
		c.add(Mount{Kind: MountDevice, Target: d.V, Source: d.V, Reason: "device granted by " + sourceName(d.Source)})
	}
	c.mounts = append(c.mounts, c.in.Symlinks...)
	c.mounts = append(c.mounts, c.in.Files...)
}

// order sorts by depth, keeping the given order among equals, so that nothing
// is mounted before what it lies in. Files and symlinks in memory follow the
// mounts of their depth, freezes come last.
func (c *compiler) order() {
	slices.SortStableFunc(c.mounts, func(a, b Mount) int {
		return cmp.Or(depth(a.Target)-depth(b.Target), strings.Compare(a.Target, b.Target))
	})
	for i := range c.mounts {
		m := &c.mounts[i]
		if m.Kind == MountData && !c.onHost(m.Target) && !c.inImage(m.Target) {
			m.Kind = WriteFile
		}
	}
	c.mounts = append(c.mounts, c.tail...)
}

// onHost says whether the target lies on a file system of the host inside the
// view, by the deepest mount above it.
func (c *compiler) onHost(target string) bool {
	for dir := path.Dir(target); dir != "/"; dir = path.Dir(dir) {
		for _, m := range c.mounts {
			if m.Target == dir {
				switch m.Kind {
				case MountTmpfs:
					return false
				case MountBind, MountOverlay, MountSelf:
					return true
				}
			}
		}
	}
	return false
}

func (c *compiler) plan() *Plan {
	p := &Plan{
		Engine: c.in.Engine, UID: c.in.UID, GID: c.in.GID,
		NewNet:   c.p.Network != policy.NetOpen,
		Loopback: c.p.Network == policy.NetLocal || c.p.Network == policy.NetFiltered,
		Pool:     c.p.Network == policy.NetFiltered,
		Mounts:   c.mounts,
		Seccomp:  c.in.Seccomp,
		NProc:    uint64(c.p.Resources.Pids),
		Command:  c.in.Command,

		HighestPID: c.in.HighestPID,
	}
	p.Listeners = c.listeners()
	p.Landlock = Landlock{Files: c.in.Landlock && c.p.Nested != policy.NestedFull, Scopes: c.in.Scopes}
	if c.in.Broker {
		p.Roots, p.Reads = Outermost(c.roots), c.in.Reads
		c.write = slices.DeleteFunc(c.write, func(w string) bool {
			return slices.ContainsFunc(p.Roots, func(r string) bool { return pathname.Within(w, r) })
		})
	}
	c.limit(p)
	if p.Landlock.Files {
		slices.Sort(c.write)
		p.Landlock.Write = slices.Compact(c.write)
	}
	p.UserLimits = c.userLimits()
	return p
}

// limit keeps everything from being started but what may be: by Landlock, and
// what commands can write holds no code at all unless something in it may run.
func (c *compiler) limit(p *Plan) {
	if !c.in.Limited {
		return
	}
	p.Landlock.Limited, p.Landlock.Execute = true, append(slices.Clone(c.in.Execute), SelfPath)
	for _, w := range slices.Concat(c.write, p.Roots) {
		holds := func(program string) bool { return pathname.Within(program, w) }
		if w != "/dev" && w != "/proc" && !slices.ContainsFunc(c.in.Execute, holds) {
			p.NoExec = append(p.NoExec, w)
		}
	}
	slices.Sort(p.NoExec)
	p.NoExec = slices.Compact(p.NoExec)
}

func depth(p string) int {
	if p == "/" {
		return 0
	}
	return strings.Count(p, "/")
}

func reason(r policy.Rule) string { return sourceName(r.Source) }

func sourceName(s policy.Source) string {
	switch {
	case s.File != "" && s.Line > 0:
		return fmt.Sprintf("%s:%d %s", s.File, s.Line, s.Text)
	case s.Text != "":
		return s.Text
	}
	return s.File
}
