package config

import (
	"strings"
	"testing"
)

func TestProjectsImages(t *testing.T) {
	m := newMachine(t)
	m.write("home/u/.config/carrel/config.yaml", "container:\n  engine: docker\n  image: localhost/x:1\n"+
		"  images: ['registry.example.org/dev/*', localhost/y:1]\n  project_env: [APP_*, NODE_*, PS4]\n  devcontainer: run\n")
	s := m.load().Settings
	for name, want := range map[string]bool{"localhost/y:1": true, "localhost/y:12": false, "registry.example.org/dev/go:1": true,
		"registry.example.org.evil/dev/go": false, "registry.example.org/dev/go --privileged": false,
		"registry.example.org/devil": false} {
		if s.ImageAllowed(name) != want {
			t.Errorf("image %s: %v", name, !want)
		}
	}
	if s.ProjectMaySet("NODE_OPTIONS") || !s.ProjectMaySet("NODE_ENV") || !s.ProjectMaySet("PS4") {
		t.Errorf("variables that run something else: %+v", s.ProjectEnv)
	}
	if !s.ProjectMaySet("APP_MODE") || s.ProjectMaySet("ANTHROPIC_BASE_URL") || s.Devcontainer.V != DevcontainerRun {
		t.Errorf("%+v", s)
	}
	// What the operator says stands.
	m.write("etc/carrel/config.yaml", "container: {images: [localhost/z:1], devcontainer: 'off'}\n")
	l := m.load()
	if s := l.Settings; s.ImageAllowed("localhost/y:1") || !s.ImageAllowed("localhost/z:1") ||
		s.Devcontainer.V != DevcontainerOff || !s.ProjectMaySet("APP_X") {
		t.Errorf("under the operator: %+v", s)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Message, "says which images projects may name") {
		t.Errorf("%+v", l.Warnings)
	}
}

// TestProjectChoosesNoContainer: what backend, engine, image or mounts are is never the project's.
func TestProjectChoosesNoContainer(t *testing.T) {
	m := newMachine(t)
	m.write("p/.carrel.yaml", "container: {engine: docker, image: evil, images: ['x*'], project_env: [A], devcontainer: run}\n")
	l := m.load()
	m.write("p/.carrel.yaml", "lima: {image: /evil, memory: 1TiB}\nbackend: lima\n")
	if s := m.load(); s.Settings.Lima != (Lima{}) || len(s.Warnings) != 2 {
		t.Errorf("%+v", s)
	}
	if s := l.Settings; s.ContainerEngine != nil || s.ContainerImage != nil ||
		s.ImageAllowed("x") || s.ProjectMaySet("A") || s.Devcontainer != nil {
		t.Errorf("%+v", s)
	}
	if len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Message, "belongs to the user") {
		t.Errorf("%+v", l.Warnings)
	}
}

func TestProjectsImagesWrong(t *testing.T) {
	for text, want := range map[string]string{
		"images: ['*']":               "every image of the world",
		"images: [-x]":                "it is no name of an image",
		"images: ['a b']":             "it is no name of an image",
		"images: x":                   "want a list",
		"image: --privileged":         "it is no name of an image",
		"engine: lxc":                 "is not one of auto, podman, docker",
		"devcontainer: all":           "off",
		"project_env: [PATH]":         "is not the caller's to say",
		"project_env: ['LD_*']":       "is not the caller's to say",
		"project_env: ['*']":          "is not the name of a variable",
		"project_env: ['A B']":        "is not the name of a variable",
		"images: ['localhost*x', '']": "it is empty",
	} {
		m := newMachine(t)
		m.write("home/u/.config/carrel/config.yaml", "container: {"+text+"}\n")
		m.fails(want)
	}
}
