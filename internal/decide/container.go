package decide

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/container"
	"carrel/internal/hostfile"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Container is where a workspace with backend container runs.
type Container struct {
	Engine *container.Engine
	Image  string
}

// Contained says whether the system that commands see is that of a container's image.
func Contained(p *Decision) bool {
	return p.Policy != nil && p.Policy.Backend == policy.BackendContainer
}

// asksForContainer says the same before the policy is decided, of what is asked for.
func asksForContainer(p *Decision) bool {
	asked, by := p.Request.Flags.Backend, policy.LayerCommandLine
	for _, l := range p.Loaded.Layers {
		if v := l.Request.Backend; v != nil && (asked == nil || l.Kind < by) {
			asked, by = v, l.Kind
		}
	}
	return asked != nil && asked.V == policy.BackendContainer
}

// chooseContainer finds the engine and the image. Nothing is started and asked.
func chooseContainer(p *Decision) error {
	asked, why := config.EngineAuto, p.Reason(policy.DimBackend).Source.String()
	if p.Request.Engine != "" {
		return &advice.Error{Err: fmt.Errorf("--engine %s: with --backend container the stage makes the walls", p.Request.Engine),
			Hint: "leave one of them out; container.engine names podman or docker"}
	}
	if v := p.Loaded.Settings.ContainerEngine; v != nil {
		asked = v.V
	}
	if d := p.Policy.Lookup("/"); d.Access == policy.Read || d.Access == policy.Write {
		return &advice.Error{Err: fmt.Errorf("%s: with --backend container what is at / is the image's", d.Rule.Source.Text),
			Hint: "name the files and directories of the host that you need"}
	}
	image, err := imageOf(p)
	if err != nil {
		return err
	}
	found, err := container.Find(container.Search{Engine: asked, Getenv: p.Getenv})
	if err != nil {
		return err
	}
	p.Container = &Container{Engine: found, Image: image}
	why = "image " + image + " (" + cmp.Or(why, "backend container") + ")"
	p.engine = engine{name: sandbox.EngineContainer, program: found.Kind, why: why}
	return nil // the plan is looked at when it is made, after the agent's home
}

// imageOf is the name of the image, by the operator, the command line or the user.
func imageOf(p *Decision) (string, error) {
	set := p.Loaded.Settings.ContainerImage
	asked := p.Request.Image
	switch {
	case asked != "" && config.BadImage(asked) != "":
		return "", fmt.Errorf("--image %q: %s", asked, config.BadImage(asked))
	case asked != "" && set != nil && set.Source.Layer == policy.LayerOperator && set.V != asked:
		return "", fmt.Errorf("--image %s: the operator's file names the image %s (%s)", asked, set.V, set.Source)
	case asked != "":
		return asked, nil
	case set != nil:
		return set.V, nil
	}
	return "", &advice.Error{Err: fmt.Errorf("backend container (%s): no image is named", p.Reason(policy.DimBackend).Source),
		Hint: "--image NAME, or container.image in your configuration"}
}

// terminfoDir is where the description of the person's terminal is inside.
const terminfoDir = "/run/carrel/terminfo"

// terminfoDirs are where the host has them, terminfo(5).
var terminfoDirs = []string{"/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo", "/usr/lib/terminfo"}

// maxTerminfo bounds one of them, as ncurses does.
const maxTerminfo = 32 << 10

// everywhere are the terminals that each image knows, or needs no description of.
var everywhere = []string{"", "dumb", "linux", "vt100", "xterm", "xterm-256color", "screen", "screen-256color"}

// terminalIn gives what a command in a container needs of the person's terminal: the host's
// description where there is one. Else it is called what every image knows.
func terminalIn(p *Decision, env map[string]string) (file sandbox.Mount, described bool) {
	name := p.Getenv("TERM")
	if slices.Contains(everywhere, name) || strings.ContainsAny(name, "/.") {
		return file, false
	}
	for _, dir := range terminfoDirs {
		at := filepath.Join(dir, name[:1], name)
		data, err := hostfile.ReadHead(at, maxTerminfo)
		if err != nil {
			continue
		}
		env["TERMINFO_DIRS"] = terminfoDir + ":" // and those of the image
		return sandbox.Mount{Kind: sandbox.MountData, Target: filepath.Join(terminfoDir, name[:1], name), Data: data, Perm: 0o644,
			Reason: "your terminal"}, true
	}
	env["TERM"] = "xterm-256color"
	p.NoteOnce(fmt.Sprintf("this machine does not describe the terminal %q: in the container it is called xterm-256color", name))
	return file, false
}
