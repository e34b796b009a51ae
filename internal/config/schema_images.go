package config

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/policy"
)

// maxImages bounds each list of what projects may name.
const maxImages = 256

// Words of container.devcontainer.
const (
	DevcontainerOff  = "off"  // it is not looked at
	DevcontainerRead = "read" // for image, user and environment
	DevcontainerRun  = "run"  // and its lifecycle commands are run inside
)

// Devcontainers are these words.
var Devcontainers = []string{DevcontainerOff, DevcontainerRead, DevcontainerRun}

// withImages adds the keys about what a project may say of its container. The project itself
// sets none of them.
func withImages(f field) field {
	f.sub = append(slices.Clip(f.sub),
		field{key: "images", typ: typeList, check: badImagePattern,
			doc: "Images that a project's devcontainer.json may name; * stands for any text. None where it is not said.",
			put: func(t *target, v value) {
				t.settings.ContainerImages = append(t.settings.ContainerImages, *textValue[string](v))
			}},
		field{key: "project_env", typ: typeList, check: badPassed,
			doc: "Variables that a project's devcontainer.json may set inside; * may end a name. None where it is not said.",
			put: func(t *target, v value) {
				t.settings.ProjectEnv = append(t.settings.ProjectEnv, *textValue[string](v))
			}},
		field{key: "devcontainer", typ: typeEnum, enum: Devcontainers,
			doc: "What is taken of a project's devcontainer.json. read: image, user and environment. run: its lifecycle commands too, inside.",
			put: func(t *target, v value) { t.settings.Devcontainer = textValue[string](v) }})
	return f
}

func badImagePattern(v value) string {
	if why := BadImage(strings.ReplaceAll(v.text, "*", "x")); why != "" {
		return fmt.Sprintf("%q: %s", v.text, why)
	}
	if strings.Trim(v.text, "*/") == "" {
		return quoted(v.text) + " is every image of the world; name a registry or a repository"
	}
	return ""
}

// images takes what a file says of images. The operator's lists and the operator's off stand.
func (l *loader) images(r *decoded) {
	s := &l.out.Settings
	l.projectList(&s.ContainerImages, r.settings.ContainerImages, "images projects may name")
	l.projectList(&s.ProjectEnv, r.settings.ProjectEnv, "variables projects may set")
	if r.settings.Devcontainer != nil && (s.Devcontainer == nil || s.Devcontainer.V != DevcontainerOff) {
		s.Devcontainer = r.settings.Devcontainer
	}
}

func (l *loader) projectList(into *[]policy.Value[string], list []policy.Value[string], what string) {
	switch {
	case len(list) > maxImages:
		l.problems = append(l.problems, at(list[maxImages].Source, fmt.Sprintf("more than %d entries stand in this list", maxImages)))
	case len(*into) == 0:
		*into = list
	case len(list) > 0:
		l.out.Warnings = append(l.out.Warnings, policy.Warning{Source: list[0].Source,
			Message: fmt.Sprintf("ignored: %s says which %s", (*into)[0].Source, what)})
	}
}

// ProjectMaySet reports whether a project may set a variable. One by which programs run something
// else has to be listed by its own name.
func (s *Settings) ProjectMaySet(name string) bool {
	return slices.ContainsFunc(s.ProjectEnv, func(p policy.Value[string]) bool {
		return p.V == name || starMatch(p.V, name) && !isOf(callersNever, name)
	})
}

// ImageAllowed reports whether a project may name an image.
func (s *Settings) ImageAllowed(name string) bool {
	return BadImage(name) == "" && slices.ContainsFunc(s.ContainerImages, func(p policy.Value[string]) bool { return starMatch(p.V, name) })
}
