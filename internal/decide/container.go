package decide

import (
	"cmp"
	"fmt"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/container"
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
	if err := p.Preview(); err != nil {
		return err
	}
	return p.EngineHolds()
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
