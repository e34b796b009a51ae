package decide

import (
	"cmp"
	"errors"
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
	Engine  *container.Engine
	Image   string
	project *container.Project // what the project's devcontainer.json says of it
}

// Contained says whether the system that commands see is that of a container's image.
func Contained(p *Decision) bool {
	return p.Policy != nil && p.Policy.Backend == policy.BackendContainer
}

// asksForImage says, before the policy is decided, whether the system that
// commands see is another than the host's.
func asksForImage(p *Decision) bool {
	asked, by := p.Request.Flags.Backend, policy.LayerCommandLine
	for _, l := range p.Loaded.Layers {
		if v := l.Request.Backend; v != nil && (asked == nil || l.Kind < by) {
			asked, by = v, l.Kind
		}
	}
	return asked != nil && (asked.V == policy.BackendContainer || asked.V == policy.BackendLima)
}

// MayStay refuses a workspace that is named, and stays, where the backend has none.
func MayStay(p *Decision) error {
	if p.Policy.Backend != policy.BackendLima {
		return nil
	}
	return &advice.Error{Err: errors.New("backend lima: a named workspace cannot be in a machine yet"),
		Hint: "carrel run --backend lima -- COMMAND, or another backend"}
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
	project, err := projectContainer(p)
	if err != nil {
		return err
	}
	image, err := imageOf(p, project)
	if err != nil {
		return err
	}
	found, err := container.Find(container.Search{Engine: asked, Getenv: p.Getenv})
	if err != nil {
		return err
	}
	p.Container = &Container{Engine: found, Image: image, project: project}
	why = "image " + image + " (" + cmp.Or(why, "backend container") + ")"
	p.engine = engine{name: sandbox.EngineContainer, program: found.Kind, why: why}
	return nil // the plan is looked at when it is made, after the agent's home
}

// projectContainer reads the project's devcontainer.json, and takes its variables. What it asks
// for beyond what the user allows is told.
func projectContainer(p *Decision) (*container.Project, error) {
	s, use := &p.Loaded.Settings, config.DevcontainerRead
	if s.Devcontainer != nil {
		use = s.Devcontainer.V
	}
	if use == config.DevcontainerOff || p.Place.Project == "" {
		return &container.Project{}, nil
	}
	c, err := container.ReadProject(container.ProjectOptions{Project: p.Place.Project, Image: s.ImageAllowed, Env: s.ProjectMaySet,
		Run: use == config.DevcontainerRun})
	if err != nil {
		return nil, &advice.Error{Err: err, Hint: "`container.devcontainer: off` in your configuration does without it"}
	}
	source := func(line int, key string) policy.Source {
		return policy.Source{Layer: policy.LayerProject, File: c.File, Line: line, Text: key}
	}
	for _, i := range c.Ignored {
		p.Loaded.Warnings = append(p.Loaded.Warnings, policy.Warning{Source: source(i.Line, i.Key), Message: "ignored: " + i.Why})
	}
	env := &p.Policy.Env
	for name, v := range c.Env {
		if _, set := env.Set[name]; !set {
			env.Set[name] = policy.Value[string]{V: v, Source: source(0, name)}
		}
	}
	for _, name := range c.Drop {
		env.Drop = append(env.Drop, policy.Value[string]{V: name, Source: source(0, name)})
	}
	return c, nil
}

// lifecycle has the project's lifecycle commands run before a command, inside.
func lifecycle(p *Decision, c sandbox.Command) sandbox.Command {
	if p.Container == nil || p.Container.project == nil || len(p.Container.project.Lifecycle) == 0 || len(c.Argv) == 0 {
		return c
	}
	c.Argv, c.Path = p.Container.project.Enter(c.Argv), ""
	return c
}

// imageOf is the name of the image, by the operator, the command line, the project where the user
// allows that, or the user.
func imageOf(p *Decision, project *container.Project) (string, error) {
	set := p.Loaded.Settings.ContainerImage
	asked := p.Request.Image
	switch {
	case asked != "" && config.BadImage(asked) != "":
		return "", fmt.Errorf("--image %q: %s", asked, config.BadImage(asked))
	case asked != "" && set != nil && set.Source.Layer == policy.LayerOperator && set.V != asked:
		return "", fmt.Errorf("--image %s: the operator's file names the image %s (%s)", asked, set.V, set.Source)
	case asked != "":
		return asked, nil
	case set != nil && (project.Image == "" || set.Source.Layer == policy.LayerOperator):
		return set.V, nil
	case project.Image != "":
		return project.Image, nil
	}
	for _, i := range project.Ignored {
		if i.Key == "image" {
			return "", &advice.Error{Err: fmt.Errorf("backend container: no image is named, and %s:%d: %s", project.File, i.Line, i.Why),
				Hint: "--image NAME, or allow the project's in your configuration"}
		}
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
