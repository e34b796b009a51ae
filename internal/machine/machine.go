// Package machine runs the command of a workspace in a virtual machine, where the backend is
// lima: it decides what the machine is made of, says what of a workspace no machine carries
// yet, and serves the project to it. Package lima makes the machine.
package machine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/lima"
	"carrel/internal/policy"
)

// Machine is where a workspace with backend lima runs.
type Machine struct {
	Program *lima.Program
	Spec    *lima.Spec
}

// What a machine is made of where the user says nothing.
const (
	defaultCPUs   = 2
	defaultMemory = 2 << 30
	defaultDisk   = 20 << 30
)

// spec makes the spec of the machine of a project, by its id.
func spec(set *config.Lima, network policy.NetworkMode, project string) (*lima.Spec, error) {
	if set.Image == nil {
		return nil, &advice.Error{Err: errors.New("backend lima: no disk image is named"),
			Hint: "set lima.image in your configuration, and lima.digest for one from the network"}
	}
	if set.Digest == nil && !filepath.IsAbs(set.Image.V) {
		return nil, &advice.Error{Err: fmt.Errorf("backend lima: the image %s has no digest (%s)", set.Image.V, set.Image.Source),
			Hint: "set lima.digest beside lima.image, in the same file"}
	}
	s := &lima.Spec{Workspace: project, VMType: "qemu", CPUs: int(number(set.CPUs, defaultCPUs)),
		MemoryBytes: number(set.Memory, defaultMemory), DiskBytes: number(set.Disk, defaultDisk), Network: lima.NetworkClosed}
	if network == policy.NetOpen {
		s.Network = lima.NetworkOpen
	}
	image := lima.Image{Location: set.Image.V, Arch: "x86_64"}
	if runtime.GOARCH == "arm64" {
		image.Arch = "aarch64"
	}
	if runtime.GOOS == "darwin" {
		s.VMType = "vz"
	}
	if set.Digest != nil {
		image.Digest = set.Digest.V
	}
	s.Images = []lima.Image{image}
	if _, _, err := s.Template(); err != nil {
		return nil, fmt.Errorf("backend lima: %w", err)
	}
	return s, nil
}

func number(v *policy.Value[int64], otherwise int64) int64 {
	if v == nil {
		return otherwise
	}
	return v.V
}

// Wish is what is asked of a machine beyond its policy.
type Wish struct {
	Project, ID  string
	Environ      []string
	UID          int
	Network      policy.NetworkMode
	Engine       string // --engine
	Image        string // --image
	Agent        string // the known agent that the command is
	HostCommands bool
	Granted      []string   // places beyond the defaults
	Variables    policy.Env // that commands are given
}

// systemDirs are a machine's own: no project of the host can be mounted there.
var systemDirs = []string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr"}

// Choose finds limactl, and says what the machine of a project is made of.
func Choose(w Wish, set *config.Lima) (m *Machine, err error) {
	if err := carries(w); err != nil {
		return nil, err
	}
	m = &Machine{}
	if m.Program, err = lima.Find(context.Background(), w.Environ, w.UID); err != nil {
		return nil, fmt.Errorf("backend lima: %w", err)
	}
	m.Spec, err = spec(set, w.Network, w.ID)
	return m, err
}

// carries refuses what no machine carries yet, all of it at once.
func carries(w Wish) error {
	var not, right []string
	add := func(what, fix string) { not, right = append(not, what), append(right, fix) }
	if w.Engine != "" {
		add("--engine "+w.Engine+": the machine's kernel makes the walls", "leave --engine out")
	}
	if w.Image != "" {
		add("--image "+w.Image+": it is a container's", "leave --image out; lima.image names the disk image")
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(w.Project, "/"), "/")
	switch {
	case w.Project == "" || w.Project == "/":
		add("there is no project", "start it in the directory of a project")
	case slices.Contains(systemDirs, first):
		add("the project is in /"+first+", which is the machine's own", "work in a project below your home")
	}
	if w.Agent != "" {
		add("the state and credentials of the agent "+w.Agent+" are not carried into machines", "use backend container or process for agents")
	}
	if w.HostCommands {
		add("host commands are not carried into machines", "leave host_commands out")
	}
	for _, place := range w.Granted {
		if place != w.Project && !strings.HasPrefix(place, w.Project+"/") {
			add(place+" is outside of the project, and only the project is carried into machines", "leave it out, or copy it into the project")
		}
	}
	if name := firstVariable(w); name != "" {
		add("variables are not carried into machines, and "+name+" is asked for", "set it in the command: env NAME=VALUE COMMAND")
	}
	if len(not) == 0 {
		return nil
	}
	slices.Sort(right)
	return &advice.Error{Err: fmt.Errorf("backend lima: %s", strings.Join(not, "; ")), Hint: strings.Join(slices.Compact(right), "; ")}
}

// firstVariable is one that flags or files ask for, "" for none: defaults are left out silently.
func firstVariable(w Wish) (name string) {
	for n, v := range w.Variables.Set {
		if v.Source.Layer != policy.LayerDefault && (name == "" || n < name) {
			name = n
		}
	}
	for _, v := range w.Variables.Pass {
		if name == "" && v.Source.Layer != policy.LayerDefault {
			name = v.V
		}
	}
	return name
}
