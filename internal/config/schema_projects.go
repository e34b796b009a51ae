package config

import (
	"path"
	"unicode/utf8"

	"carrel/internal/policy"
)

// ProjectSection is what the user's file says of one project: it holds there and
// nowhere else, over the rest of the file.
type ProjectSection struct {
	Path    string // absolute and clean
	Request policy.Request
	Source  policy.Source
}

// Layer returns the section as the layer that it is in its project.
func (p ProjectSection) Layer() policy.Layer {
	return policy.Layer{Kind: policy.LayerUser, Name: p.Source.File, Section: true, Request: p.Request}
}

func projectsField() field {
	return field{key: "projects", typ: typeNamed, in: in(KindUser),
		doc: "What holds in one project alone, over the rest of this file: its absolute path, as `carrel projects` prints it, " +
			"with the keys of a policy. `carrel allow` writes it.",
		sub:   policyFields(),
		check: func(v value) string { return badProjectPath(v.name) },
		open:  openProjectSection}
}

func openProjectSection(t *target, v value) *target {
	*t.projects = append(*t.projects, ProjectSection{Path: v.name, Source: v.source})
	return &target{request: &(*t.projects)[len(*t.projects)-1].Request, settings: t.settings, decoder: t.decoder}
}

// badProjectPath says what is wrong with the path of a project as a key.
func badProjectPath(p string) string {
	switch {
	case !path.IsAbs(p) || path.Clean(p) != p:
		return quoted(p) + " is not the absolute path of a project, without . and .. in it"
	case !utf8.ValidString(p):
		return quoted(p) + " is not UTF-8, and a key of YAML is"
	}
	return ""
}
