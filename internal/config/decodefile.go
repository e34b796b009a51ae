package config

import (
	"path"
	"slices"

	"carrel/internal/policy"
)

// decoded is what one file holds.
type decoded struct {
	file     string
	kind     Kind
	request  policy.Request
	ceiling  *policy.Ceiling
	presets  []Preset
	projects []ProjectSection
	settings Settings
	saved    *Definition // of a profile
	mounts   []DefinedMount
	commands []HostCommand
	warnings []policy.Warning
	values   []Setting
}

// decodeFile decodes one file. With problems the result holds nothing but the
// warnings.
func decodeFile(data []byte, file string, kind Kind, opts Options) (*decoded, Problems) {
	out := &decoded{file: file, kind: kind}
	doc, problems := parse(data, file)
	if len(problems) > 0 {
		return out, problems
	}
	if doc == nil {
		if kind == KindCeiling {
			return out, Problems{problemf(file, "", "the ceiling is empty: an empty file is no ceiling, and you asked for one")}
		}
		return out, nil
	}
	d := &decoder{file: file, kind: kind}
	full := *out
	t := &target{request: &full.request, settings: &full.settings, presets: &full.presets, projects: &full.projects, mounts: &full.mounts, commands: &full.commands, decoder: d}
	fields := fieldsOf(kind)
	if kind == KindProfile {
		full.saved = &Definition{text: make(map[string]policy.Source)}
		t.definition, t.request = full.saved, &full.saved.Request
	}
	if kind == KindCeiling || kind == KindOperator && find(fields, "ceiling") != nil {
		full.ceiling = &policy.Ceiling{Source: policy.Source{Layer: policy.LayerCeiling, File: file}}
		t.ceiling = full.ceiling
	}
	d.mapping(doc.Content[0], "", fields, t)
	d.finish(&full, opts)
	if len(d.problems) > 0 {
		out.warnings = d.warnings
		return out, d.problems.sorted()
	}
	full.warnings, full.values = d.warnings, d.values
	return &full, nil
}

// fieldsOf are the keys of one kind of file.
func fieldsOf(kind Kind) []field {
	switch kind {
	case KindCeiling:
		return ceilingFields()
	case KindProfile:
		return definitionFields()
	}
	return configFields()
}

// finish does what needs the whole file: personas of presets, definitions, mounts.
func (d *decoder) finish(out *decoded, opts Options) {
	for i := range out.presets {
		d.finishPreset(&out.presets[i], opts)
	}
	if out.saved != nil {
		d.finishDefinition(out.saved)
	}
	d.mountsMeet(out.mounts)
	out.request.Files = append(out.request.Files, grantsOf(out.mounts)...)
	d.commandsMeet(out.commands)
	for _, c := range out.commands {
		out.request.HostCommands = append(out.request.HostCommands, policy.Value[string]{V: c.Name, Source: c.Source})
	}
	if out.ceiling == nil {
		return
	}
	d.finishCeiling(out.ceiling)
	for _, m := range out.ceiling.Mounts {
		if m.WorkspacePath != "" && m.WorkspacePath != path.Clean(m.HostPath) {
			d.warnings = append(d.warnings, policy.Warning{Source: m.Source,
				Message: "workspace_path is not used: a process workspace shows the directory at its host_path"})
		}
	}
	if d.kind == KindCeiling && !out.ceiling.Restricted() {
		d.warnings = append(d.warnings, policy.Warning{
			Source:  policy.Source{Layer: policy.LayerCeiling, File: d.file, Line: 1},
			Message: "the ceiling limits nothing",
		})
	}
}

// finishPreset gives the preset its persona: a person drives what a person
// saved, unless they say otherwise.
func (d *decoder) finishPreset(p *Preset, opts Options) {
	if slices.Contains(opts.BuiltinPresets, p.Name) {
		d.problems = append(d.problems, Problem{File: d.file, Line: p.Source.Line, Column: p.Source.Column,
			Key: p.Source.Text, Message: quoted(p.Name) + " is a built-in preset: choose another name"})
	}
	if p.Request.Persona == nil {
		p.Request.Persona = &policy.Value[policy.Persona]{V: policy.Human, Source: p.Source}
	}
	p.Persona = p.Request.Persona.V
	stampRequest(&p.Request)
}

// Check decodes one file and returns its mistakes, nil where it is right, and what is
// ignored in it. Kind project applies the rules of a project's file, but the file itself is
// opened as any other.
func Check(file string, kind Kind) ([]Problem, []policy.Warning) {
	data, err := readTrusted(file)
	if err != nil {
		return []Problem{readProblem(file, err)}, nil
	}
	read, problems := decodeFile(data, file, kind, Options{})
	return problems, read.warnings
}
