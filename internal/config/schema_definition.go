package config

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/policy"
)

// Definition is a workspace as somebody saved it: what is asked of the policy,
// and what there is to start in it. Profiles are made of it.
type Definition struct {
	Description   string
	Width, Height int    // of a desktop, in pixels; 0 is not said
	Cwd           string // absolute, or in ~; "" is where it is started
	Env           []EnvVar
	Request       policy.Request // without Env and Mounts
	Mounts        []DefinedMount
	Setup         []Command // run in this order, each waited for
	Apps          []Command // started when the setup is done
	Strict        bool      // what cannot be held wholly refuses the start

	Settings []Setting // every value as it was written, in the order of the file

	text map[string]policy.Source // of what a check of the whole speaks of
}

// EnvVar is a variable with its value inside.
type EnvVar struct {
	Name, Value string
	Source      policy.Source
}

// DefinedMount is a file or directory of the host and where it shows inside.
type DefinedMount struct {
	Host      string // absolute, or in ~
	Workspace string // absolute, or in ~; the same as Host where nothing else was said
	Write     bool
	Source    policy.Source
}

// Command is a program that a workspace starts: no shell reads it.
type Command struct {
	Name    string // "" where it has none
	Argv    []string
	Cwd     string // absolute, in ~, or relative to the workspace's; "" is the workspace's
	Env     []EnvVar
	Timeout time.Duration // of setup; 0 is no limit
	Source  policy.Source
}

// MaxPixels bounds each side of a desktop; the X protocol ends at 32,767.
const MaxPixels = 16384

// definitionFields are the keys of a profile.
func definitionFields() []field {
	return append([]field{
		{key: "description", typ: typeText,
			doc: "One line for profile list.",
			put: func(t *target, v value) { t.definition.Description = v.text }},
		{key: "size", typ: typeObject,
			doc: "Width and height of the desktop, in pixels.",
			sub: []field{
				{key: "width", typ: typeCount, doc: "From 1 to 16384.", check: badPixels,
					put: func(t *target, v value) { t.definition.Width = int(v.number); t.definition.text["size"] = v.source }},
				{key: "height", typ: typeCount, doc: "From 1 to 16384.", check: badPixels,
					put: func(t *target, v value) { t.definition.Height = int(v.number); t.definition.text["size"] = v.source }},
			}},
		{key: "cwd", typ: typeText,
			doc:   "The directory that is worked in, absolute or in ~; the project is the one around it. Without: where the workspace is started.",
			check: func(v value) string { return badHostPlace(v.text) },
			put:   func(t *target, v value) { t.definition.Cwd = cleanPlace(v.text) }},
		{key: "env", typ: typeMap,
			doc:   "Variables of every command, with their values.",
			check: badVariable,
			put: func(t *target, v value) {
				t.definition.Env = append(t.definition.Env, EnvVar{v.name, v.text, v.source})
			}},
		{key: "mounts", typ: typeObjects,
			doc:  "Files and directories of the host that show inside.",
			sub:  definedMountFields(),
			open: openDefinedMount},
		{key: "setup", typ: typeObjects,
			doc:  "Commands that run first, one after the other; the first that fails stops the workspace.",
			sub:  append(commandFields(), timeoutField()),
			open: openCommand(func(d *Definition) *[]Command { return &d.Setup })},
		{key: "apps", typ: typeObjects,
			doc:  "Programs that are started when the setup is done, and stay.",
			sub:  commandFields(),
			open: openCommand(func(d *Definition) *[]Command { return &d.Apps })},
		{key: "strict", typ: typeBool,
			doc: "true: what cannot be held or given wholly here refuses the start, where others start with a note.",
			put: func(t *target, v value) { t.definition.Strict = v.flag }},
	}, policyFields()...)
}

func definedMountFields() []field {
	return []field{
		{key: "host_path", typ: typeText, need: true,
			doc:   "The file or directory outside, absolute or in ~.",
			check: func(v value) string { return badHostPlace(v.text) },
			put:   putHost},
		{key: "workspace_path", typ: typeText,
			doc:   "A second path at which it shows inside, absolute or in ~: a link to host_path.",
			check: func(v value) string { return badHostPlace(v.text) },
			put:   func(t *target, v value) { t.defined.Workspace = cleanPlace(v.text) }},
		{key: "mode", typ: typeEnum, enum: []string{"read_only", "read_write"},
			doc: "read_only unless it says read_write.",
			put: func(t *target, v value) { t.defined.Write = v.text == "read_write" }},
	}
}

func openDefinedMount(t *target, v value) *target {
	t.definition.Mounts = append(t.definition.Mounts, DefinedMount{Source: v.source})
	inner := *t
	inner.defined = &t.definition.Mounts[len(t.definition.Mounts)-1]
	return &inner
}

func commandFields() []field {
	return []field{
		{key: "name", typ: typeText,
			doc:   "What it is called; each name stands once.",
			check: func(v value) string { return badCommandName(v.text) },
			put:   func(t *target, v value) { t.command.Name = v.text }},
		{key: "command", typ: typeList, need: true,
			doc: "The program and its arguments; no shell reads them.",
			open: func(t *target, v value) *target {
				if v.number == 0 {
					t.decoder.problems = append(t.decoder.problems, at(v.source, "the list is empty: the first entry is the program"))
				}
				return t
			},
			put: func(t *target, v value) { t.command.Argv = append(t.command.Argv, v.text) }},
		{key: "cwd", typ: typeText,
			doc:   "Where it runs: absolute, in ~, or relative to the workspace's directory.",
			check: func(v value) string { return badCommandPlace(v.text) },
			put:   func(t *target, v value) { t.command.Cwd = cleanPlace(v.text) }},
		{key: "env", typ: typeMap,
			doc:   "Variables of this command alone.",
			check: badVariable,
			put:   func(t *target, v value) { t.command.Env = append(t.command.Env, EnvVar{v.name, v.text, v.source}) }},
	}
}

func timeoutField() field {
	return field{key: "timeout", typ: typeDuration,
		doc: "How long it may take: 30s, 5m. What is not done by then has failed.",
		put: func(t *target, v value) { t.command.Timeout = time.Duration(v.number) }}
}

func openCommand(of func(*Definition) *[]Command) func(*target, value) *target {
	return func(t *target, v value) *target {
		list := of(t.definition)
		*list = append(*list, Command{Source: v.source})
		inner := *t
		inner.command = &(*list)[len(*list)-1]
		return &inner
	}
}

// finishDefinition does what needs the whole file.
func (d *decoder) finishDefinition(def *Definition) {
	fail := func(src policy.Source, msg string) { d.problems = append(d.problems, at(src, msg)) }
	if (def.Width == 0) != (def.Height == 0) {
		fail(def.text["size"], "a size has a width and a height: one of them is missing")
	}
	for _, v := range def.Env {
		if set, ok := def.Request.EnvSet[v.Name]; ok {
			fail(v.Source, quoted(v.Name)+" stands in environment.set too, in line "+lineOf(set.Source)+": say it once")
		}
	}
	for _, list := range [][]Command{def.Setup, def.Apps} {
		var names []string
		for _, c := range list {
			if len(c.Argv) > 0 && c.Argv[0] == "" {
				fail(c.Source, "the program is empty")
			}
			if c.Name != "" && slices.Contains(names, c.Name) {
				fail(c.Source, "the name "+quoted(c.Name)+" stands twice")
			}
			names = append(names, c.Name)
		}
	}
	d.mountsMeet(def.Mounts)
	def.text = nil
}

func badPixels(v value) string {
	if v.number < 1 || v.number > MaxPixels {
		return v.text + " is not a number of pixels from 1 to 16384"
	}
	return ""
}

// badVariable says what is wrong with the name of a variable. What the name of
// one may be beyond that is policy's to say.
func badVariable(v value) string {
	if v.name == "" || strings.ContainsAny(v.name, "=\x00") {
		return quoted(v.name) + " is not the name of a variable"
	}
	return ""
}

// badHostPlace wants a place that does not depend on where it is read.
func badHostPlace(p string) string {
	switch {
	case !strings.HasPrefix(p, "/") && p != "~" && !strings.HasPrefix(p, "~/"):
		return quoted(p) + " is neither an absolute path nor one in ~"
	case climbs(p):
		return quoted(p) + " has .. in it: write the path without"
	}
	return ""
}

func badCommandPlace(p string) string {
	switch {
	case p == "":
		return "the path is empty"
	case climbs(p):
		return quoted(p) + " has .. in it: write the path without"
	case strings.HasPrefix(p, "~") && p != "~" && !strings.HasPrefix(p, "~/"):
		return quoted(p) + " is another user's home: write it as an absolute path"
	}
	return ""
}

func climbs(p string) bool { return slices.Contains(strings.Split(p, "/"), "..") }

func cleanPlace(p string) string {
	if p == "" {
		return ""
	}
	return path.Clean(p)
}

func badCommandName(name string) string {
	if badPresetName(name) != "" {
		return quoted(name) + " is not a name: use up to 64 letters, digits, dots, dashes and underscores"
	}
	return ""
}

func at(src policy.Source, msg string) Problem {
	return Problem{File: src.File, Line: src.Line, Column: src.Column, Key: src.Text, Message: msg}
}

func lineOf(s policy.Source) string { return strconv.Itoa(s.Line) }
