package config

import (
	"strings"
)

// ContainerEngines are the words for the program that runs containers.
var ContainerEngines = []string{EngineAuto, "podman", "docker"}

// maxImageName bounds the name of an image, in bytes.
const maxImageName = 512

func containerField() field {
	return field{key: "container", typ: typeObject, in: userFiles,
		doc: "What backend container uses. What the operator names, no other file changes.",
		sub: []field{
			{key: "engine", typ: typeEnum, enum: ContainerEngines,
				doc: "The program that runs containers. auto: podman where it is installed, else docker.",
				put: func(t *target, v value) { t.settings.ContainerEngine = textValue[string](v) }},
			{key: "image", typ: typeText, check: func(v value) string { return BadImage(v.text) },
				doc: "The image whose system a workspace has, by name or id. It is never fetched by a run.",
				put: func(t *target, v value) { t.settings.ContainerImage = textValue[string](v) }},
		}}
}

// BadImage says what is wrong with the name of an image, "" if nothing: it becomes an
// argument of the engine, and must not be taken for an option.
func BadImage(name string) string {
	plain := func(r rune) bool { return r > ' ' && r < 0x7f && !strings.ContainsRune(`"'\$;&|<>*?`+"`", r) }
	switch {
	case name == "":
		return "it is empty"
	case len(name) > maxImageName:
		return "it is longer than 512 bytes"
	case strings.HasPrefix(name, "-"), strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }):
		return "it is no name of an image"
	}
	return ""
}
