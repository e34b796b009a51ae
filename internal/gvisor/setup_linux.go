package gvisor

import (
	"encoding/json"
	"slices"
	"strings"

	"carrel/internal/fuserelay"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
)

// prepareArg is the word by which carrel-gvisor prepares a sandbox, and then is runsc.
const prepareArg = "prepare"

// relayAt is where carrel-relay is in a sandbox.
const relayAt = "/.carrel-relay"

// ownDir is where the view has what runsc needs. In a sandbox it is covered.
const ownDir = "/sys"

// setup is what the program is told to prepare.
type setup struct {
	Plan   []byte // the view
	Served []fuserelay.Place
	Inodes []uint64        // of what is served, in this order
	Spec   json.RawMessage // of the sandbox, by the OCI runtime specification
	Starts int             // processes in the sandbox, each with three descriptors
}

// carrelDir has the workspace's own names and sockets, which carrel-relay makes in a sandbox.
const carrelDir = "/run/carrel"

// viewOf is the part of a plan that a sandbox's file system is: nothing that is served, and no
// kernel's own file systems but what runsc itself needs.
func viewOf(plan *sandbox.Plan, served []fuserelay.Place, relay sandbox.Mount) *sandbox.Plan {
	view := &sandbox.Plan{UID: plan.UID, GID: plan.GID}
	for _, m := range plan.Mounts {
		if !apart(m, served) && m.Kind != sandbox.MountPts && m.Target != sandbox.ConsolePath {
			view.Mounts = append(view.Mounts, m)
		}
	}
	relay.Kind, relay.Target, relay.ReadOnly = sandbox.MountBind, relayAt, true
	view.Mounts = append(view.Mounts, relay, sandbox.Mount{Kind: sandbox.MountTmpfs, Target: ownDir, Perm: 0o700, Dir: true})
	return view
}

// apart says whether a step of a plan is not of the view. A link to a program of this machine is, as to
// that of an agent, which is in no other directory of PATH.
func apart(m sandbox.Mount, served []fuserelay.Place) bool {
	own := pathname.Within(m.Target, carrelDir) && (m.Kind != sandbox.MakeSymlink || pathname.Within(m.Source, carrelDir))
	return own || pathname.Within(m.Target, ownDir) || strings.HasPrefix(m.Target, "/proc/") || inServed(m.Target, served)
}

func inServed(target string, served []fuserelay.Place) bool {
	return slices.ContainsFunc(served, func(p fuserelay.Place) bool { return pathname.Within(target, p.To) })
}

// writtenIn are the places of a view at which what is written reaches this machine.
func writtenIn(view *sandbox.Plan) (at []string) {
	for _, m := range view.Mounts {
		if m.Kind == sandbox.MountOverlay || m.Kind == sandbox.MountBind && !m.ReadOnly {
			at = append(at, m.Target)
		}
	}
	return at
}

// readIn are the places of a view that cannot be written. One that holds a private directory is covered
// with memory, as all else is that is not written.
func readIn(view *sandbox.Plan) []string {
	var at []string
	for _, m := range view.Mounts {
		private := func(p sandbox.Mount) bool { return p.Kind == sandbox.MountTmpfs && pathname.Within(p.Target, m.Target) }
		if m.Kind == sandbox.MountBind && m.ReadOnly && m.Target != relayAt && !slices.ContainsFunc(view.Mounts, private) {
			at = append(at, m.Target)
		}
	}
	return at
}

// capabilities are what the sandbox's first processes have over its kernel. Commands have none.
var capabilities = []string{
	"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_KILL", "CAP_CHOWN", "CAP_DAC_OVERRIDE",
	"CAP_SYS_PTRACE", "CAP_SYS_CHROOT",
	"CAP_SETFCAP", // it maps the user 0
}

// specOf describes a sandbox.
func specOf(hostname string, written, read []string) (json.RawMessage, error) {
	type object = map[string]any
	mounts := []object{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": ownDir, "type": "sysfs", "source": "sysfs", "options": []string{"nosuid", "noexec", "nodev", "ro"}},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
		{"destination": "/dev/pts", "type": "devpts", "source": "devpts"},
		{"destination": "/dev/shm", "type": "tmpfs", "source": "tmpfs", "options": []string{"nosuid", "nodev", "mode=1777"}},
	}
	show := func(at, access string) {
		mounts = append(mounts, object{"destination": at, "type": "bind", "source": at, "options": []string{"rbind", access, "nosuid", "nodev"}})
	}
	for _, at := range sandbox.Outermost(read) {
		show(at, "ro")
	}
	for _, at := range written {
		show(at, "rw")
	}
	own := object{"effective": capabilities, "permitted": capabilities, "bounding": capabilities}
	return json.Marshal(object{
		"ociVersion": "1.0.2",
		"process": object{
			"user": object{"uid": 0, "gid": 0}, "args": []string{relayAt, StartsArg}, "cwd": "/",
			"env": []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, "capabilities": own,
		},
		"root":     object{"path": "/"},
		"hostname": hostname,
		"mounts":   mounts,
		"linux":    object{"namespaces": []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}}},
	})
}
