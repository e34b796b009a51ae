package sandbox

import (
	"path"
	"slices"

	"carrel/internal/policy"
)

// OpenInput is all that a plan without walls is made of, beside the machine's facts.
type OpenInput struct {
	UID, GID uint32
	Pids     int64 // most processes and threads, 0 for no limit

	// Entries are what the host has in / and /run, but for what is in [Own].
	Entries []Entry
	// Roots are canonical paths whose changes a broker carries out; none: no broker.
	Roots []string
	// Hidden are directories of carrel's own, which exist.
	Hidden []string

	// Files replace files of the host; no link is at their path.
	Files []Mount

	Self    string   // host path of our own executable
	Helpers []string // names beside SelfPath that mean it, too
	Seccomp []byte
	Reads   bool // see [Plan]
	Command Command
}

// Entry is one name in a directory of the host.
type Entry struct {
	Path string
	Link string // the text of a symbolic link, "" for everything else
	Dir  bool
}

// Own are what a workspace without walls has of its own in / and /run: its processes
// have numbers of their own, and a broker and helper programs take a place.
var Own = []string{"/proc", "/run", path.Dir(path.Dir(SelfPath))}

// CompileOpen makes the plan of a workspace without walls. What is in sight is what
// the host has, to be read and changed as the user may. A mount namespace is there
// for the roots, which have to be read-only but for the broker, and to keep carrel's
// own files from being changed by accident.
func CompileOpen(in OpenInput, facts Facts) *Plan {
	p := &Plan{Engine: EngineNone, UID: in.UID, GID: in.GID, Seccomp: in.Seccomp, NProc: uint64(in.Pids), Reads: in.Reads, Command: in.Command}
	add := func(m Mount) { p.Mounts = append(p.Mounts, m) }
	add(Mount{Kind: MountProc, Target: "/proc", Dir: true, Optional: true, Reason: "own process numbers"})
	add(Mount{Kind: MountTmpfs, Target: "/run", Perm: 0o755, Dir: true, Reason: "room for " + path.Dir(path.Dir(SelfPath))})
	for _, e := range in.Entries {
		switch {
		case slices.Contains(Own, e.Path):
		case e.Link != "":
			add(Mount{Kind: MakeSymlink, Target: e.Path, Source: e.Link})
		default:
			add(Mount{Kind: MountHost, Target: e.Path, Source: e.Path, Dir: e.Dir, Optional: true, Reason: "the host's"})
		}
	}
	p.Mounts = append(p.Mounts, in.Files...)
	add(Mount{Kind: MountBind, Target: SelfPath, Source: in.Self, ReadOnly: true, Reason: "helper commands"})
	for _, name := range in.Helpers {
		add(Mount{Kind: MakeSymlink, Target: path.Join(path.Dir(SelfPath), name), Source: SelfPath})
	}
	p.Roots = Outermost(slices.Clone(in.Roots))
	for _, root := range p.Roots {
		_, kind := facts.Resolve(root)
		m := Mount{Kind: MountBind, Target: root, Source: root, Dir: kind == KindDir, Reason: "changes are recorded"}
		m.Dev, m.Ino = facts.Identity(root)
		add(m)
	}
	for _, dir := range Outermost(slices.Clone(in.Hidden)) {
		add(Mount{Kind: MountMask, Target: dir, Dir: true, Reason: "carrel's own files"})
	}
	return p
}

// openRoot finds the one place that no mount can be made of.
func openRoot(_ *policy.Effective, p *Plan) string {
	if slices.Contains(p.Roots, "/") {
		return "/"
	}
	return ""
}
