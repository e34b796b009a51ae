package session

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/decide"
	"carrel/internal/gui"
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"
	"carrel/internal/statedir"
)

// openDesktop makes the workspace's desktop, nil where the policy has no virtual display.
func openDesktop(d *decide.Decision) (*gui.Desktop, error) {
	if d.Policy.Display != policy.DisplayVirtual {
		return nil, nil
	}
	size, gl, err := d.Screen()
	if err != nil {
		return nil, err
	}
	c := gui.Config{Size: size, GL: gl, Watch: d.Policy.WatchVNC, Runtime: d.InsideRuntime(), Environ: d.Environ, Note: d.Note}
	c.Raise = func(pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Walls, error) {
		return raiseDisplay(d, pol, binds, files)
	}
	c.Below = func(stage int) []int { return slices.Collect(maps.Keys(processes.Below(stage))) }
	for _, dir := range statedir.Registry(d.Getenv) {
		c.Dirs = append(c.Dirs, filepath.Join(dir, "displays"))
	}
	if d.State != nil {
		c.Keymaps = d.State.Root()
	}
	desktop, err := gui.New(c)
	if err == nil {
		d.Desktop = desktop
	}
	return desktop, err
}

// raiseDisplay raises the walls of a display's programs.
func raiseDisplay(d *decide.Decision, pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Walls, error) {
	plan, err := displayPlan(d, pol, binds, files)
	if err != nil {
		return nil, fmt.Errorf("planning the walls of the display: %w", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	walls, err := sandbox.Launch(plan, hostfacts.SelfExe, nil, [3]*os.File{null, null, null}, nil, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("raising the walls of the display: %w", err)
	}
	return walls, nil
}

// displayPlan makes their plan, for the workspace's engine and with all layers. What has a
// container has its display beside it, of the host's programs.
func displayPlan(d *decide.Decision, pol *policy.Effective, binds, files []sandbox.Mount) (*sandbox.Plan, error) {
	in := sandbox.Input{Policy: pol, Engine: d.Engine(), UID: uint32(d.UID), GID: uint32(d.GID), Binds: binds, Files: files}
	if d.Container != nil {
		in.Engine = sandbox.EngineNamespaces
	}
	self, err := hostfacts.OwnProgram()
	if err == nil {
		in.Self = self
	}
	abi, err := landlock.ABI()
	if err != nil {
		return nil, err
	}
	in.Landlock, in.Scopes = abi >= decide.FilesABI, abi >= decide.ScopesABI
	arch, err := seccomp.HostArch()
	if err != nil {
		return nil, err
	}
	filter, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedNone, NoGroupSignals: !in.Scopes})
	if err != nil {
		return nil, err
	}
	in.Seccomp, in.HighestPID = seccomp.Marshal(filter), hostfacts.HighestPID()
	plan, err := sandbox.Compile(in, hostfacts.New())
	if err == nil && !sameProgram(self, hostfacts.SelfExe) {
		// A workspace can be older than the program that is installed; in there it is
		// not needed.
		plan.Mounts = slices.DeleteFunc(plan.Mounts, func(m sandbox.Mount) bool { return m.Target == sandbox.SelfPath })
	}
	return plan, err
}

// sameProgram says whether two names are of one file.
func sameProgram(a, b string) bool {
	one, err := os.Stat(a)
	other, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, other)
}
