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
	Engine *container.Engine
	Image  string
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
	if err := p.Preview(); err != nil {
		return err
	}
	return p.EngineHolds()
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
