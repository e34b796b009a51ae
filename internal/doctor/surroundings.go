package doctor

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/incontainer"
)

// nested says whether we run behind carrel's own walls.
func (m *Machine) nested() bool { return m.Getenv("CARREL") == "1" }

func (m *Machine) nestedRemedy() remedy {
	return remedy{cause: CauseNested, fix: "start the outer workspace with --nested full --history off"}
}

func factsOf(m *Machine) incontainer.Facts {
	return incontainer.Facts{Getenv: m.Getenv, Read: m.Read, Exists: m.Exists, First: m.First}
}

// container names what we run in, "" for none that is known.
func (m *Machine) container() string { return factsOf(m).Kind() }

// wsl is the version of the Windows Subsystem for Linux that we run in, 0 for
// none. The first has no Linux kernel and says 4.4 for ever.
func (m *Machine) wsl() int {
	switch {
	case strings.HasPrefix(m.Release, "4.4.") && strings.HasSuffix(m.Release, "-Microsoft"):
		return 1
	case strings.Contains(m.Release, "microsoft-standard") || m.Exists("/proc/sys/fs/binfmt_misc/WSLInterop"):
		return 2
	}
	return 0
}

// gvisor says whether the kernel is gVisor's: it shows this version for ever.
func (m *Machine) gvisor() bool {
	text, err := m.Read("/proc/version")
	return err == nil && strings.HasPrefix(text, "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016")
}

// otherKernel is the remedy where the kernel is none, or not all of Linux.
func (m *Machine) otherKernel() (remedy, bool) {
	switch {
	case m.wsl() == 1:
		distro := m.Getenv("WSL_DISTRO_NAME")
		if distro == "" {
			distro = "DISTRIBUTION"
		}
		return remedy{cause: CauseWSL1, fix: "WSL 1 has no Linux kernel, so there are no walls to be had: turn it into WSL 2, in PowerShell: wsl --set-version " + quoted(distro) + " 2"}, true
	case m.gvisor():
		return remedy{cause: CauseGVisor, fix: "gVisor has no such call: start the container with Linux itself (docker run --runtime runc; in Kubernetes, without that RuntimeClass)"}, true
	}
	return remedy{}, false
}

// filtered says whether a system call filter is on us already.
func (m *Machine) filtered() bool {
	status, err := m.Read("/proc/self/status")
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

// containerRemedy is what lets walls be built inside a container. The container
// itself becomes weaker by it, which is said.
func (m *Machine) containerRemedy() remedy {
	return remedy{cause: CauseContainer, fix: incontainer.Opened(m.container())}
}

func (p *patient) surroundings() Check {
	c := Check{ID: "surroundings", Name: "surroundings", Status: OK, Found: "no container"}
	switch kind := p.container(); {
	case p.nested():
		c.Found = "behind carrel's own walls"
	case p.wsl() == 1:
		r, _ := p.otherKernel()
		c.Status, c.Found, c.Means = Missing, "Windows Subsystem for Linux 1", "there is no Linux kernel, and walls are made of one"
		return c.with(r)
	case p.gvisor():
		r, _ := p.otherKernel()
		c.Status, c.Found, c.Means = Weak, "gVisor", "its kernel has not all that walls are made of"
		return c.with(r)
	case kind == incontainer.Kubernetes:
		c.Found = "Kubernetes pod"
	case kind != "":
		c.Found = kind + " container"
	case p.wsl() == 2:
		c.Found = "Windows Subsystem for Linux 2"
	}
	if runner := factsOf(p.Machine).Runner(); runner != "" {
		c.Found += ", in " + runner
	}
	if label := p.confinedBy(); label != "" {
		c.Found += fmt.Sprintf(", confined by the AppArmor profile %q", label)
	}
	if p.filtered() {
		c.Found += ", under a system call filter"
	}
	return c
}

func (p *patient) opener() Check {
	c := Check{ID: "links", Name: "links", Status: OK}
	if at := p.Find("xdg-open"); at != "" {
		c.Found = at + ": open_urls: browser can open them outside"
		return c
	}
	c.Status, c.Found = Weak, "no /usr/bin/xdg-open"
	c.Means = "links that programs inside want opened are shown, and open_urls: browser opens none"
	return c.with(remedy{cause: CauseProgram, fix: "install xdg-utils", commands: []string{"sudo apt-get install xdg-utils"}})
}

// displayPrograms are what a virtual display consists of, and what follows where one is
// missing. Without the first there is none.
var displayPrograms = []struct{ name, debian, means string }{
	{"Xvfb", "xvfb", "--display virtual starts a workspace without a display"},
	{"openbox", "openbox", "windows there have no frames, as carrel's own window manager makes none"},
	{"dbus-daemon", "dbus-daemon", "its programs have no session bus, and `carrel desktop a11y` sees nothing"},
	{"at-spi-bus-launcher", "at-spi2-core", "`carrel desktop a11y` sees nothing"},
	{"x11vnc", "x11vnc", "`carrel desktop watch` cannot show it"},
	{"ffmpeg", "ffmpeg", "`carrel desktop record` makes no videos"},
}

func (p *patient) virtualDisplay() Check {
	c := Check{ID: "virtual-display", Name: "virtual display", Status: OK}
	var there, lacking, packages, means []string
	for _, d := range displayPrograms {
		if p.Find(d.name) != "" {
			there = append(there, d.name)
			continue
		}
		lacking = append(lacking, "no "+d.name)
		packages = append(packages, d.debian)
		means = append(means, d.means)
	}
	if len(lacking) == 0 {
		c.Found = strings.Join(there, ", ")
		return c
	}
	c.Status, c.Found, c.Means = Weak, strings.Join(lacking, ", "), strings.Join(means, "; ")
	if !slices.Contains(there, displayPrograms[0].name) {
		c.Status, c.Means = Missing, displayPrograms[0].means
	}
	return c.with(remedy{cause: CauseProgram, fix: "install what you want of it", commands: []string{"sudo apt-get install " + strings.Join(packages, " ")}})
}
