// Package incontainer knows in which container this process runs, by the marks that container
// engines leave. It knows which job of continuous integration it is a part of. It knows by which
// flags such a container is started so that walls can be made in it.
package incontainer

import (
	"os"
	"strings"
)

// Facts are what containers are recognised by.
type Facts struct {
	Getenv func(string) string
	Read   func(path string) (string, error) // a small file
	Exists func(path string) bool
	// First says that our namespaces are those that the kernel began with.
	First func() bool
}

// Docker, Podman and Kubernetes are the kinds with advice of their own for users.
const (
	Docker     = "docker"
	Podman     = "podman"
	Kubernetes = "kubernetes"
)

// Kind names the container, "" for none that is known. A machine that was made from a
// container's image has its marks, and is none. A pod comes first: CRI-O leaves podman's mark.
func (f Facts) Kind() string {
	switch {
	case f.First():
		return f.Getenv("container")
	case f.Getenv("KUBERNETES_SERVICE_HOST") != "", f.Exists("/var/run/secrets/kubernetes.io/serviceaccount"):
		return Kubernetes
	case f.Exists("/run/.containerenv"):
		return Podman
	case f.Exists("/.dockerenv"):
		return Docker
	}
	if kind, err := f.Read("/run/systemd/container"); err == nil {
		return strings.TrimSpace(kind)
	}
	if kind := f.Getenv("container"); kind != "" {
		return kind
	}
	return f.byGroup()
}

// groups are parts of the names of control groups. Where a container has a namespace of
// them, the names say nothing.
var groups = []struct{ part, kind string }{{"/kubepods", Kubernetes}, {"/libpod", Podman}, {"/docker", Docker}, {"/lxc", "lxc"}}

func (f Facts) byGroup() string {
	text, err := f.Read("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for _, g := range groups {
		for line := range strings.Lines(text) {
			if _, at, _ := strings.Cut(strings.TrimSpace(line), ":/"); strings.Contains("/"+at, g.part) {
				return g.kind
			}
		}
	}
	return ""
}

// runners are variables that continuous integration sets to "true".
var runners = []struct{ variable, name string }{
	{"GITHUB_ACTIONS", "a GitHub Actions job"}, {"GITLAB_CI", "a GitLab CI job"}, {"CIRCLECI", "a CircleCI job"}, {"CI", "a CI job"},
}

// Runner names the job of continuous integration that this is a part of, "" for none.
func (f Facts) Runner() string {
	for _, r := range runners {
		if f.Getenv(r.variable) == "true" {
			return r.name
		}
	}
	return ""
}

// Opened says how a container of a kind is started so that walls can be made in it.
func Opened(kind string) string {
	const (
		weaker   = ". These open the container's own walls further"
		unneeded = " (--cap-add and --privileged are not needed)"
	)
	switch kind {
	case Docker:
		return "start the container with: docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined" +
			" --security-opt systempaths=unconfined" + weaker + unneeded
	case Podman:
		return "start the container with: podman run --security-opt seccomp=unconfined --security-opt unmask=ALL" +
			" --security-opt label=disable" + weaker + unneeded
	case Kubernetes:
		return "in the pod: spec.hostUsers: false, and in the container's securityContext: procMount: Unmasked," +
			" seccompProfile.type: Unconfined, appArmorProfile.type: Unconfined" + weaker
	case "lxc", "lxc-libvirt":
		return "outside, for the container NAME: lxc config set NAME security.nesting true && lxc restart NAME" +
			" (Incus: incus instead of lxc; plain LXC: lxc.include = /usr/share/lxc/config/nesting.conf)" + weaker
	case "systemd-nspawn":
		return "start the container with: systemd-nspawn --system-call-filter='@mount @keyring bpf' --private-users=pick" + weaker
	}
	return "let the container make user namespaces and mount procfs: no seccomp profile, nothing mounted over /proc" + weaker
}

// AsUser says how a container of a kind is started as an ordinary user, who can have walls
// without namespaces.
func AsUser(kind string) string {
	switch kind {
	case Docker, Podman:
		return "start the container as an ordinary user who may write the project: " + kind + " run --user 1000:1000 -e HOME=DIRECTORY"
	case Kubernetes:
		return "have the pod run as an ordinary user who may write the project: securityContext.runAsUser: 1000, and HOME in env"
	}
	return "run carrel as an ordinary user"
}

// Host are the facts of this process.
func Host() Facts {
	return Facts{Getenv: os.Getenv, First: InFirstNamespaces,
		Read:   func(path string) (string, error) { text, err := os.ReadFile(path); return string(text), err },
		Exists: func(path string) bool { _, err := os.Lstat(path); return err == nil },
	}
}

// InFirstNamespaces goes by the numbers that the kernel gives its first ones, see
// linux/proc_ns.h. A container has at least one of these to itself.
func InFirstNamespaces() bool {
	for kind, number := range map[string]string{"ipc": "4026531839", "uts": "4026531838", "user": "4026531837", "pid": "4026531836"} {
		if to, err := os.Readlink("/proc/self/ns/" + kind); err != nil || to != kind+":["+number+"]" {
			return false
		}
	}
	return true
}
