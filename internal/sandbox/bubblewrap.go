package sandbox

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// InsideArg is the stage's first argument where bubblewrap has made the mounts;
// the signals follow that were kept from bubblewrap and are to be unblocked.
const InsideArg = "inside"

// insidePath is the stage's name inside bubblewrap's walls, which sets argv[0].
const insidePath = "/run/carrel/" + StageArg0

// IsStage says whether argv[0] is the stage's.
func IsStage(argv0 string) bool {
	return argv0 == StageArg0 || argv0 == insidePath || argv0 == ContainerStage
}

// Bounds of bubblewrap's own, with room for what comes beside the mounts.
const (
	bwrapArguments   = 9000 - 50
	bwrapDescriptors = 900 // of 1,024, which is the usual limit
)

// bwrapDataFD is the first descriptor of generated contents; the control socket,
// the arguments and the leash come before.
const bwrapDataFD = ControlFD + 3

// bwrapPlan is a plan in bubblewrap's words.
type bwrapPlan struct {
	args []string
	data [][]byte // by descriptor, from bwrapDataFD on; nil for empty
	done []Mount  // the steps that args carry out, for the stage to check
	// overlays says that a cache is not copy-on-write.
	overlays bool

	look   looker
	behind []behind
}

// place is what is at a host path; the zero value is nothing.
type place struct {
	there    bool
	dev, ino uint64
}

// looker tells what is at a host path. An error is one that a step which may be
// left out does not survive either: a link on the way was not there before.
type looker func(host string) (place, error)

// behind is what lies at a guest path by the steps so far: a host path, or ""
// for a file system in memory.
type behind struct{ target, host string }

// What --dev makes by itself.
var (
	bwrapNodes = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	bwrapLinks = []string{"/dev/fd", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/ptmx"}
)

// bubblewrap translates the mounts of p. bubblewrap makes a mount point wherever
// there is none, on the host's file systems too: so look tells what is there,
// and a step without a place to go is left out or an error, as in the stage.
func bubblewrap(p *Plan, look looker) (*bwrapPlan, error) {
	b := &bwrapPlan{look: look}
	// "try", as a setuid bubblewrap does without on systems that have none. There
	// is no --die-with-parent: see Walls.tie.
	b.add("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup", "--as-pid-1", "--chdir", "/")
	if p.NewNet {
		b.add("--unshare-net")
	}
	for i := range p.Mounts {
		if err := b.step(p.Mounts[i]); err != nil {
			return nil, err
		}
	}
	b.freeze(Mount{Kind: Freeze, Target: "/run"})
	b.freeze(Mount{Kind: Freeze, Target: "/"})
	return b, nil
}

func (b *bwrapPlan) add(args ...string) { b.args = append(b.args, args...) }

// did remembers a step for the check, and what is at its target from now on.
func (b *bwrapPlan) did(m Mount, host string) {
	m.Optional, m.Data = false, slices.Clone(m.Data)
	b.done = append(b.done, m)
	b.behind = append(b.behind, behind{m.Target, host})
}

func (b *bwrapPlan) step(m Mount) error {
	switch m.Kind {
	case MountProc, MountTmpfs:
		return b.fresh(m)
	case MountPts:
		if path.Dir(m.Target) != "/dev" {
			return bwrapCannot(m)
		}
	case MountDevice:
		return b.device(m)
	case MountBind, MountOverlay, MountSelf:
		return b.bind(m)
	case MountMask, MountData:
		return b.cover(m)
	case WriteFile, MakeDir, MakeSymlink:
		return b.make(m)
	case Freeze:
		b.freeze(m)
	default:
		return bwrapCannot(m)
	}
	return nil
}

func bwrapCannot(m Mount) error {
	return &SetupError{Step: "telling bubblewrap what to mount", Path: m.Target, Err: fmt.Sprintf("it has nothing for step %d", m.Kind)}
}

// fresh mounts a file system of the workspace's own.
func (b *bwrapPlan) fresh(m Mount) error {
	if ok, err := b.hasPlace(m); !ok {
		return err
	}
	switch {
	case m.Kind == MountProc:
		b.add("--proc", m.Target)
	case m.Target == "/dev":
		b.add("--dev", m.Target)
	default:
		b.add("--perms", octal(m.Perm), "--tmpfs", m.Target)
	}
	b.did(m, "")
	if m.Target == path.Dir(path.Dir(insidePath)) {
		own := path.Dir(insidePath)
		b.add("--perms", "0755", "--tmpfs", own, "--symlink", strings.TrimPrefix(SelfPath, own+"/"), insidePath)
		b.did(Mount{Kind: MountTmpfs, Target: own, Perm: 0o755, Dir: true}, "")
	}
	return nil
}

// device mounts what is not there by --dev. It can be written, so that only the
// caller's own terminal is mounted so: its descriptors say as much.
func (b *bwrapPlan) device(m Mount) error {
	if slices.Contains(bwrapNodes, m.Target) && m.Source == m.Target {
		return nil
	}
	if at, err := b.look(m.Source); err != nil || !at.there {
		return missing(m, err)
	}
	if ok, err := b.hasPlace(m); !ok {
		return err
	}
	b.add("--dev-bind", m.Source, m.Target)
	b.did(m, m.Source)
	return nil
}

func (b *bwrapPlan) bind(m Mount) error {
	if ok, err := b.hasPlace(m); !ok {
		return err
	}
	switch m.Kind {
	case MountOverlay:
		b.overlays = true
		if m.Spare == "" {
			m.ReadOnly = true
		} else {
			m.Source = m.Spare
		}
	case MountSelf:
		if m.Source, _ = b.hostOf(m.Target); m.Source == "" {
			return missing(m, nil) // in memory there is nothing yet
		}
	}
	at, err := b.look(m.Source)
	if err != nil || !at.there {
		return missing(m, err)
	}
	if m.Kind != MountBind || m.Ino == 0 {
		m.Dev, m.Ino = at.dev, at.ino
	}
	m.Kind = MountBind
	b.add(bindOption(m.ReadOnly), m.Source, m.Target)
	b.did(m, m.Source)
	return nil
}

func bindOption(readOnly bool) string {
	if readOnly {
		return "--ro-bind"
	}
	return "--bind"
}

// cover lays a generated object over what is there.
func (b *bwrapPlan) cover(m Mount) error {
	if ok, err := b.hasPlace(m); !ok {
		return err
	}
	if m.Kind == MountMask && m.Dir {
		b.add("--perms", "0000", "--tmpfs", m.Target, "--remount-ro", m.Target)
	} else {
		b.add("--perms", octal(m.Perm), "--ro-bind-data", b.fd(m.Data), m.Target)
	}
	b.did(m, "")
	return nil
}

// make creates something in memory, and nothing on the host.
func (b *bwrapPlan) make(m Mount) error {
	if m.Kind == MakeSymlink && slices.Contains(bwrapLinks, m.Target) {
		return nil
	}
	if host, _ := b.hostOf(path.Dir(m.Target)); host != "" {
		return missing(m, nil)
	}
	switch m.Kind {
	case WriteFile:
		b.add("--perms", octal(m.Perm), "--file", b.fd(m.Data), m.Target)
	case MakeDir:
		b.add("--perms", octal(m.Perm), "--dir", m.Target)
	case MakeSymlink:
		b.add("--symlink", m.Source, m.Target)
	}
	return nil
}

func (b *bwrapPlan) freeze(m Mount) {
	if m.Perm != 0 {
		b.add("--chmod", octal(m.Perm), m.Target)
	}
	b.add("--remount-ro", m.Target)
	b.done = append(b.done, m)
}

func (b *bwrapPlan) fd(data []byte) string {
	b.data = append(b.data, data)
	return strconv.Itoa(bwrapDataFD + len(b.data) - 1)
}

// hasPlace says whether the target is there, or would be made in memory.
func (b *bwrapPlan) hasPlace(m Mount) (bool, error) {
	host, _ := b.hostOf(m.Target)
	if host == "" {
		return true, nil
	}
	if at, err := b.look(host); err != nil || !at.there {
		return false, missing(m, err)
	}
	return true, nil
}

// missing is what the stage finds where a source or a target is not there.
func missing(m Mount, err error) error {
	var n syscall.Errno
	switch {
	case errors.As(err, &n):
		return &SetupError{Step: "opening", Path: m.Target, Err: n.Error(), Code: int(n)}
	case err != nil:
		return &SetupError{Step: "opening", Path: m.Target, Err: err.Error()}
	case m.Optional:
		return nil
	}
	return &SetupError{Step: "opening", Path: m.Target, Err: syscall.ENOENT.Error(), Code: int(syscall.ENOENT)}
}

// hostOf gives the host path behind a guest path, "" for one in memory, and the
// step's target that decides it.
func (b *bwrapPlan) hostOf(guest string) (host, by string) {
	for _, at := range b.behind {
		if pathname.Within(guest, at.target) && len(at.target) >= len(by) {
			by, host = at.target, at.host
			if host != "" {
				host = path.Join(host, strings.TrimPrefix(guest, at.target))
			}
		}
	}
	return host, by
}

func octal(perm uint32) string { return fmt.Sprintf("%04o", perm) }

// everywhere takes every place as there: what a plan can need at most.
func everywhere(string) (place, error) { return place{there: true}, nil }

func tooManyArguments(_ *policy.Effective, p *Plan) string {
	b, err := bubblewrap(p, everywhere)
	if err != nil || len(b.args) <= bwrapArguments {
		return ""
	}
	return fmt.Sprintf("%d arguments", len(b.args))
}

func tooManyDescriptors(_ *policy.Effective, p *Plan) string {
	b, err := bubblewrap(p, everywhere)
	if err != nil || len(b.data) <= bwrapDescriptors {
		return ""
	}
	return fmt.Sprintf("%d generated or masked files", len(b.data))
}
