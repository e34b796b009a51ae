package sandbox

import (
	"context"
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
)

// EngineContainer has the stage make the walls in a container: the container's image is
// the system that commands see, instead of the host's.
const EngineContainer Engine = "container"

// EngineLima has no walls on this machine: another kernel makes them, in a virtual machine.
const EngineLima Engine = "lima"

// EngineGvisor has no walls made by a stage: a sandbox of gVisor shows the plan's view.
const EngineGvisor Engine = "gvisor"

// EngineVM is the same for a machine of QEMU, which is shown what the plan has of this machine.
const EngineVM Engine = "vm"

// Words of the stage in a container.
const (
	ContainerArg = "container" // the container's first process; a user, a group, and whether the network is its own follow
	NestedArg    = "nested"    // the stage that it starts in namespaces of its own
)

// Places in a container before the stage has made its own root, in which they are not.
const (
	ContainerDir    = "/.carrel" // what carrel binds there
	ContainerSocket = ContainerDir + "/link/control"
	ContainerStage  = ContainerDir + "/" + StageArg0
	containerHost   = ContainerDir + "/host" // the host's files and directories, by their paths there
)

// ConsolePath is where the caller's terminal is inside, on a read-only mount.
const ConsolePath = "/dev/console"

// ImageVariable begins the names by which the stage gets the image's own variables.
const ImageVariable = "CARREL_IMAGE_"

// HostBind is a file or directory of the host that a container gets.
type HostBind struct {
	Source, Target string
	ReadOnly       bool
}

// Container starts the container of one workspace.
type Container interface {
	// Dir is a directory of the host, this user's alone, that the container has at the
	// directory of [ContainerSocket].
	Dir() string
	// Start has the engine start it. first is its first process, with arguments;
	// network says that it has the host's network. The error is the engine's word.
	// It returns soon after ctx ends, and no program of its own runs on.
	Start(ctx context.Context, binds []HostBind, first []string, network bool) error
	// Remove ends the container, if that has not ended, and waits until it is gone.
	Remove()
}

// inContainer changes the sources of a plan to where a container has them, and says
// which of the host's those are. What lies in another one comes with that.
func inContainer(mounts []Mount) ([]Mount, []HostBind) {
	mounts = slices.Clone(mounts)
	written := make(map[string]bool)
	for i := range mounts {
		switch m := &mounts[i]; {
		case m.Kind == MountBind:
			written[m.Source] = written[m.Source] || !m.ReadOnly
		case ofHost(m):
			written[m.Source] = false // its mount is read-only, where it is opened
		}
	}
	var sources []string
	for s := range written {
		sources = append(sources, s)
	}
	var binds []HostBind
	for _, s := range Outermost(sources) {
		b := HostBind{Source: s, Target: containerHost + s, ReadOnly: true}
		for inner, w := range written {
			b.ReadOnly = b.ReadOnly && (!w || !pathname.Within(inner, s))
		}
		binds = append(binds, b)
	}
	slices.SortFunc(binds, func(a, b HostBind) int { return strings.Compare(a.Source, b.Source) })
	for i := range mounts {
		if m := &mounts[i]; ofHost(m) {
			m.Source = containerHost + m.Source
		}
	}
	return mounts, binds
}

// ofHost says whether a step shows something of the host's. Other devices are the container's.
func ofHost(m *Mount) bool {
	return m.Kind == MountBind || m.Kind == MountDevice && m.Target == ConsolePath
}

// imageSteps changes what a plan does beside the host's files, for a container: the image
// is at the root, below everything else.
func (c *compiler) imageSteps() {
	if c.in.Engine != EngineContainer {
		return
	}
	c.mounts = append([]Mount{{Kind: MountImage, Target: "/", Dir: true, Reason: "the system of the container's image"}}, c.mounts...)
}

// inImage says whether a file that a plan covers is the image's: nothing of the plan's lies
// between.
func (c *compiler) inImage(target string) bool {
	for dir := path.Dir(target); dir != "/"; dir = path.Dir(dir) {
		if slices.ContainsFunc(c.mounts, func(m Mount) bool { return m.Target == dir && m.Kind != MakeSymlink }) {
			return false
		}
	}
	return c.in.Engine == EngineContainer
}
