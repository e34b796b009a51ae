// Package machine runs the command of a workspace in a virtual machine, where the backend is
// lima: it decides what the machine is made of, says what of a workspace no machine carries
// yet, and serves the project to it. Package lima makes the machine.
package machine

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/inside"
	"carrel/internal/lima"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Machine is where a workspace of such a backend runs.
type Machine struct {
	Backend
	Places []Place // files and directories that are served beside the project
}

// Lasts says whether the machine is there before and after a run, with a system of its own.
func (m *Machine) Lasts() bool {
	system, _ := m.System()
	return system == SystemOwn
}

// Place is a file or directory of the host, and where it is in a machine.
type Place struct{ Host, Guest string }

// Take refuses a second run in one machine: its processes could reach what the first one serves.
// dir is the project's in the state directory.
func (m *Machine) Take(dir string) (io.Closer, error) {
	if !m.Lasts() {
		return io.NopCloser(nil), nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return take(dir + "/machine")
}

// What a machine is made of where the user says nothing.
const (
	defaultCPUs   = 2
	defaultMemory = 2 << 30
	defaultDisk   = 20 << 30
)

// spec makes the spec of the machine of a project, by its id.
func spec(set *config.Lima, network policy.NetworkMode, project string) (*lima.Spec, error) {
	disk, err := set.DiskImage()
	if err != nil {
		return nil, fmt.Errorf("backend lima: %w", err)
	}
	s := &lima.Spec{Workspace: project, VMType: "qemu", CPUs: int(number(set.CPUs, defaultCPUs)),
		MemoryBytes: number(set.Memory, defaultMemory), DiskBytes: number(set.Disk, defaultDisk), Network: lima.NetworkClosed}
	if network == policy.NetOpen { // all others reach what the supervisor carries, and nothing else
		s.Network = lima.NetworkOpen
	}
	image := lima.Image{Location: disk.V, Arch: lima.Arch()}
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
	Project, ID string
	Environ     []string
	UID         int
	Network     policy.NetworkMode
	Hosted      bool     // it has this host's system
	Engine      string   // --engine
	Image       string   // --image
	Granted     []string // places beyond the defaults
	Links       []Place  // other places of them, which the configuration gives
}

// systemDirs are a machine's own: no project of the host can be mounted there.
var systemDirs = []string{"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr"}

// Choose finds what makes machines, and says what the machine of a project is made of.
func Choose(w Wish, set *config.Lima, vm *config.VM) (m *Machine, err error) {
	if w.Hosted {
		return chooseVM(w, vm)
	}
	if err := carries(w); err != nil {
		return nil, err
	}
	program, err := lima.Find(context.Background(), w.Environ, w.UID)
	if err != nil {
		return nil, fmt.Errorf("backend lima: %w", err)
	}
	s, err := spec(set, w.Network, w.ID)
	if err != nil {
		return nil, err
	}
	return &Machine{Backend: &Lima{program, s}, Places: w.places()}, nil
}

// places are those that are served beside the project. What a link shows is at its own path, too, where
// the machine can have it there.
func (w *Wish) places() (out []Place) {
	for _, place := range w.Granted {
		if !pathname.Within(place, w.Project) && !(ofMachine(place) && w.linked(place)) {
			out = append(out, Place{place, place})
		}
	}
	return append(out, w.Links...)
}

// linked says whether all of a place is at another one in the machine.
func (w *Wish) linked(place string) bool {
	return slices.ContainsFunc(w.Links, func(l Place) bool { return l.Host == place })
}

// ofMachine says whether a path is among a machine's own directories.
func ofMachine(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "" || slices.Contains(systemDirs, first)
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
	switch {
	case w.Project == "" || w.Project == "/":
		add("there is no project", "start it in the directory of a project")
	case ofMachine(w.Project):
		add("the project is in a directory that the machine has itself", "work in a project below your home")
	}
	for _, place := range w.Granted {
		switch st, err := os.Stat(place); {
		case pathname.Within(place, w.Project):
		case pathname.Within(w.Project, place):
			add(place+" has the project in it", "grant less than that")
		case ofMachine(place) && !w.linked(place):
			add(place+" is in a directory that the machine has itself", "give it a guest_path in extra_mounts, or copy it into the project")
		case err != nil || !st.IsDir() && !st.Mode().IsRegular():
			add(place+" is neither a file nor a directory", "leave it out, or make it")
		}
	}
	for _, link := range w.Links {
		if ofMachine(link.Guest) || pathname.Within(link.Guest, w.Project) || pathname.Within(w.Project, link.Guest) {
			add(link.Guest+" is the machine's own, or the project's", "choose another guest_path, as /mnt/NAME")
		}
	}
	if len(not) == 0 {
		return nil
	}
	slices.Sort(right)
	return &advice.Error{Err: fmt.Errorf("backend lima: %s", strings.Join(not, "; ")), Hint: strings.Join(slices.Compact(right), "; ")}
}

// ownVariables are those that a machine sets for its user itself.
var ownVariables = []string{"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "PWD", "OLDPWD", "MAIL"}

// Home and Shell are those of the user for commands in a machine.
const (
	Home  = "/home/" + lima.Agent
	Shell = "/bin/sh"
)

// ProxyAddress is where programs in a machine find the proxy, where the network is filtered.
const ProxyAddress = "127.0.0.1:7871"

// Variables are those of a command in a machine, of what the policy gives it. Names in shims lead to the
// supervisor.
func Variables(decided []string, shims string) (env []string) {
	for _, v := range decided {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(ownVariables, name) && !strings.HasPrefix(name, "XDG_") {
			env = append(env, v)
		}
	}
	return append(env, "CARREL=1", "HOME="+Home, "PATH="+shims+":"+searchPath)
}

// searchPath has the helpers before the machine's own programs.
const searchPath = inside.Dir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// helpers are the names of a plan that lead to the supervisor, and that a machine has as well.
func helpers(plan *sandbox.Plan) (names []string) {
	for _, m := range plan.Mounts {
		dir, name := path.Split(m.Target)
		ours := pathname.Within(m.Target, path.Dir(inside.Dir)) && (dir != inside.Dir+"/" || inside.IsHelper(name))
		if m.Kind == sandbox.MakeSymlink && ours || m.Target == sandbox.SelfPath { // there it is mark.Main
			names = append(names, m.Target)
		}
	}
	return names
}
