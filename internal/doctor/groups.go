package doctor

import (
	"fmt"
	"strings"
	"syscall"
)

// cgroups are asked for by --memory, and by --pids for root, only.
func (p *patient) cgroups() Check {
	c := Check{ID: "cgroups", Name: "control groups", Status: OK}
	own := p.hierarchy()
	c.Found = own.name + ": memory and processes can be limited"
	var refused []string
	var first error
	for _, controller := range []string{"memory", "pids"} {
		err := p.Cgroup(controller)
		switch {
		case err == nil:
			continue
		case first == nil:
			first = err
		}
		refused = append(refused, fmt.Sprintf("%s: %v", controller, err))
	}
	if first == nil {
		return c
	}
	c = c.refused(Weak, first, "--memory is refused, and --pids for root; everything else works")
	c.Found = own.name + "; " + strings.Join(refused, "; ")
	return c.with(p.groupRemedy(own, errnoOf(first)))
}

// groupRemedy says what would let this user make groups, by the kernel's answer.
func (m *Machine) groupRemedy(own hierarchy, errno syscall.Errno) remedy {
	switch {
	case m.nested():
		return remedy{cause: CauseNested, fix: "give the limits to the outer workspace"}
	case own.version == 0:
		return remedy{cause: CauseNoGroups, fix: "mount them, or use a kernel with CONFIG_MEMCG=y and CONFIG_CGROUP_PIDS=y", commands: []string{"sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup"}}
	case errno == syscall.EROFS && m.container() != "":
		return remedy{cause: CauseGroupsRO, fix: "the container has them read-only: give the limits to the container itself (docker run --memory 4g --pids-limit 2000)"}
	case errno == syscall.EROFS:
		return remedy{cause: CauseGroupsRO, fix: "they are mounted read-only: mount them read-write", commands: []string{remount(m.mounts(), own.place(), "rw")}}
	case errno == syscall.ENOENT || errno == 0:
		return remedy{cause: CauseNoGroups, fix: "this hierarchy has no such controller, or is not mounted at /sys/fs/cgroup (see /proc/cgroups; boot with cgroup_enable=memory where it is off)"}
	case own.version == 1:
		return m.delegateV1(own)
	case m.Exists("/run/systemd/system"):
		cause := CauseGroups
		if errno == syscall.EBUSY { // version 2 wants processes in the leaves only
			cause = CauseGroupBusy
		}
		return remedy{cause: cause, fix: "limit the shell that you start carrel from, and leave out --memory and --pids", commands: []string{"systemd-run --user --scope -p MemoryMax=4G -p TasksMax=2000 -- $SHELL"}}
	case errno == syscall.EBUSY:
		return remedy{cause: CauseGroupBusy, fix: "this group has processes of its own, so it can have no groups with limits: as root, write memory.max and pids.max of this group instead (cat /proc/self/cgroup), and leave out --memory and --pids"}
	}
	return remedy{cause: CauseGroups, fix: "they belong to root here: as root, make a group below /sys/fs/cgroup, write its memory.max and pids.max, start the shell in it, and leave out --memory and --pids"}
}

// delegateV1 makes a group of this user's below each controller's, and puts the
// shell into it.
func (m *Machine) delegateV1(own hierarchy) remedy {
	r := remedy{cause: CauseGroups, fix: "they belong to root here: make groups of this user's, and start carrel from a shell in them"}
	for _, controller := range []string{"memory", "pids"} {
		dir := quoted(fmt.Sprintf("/sys/fs/cgroup/%s%s/user-%d", controller, strings.TrimSuffix(own.paths[controller], "/"), m.UID))
		r.commands = append(r.commands,
			fmt.Sprintf("sudo mkdir -p %s && sudo chown -R %d %s", dir, m.UID, dir),
			fmt.Sprintf("echo $$ | sudo tee %s/cgroup.procs", dir))
	}
	return r
}

// hierarchy is which control groups we are in.
type hierarchy struct {
	version int // 0 for none
	name    string
	paths   map[string]string // by controller, version 1 only
}

func (m *Machine) hierarchy() hierarchy {
	text, err := m.Read("/proc/self/cgroup")
	if err != nil || strings.TrimSpace(text) == "" {
		return hierarchy{name: "no control groups"}
	}
	h := hierarchy{version: 2, paths: make(map[string]string)}
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller == "memory" || controller == "pids" {
				h.version, h.paths[controller] = 1, parts[2]
			}
		}
	}
	h.name = fmt.Sprintf("cgroup v%d", h.version)
	if controllers, err := m.Read("/sys/fs/cgroup/cgroup.controllers"); err == nil && h.version == 2 {
		h.name += " (controllers: " + strings.TrimSpace(controllers) + ")"
	}
	return h
}

// place is where memory is limited.
func (h hierarchy) place() string {
	if h.version == 1 {
		return "/sys/fs/cgroup/memory"
	}
	return "/sys/fs/cgroup"
}
