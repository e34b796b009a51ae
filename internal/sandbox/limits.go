package sandbox

import "carrel/internal/policy"

// Much that the kernel counts, it counts for a user, whichever namespaces that
// user is in: whoever takes all of it inside takes it from the user's programs
// outside and from the next workspace, which then could not start, or not watch
// its masks. So a workspace gets a part.
const (
	nestedNamespaces = 1000 // of each kind; browsers and sandboxes make some dozens
	inotifyInstances = 32   // where nobody knows the user's: a quarter of the kernel's default
)

// The part of a limit that a workspace may use up: one of so many.
const (
	instancesPart = 4
	watchesPart   = 2
)

// SignalsPart is that of RLIMIT_SIGPENDING and RLIMIT_MSGQUEUE, which the stage
// reads for itself.
const SignalsPart = 8

// namespaceKinds are those that one at most is needed of.
var namespaceKinds = []string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"}

// userLimits are the limits of the workspace's user namespace. Where a level
// forbids namespaces, the first limit does.
func (c *compiler) userLimits() []UserLimit {
	var out []UserLimit
	kinds := namespaceKinds
	switch c.p.Nested {
	case policy.NestedNone: // and without one of users there is none of any kind
		out, kinds = []UserLimit{{"max_user_namespaces", 0}}, nil
	case policy.NestedUserns:
		out = []UserLimit{{"max_mnt_namespaces", 0}}
	case policy.NestedFull:
		if c.in.UID == 0 {
			// Whoever has a control group namespace and mounts may mount the machine's
			// control groups, whose files are uid 0's.
			out = []UserLimit{{"max_cgroup_namespaces", 0}}
		}
	}
	for _, kind := range kinds {
		if name := "max_" + kind + "_namespaces"; len(out) == 0 || out[0].Name != name {
			out = append(out, UserLimit{name, nestedNamespaces})
		}
	}
	instances := uint64(inotifyInstances)
	if n := c.in.Inotify.Instances; n > 0 {
		instances = max(1, n/instancesPart)
	}
	out = append(out, UserLimit{"max_inotify_instances", instances})
	if n := c.in.Inotify.Watches; n > 0 {
		out = append(out, UserLimit{"max_inotify_watches", max(1, n/watchesPart)})
	}
	return out
}

// Inotify is what the user may use of inotify(7); 0 where that is not known.
type Inotify struct{ Instances, Watches uint64 }
