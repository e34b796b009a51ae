package doctor

import (
	"fmt"
	"strings"
)

// nested says whether we run behind carrel's own walls.
func (p *patient) nested() bool { return p.Getenv("CARREL") == "1" }

// container names what we run in, "" for none that is known.
func (p *patient) container() string {
	switch {
	case p.Exists("/run/.containerenv"):
		return "podman"
	case p.Getenv("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes"
	case p.Exists("/.dockerenv"):
		return "docker"
	}
	if kind, err := p.Read("/run/systemd/container"); err == nil {
		return strings.TrimSpace(kind)
	}
	return p.Getenv("container")
}

// filtered says whether a system call filter is on us already.
func (p *patient) filtered() bool {
	status, err := p.Read("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(status) {
		if mode, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(mode) == "2"
		}
	}
	return false
}

// containerFix is what lets walls be built inside a container. The container
// itself becomes weaker by it, which is said.
func (p *patient) containerFix() string {
	const weaker = "\n(these flags open the container's own walls further)"
	switch p.container() {
	case "docker":
		return "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined ..." + weaker
	case "podman":
		return "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL --security-opt label=disable ..." + weaker
	case "kubernetes":
		return "in the pod: securityContext: {procMount: Unmasked, seccompProfile: {type: Unconfined}} with hostUsers: false" + weaker
	case "lxc", "lxc-libvirt":
		return "in the container's configuration: security.nesting=true (LXD, Incus) or lxc.include = /usr/share/lxc/config/nesting.conf" + weaker
	}
	return "let the container make user namespaces and mount procfs: no seccomp profile, nothing mounted over /proc" + weaker
}

func (p *patient) surroundings() Check {
	c := Check{Name: "surroundings", Status: OK, Found: "no container"}
	switch kind := p.container(); {
	case p.nested():
		c.Found = "behind carrel's own walls"
	case kind != "":
		c.Found = kind + " container"
	case strings.Contains(strings.ToLower(p.Release), "microsoft"):
		c.Found = "Windows Subsystem for Linux"
	}
	if p.filtered() {
		c.Found += ", under a system call filter"
	}
	return c
}

// cgroups are asked for by --memory, and by --pids for root, only.
func (p *patient) cgroups() Check {
	c := Check{Name: "control groups", Status: OK, Found: p.hierarchy() + ": memory and processes can be limited"}
	var refused []string
	for _, controller := range []string{"memory", "pids"} {
		if err := p.Cgroup(controller); err != nil {
			refused = append(refused, fmt.Sprintf("%s: %v", controller, err))
		}
	}
	if len(refused) == 0 {
		return c
	}
	c.Status, c.Found = Weak, p.hierarchy()+"; "+strings.Join(refused, "; ")
	c.Means = "--memory is refused, and --pids for root; everything else works"
	switch {
	case p.nested():
		c.Fix = "give the limits to the outer workspace"
	case p.Exists("/run/systemd/system"):
		c.Fix = "systemd-run --user --scope -p Delegate=yes carrel run ..."
	default:
		c.Fix = "as root: make a group below /sys/fs/cgroup, give it to this user, and start the shell in it"
	}
	return c
}

func (p *patient) hierarchy() string {
	own, err := p.Read("/proc/self/cgroup")
	if err != nil || strings.TrimSpace(own) == "" {
		return "no control groups"
	}
	for line := range strings.Lines(own) {
		if !strings.HasPrefix(line, "0::") && strings.Contains(line, "memory") {
			return "cgroup v1"
		}
	}
	return "cgroup v2"
}

func (p *patient) opener() Check {
	if at := p.Find("xdg-open"); at != "" {
		return Check{Name: "links", Status: OK, Found: at + ": open_urls: browser can open them outside"}
	}
	return Check{Name: "links", Status: Weak, Found: "no /usr/bin/xdg-open",
		Means: "links that programs inside want opened are shown, and open_urls: browser opens none", Fix: "install xdg-utils"}
}

func (p *patient) virtualDisplay() Check {
	c := Check{Name: "virtual display", Status: OK, Found: "Xvfb and x11vnc"}
	var lacking []string
	for _, program := range []string{"Xvfb", "x11vnc"} {
		if p.Find(program) == "" {
			lacking = append(lacking, program)
		}
	}
	if len(lacking) > 0 {
		c.Status, c.Found = Missing, "no "+strings.Join(lacking, ", no ")
		c.Means = "not needed yet: --display virtual is still to come"
		c.Fix = "install xvfb and x11vnc when you want it"
	}
	return c
}
