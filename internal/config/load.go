package config

import (
	"path/filepath"

	"carrel/internal/policy"
)

const operatorFile = "/etc/carrel/config.yaml"

// Load reads every layer that exists. The error is a [Problems] with all
// mistakes of all files and variables; with an error nothing is loaded, since
// a policy from half of what was written is not what anyone asked for.
func Load(opts Options) (*Loaded, error) {
	l := &loader{opts: opts, out: &Loaded{}}
	l.operator()
	l.environment()
	l.ceiling()
	l.user()
	l.project()
	if l.historyDir != nil {
		l.out.Settings.History.Dir = l.historyDir
	}
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	return l.out, nil
}

type loader struct {
	opts     Options
	out      *Loaded
	problems Problems

	historyDir *policy.Value[string] // as a variable says it
}

func (l *loader) operator() {
	file := l.opts.OperatorFile
	if file == "" {
		file = filepath.Join("/", l.opts.Root, operatorFile)
	}
	if r := l.trusted(file, KindOperator); r != nil {
		l.layer(r)
	}
}

func (l *loader) user() {
	file := UserFile(l.opts)
	if file == "" {
		return
	}
	l.outside(file, "the user's configuration")
	if r := l.trusted(file, KindUser); r != nil {
		l.layer(r)
	}
}

// UserFile is the path of the user's configuration, "" where no home is known.
// As the XDG specification says, a relative XDG_CONFIG_HOME counts as unset.
func UserFile(opts Options) string {
	dir := opts.ConfigHome
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(opts.Home) {
			return ""
		}
		dir = filepath.Join(opts.Home, ".config")
	}
	return filepath.Join(dir, "carrel", "config.yaml")
}

// outside warns where a file that must be out of the workspace's reach lies in
// the project.
func (l *loader) outside(file, what string) {
	if l.opts.Project != "" && inside(file, l.opts.Project) {
		l.out.Warnings = append(l.out.Warnings, policy.Warning{
			Source:  policy.Source{Layer: policy.LayerUser, File: file},
			Message: what + " lies inside the project, where the workspace may change it for the next run",
		})
	}
}

// trusted reads and decodes a file that may be absent.
func (l *loader) trusted(file string, kind Kind) *decoded {
	data, err := readTrusted(file)
	return l.decode(file, kind, data, err)
}

func (l *loader) decode(file string, kind Kind, data []byte, err error) *decoded {
	status := FileStatus{Kind: kind, Path: file, Present: !absent(err)}
	l.out.Files = append(l.out.Files, status)
	if !status.Present {
		return nil
	}
	if err != nil {
		l.problems = append(l.problems, readProblem(file, err))
		return nil
	}
	r, problems := decodeFile(data, file, kind, l.opts)
	l.problems = append(l.problems, problems...)
	l.out.Warnings = append(l.out.Warnings, r.warnings...)
	l.out.values = append(l.out.values, r.values...)
	return r
}

// layer takes what a file holds beside its policy, and its policy.
func (l *loader) layer(r *decoded) {
	for _, p := range r.projects {
		if p.Path == l.opts.Project {
			l.out.Layers = append(l.out.Layers, p.Layer())
		}
	}
	layer := policy.Layer{Kind: r.kind.layer(), Name: r.file, Request: r.request}
	if r.kind == KindOperator {
		layer.Ceiling = r.ceiling
	}
	l.out.Layers = append(l.out.Layers, layer)
	for _, p := range r.presets {
		l.preset(p)
	}
	l.out.Mounts = append(l.out.Mounts, r.mounts...)
	l.commands(r)
	if r.settings.Toolchain != nil {
		l.out.Settings.Toolchain = r.settings.Toolchain
	}
	if r.settings.RPCHost != nil {
		l.out.Settings.RPCHost = r.settings.RPCHost
	}
	if was := l.out.Settings.UnsandboxedHostExec; r.settings.UnsandboxedHostExec != nil && (was == nil || was.V) { // the operator's no stands
		l.out.Settings.UnsandboxedHostExec = r.settings.UnsandboxedHostExec
	}
	if was := l.out.Settings.Engine; r.settings.Engine != nil && (was == nil || was.V == EngineAuto) {
		l.out.Settings.Engine = r.settings.Engine
	}
	if was := l.out.Settings.ContainerEngine; r.settings.ContainerEngine != nil && (was == nil || was.V == EngineAuto) {
		l.out.Settings.ContainerEngine = r.settings.ContainerEngine
	}
	if r.settings.ContainerImage != nil && l.out.Settings.ContainerImage == nil { // the operator's file comes first
		l.out.Settings.ContainerImage = r.settings.ContainerImage
	}
	l.images(r)
	l.out.Settings.Lima.merge(r.settings.Lima)
	l.out.Settings.VM.merge(r.settings.VM)
	if r.settings.PromptsOff != nil {
		l.out.Settings.PromptsOff = r.settings.PromptsOff
	}
	if r.settings.AgentConfigDir != nil {
		l.out.Settings.AgentConfigDir = r.settings.AgentConfigDir
	}
	if r.settings.DisplaySize != nil {
		l.out.Settings.DisplaySize = r.settings.DisplaySize
	}
	if r.settings.DisplayGL != nil {
		l.out.Settings.DisplayGL = r.settings.DisplayGL
	}
	if was := l.out.Settings.AuditRequired; r.settings.AuditRequired != nil && (was == nil || !was.V) {
		l.out.Settings.AuditRequired = r.settings.AuditRequired
	}
	if was := l.out.Settings.AuditJournal; r.settings.AuditJournal != nil && (was == nil || !was.V) {
		l.out.Settings.AuditJournal = r.settings.AuditJournal
	}
	if r.settings.ApprovalsNotify != nil {
		l.out.Settings.ApprovalsNotify = r.settings.ApprovalsNotify
	}
	r.settings.Safeguards.over(l.out.Settings.Safeguards)
	l.out.Settings.Safeguards = r.settings.Safeguards
	l.out.Settings.Credentials = append(r.settings.Credentials, l.out.Settings.Credentials...)
	r.settings.History.over(l.out.Settings.History)
	l.out.Settings.History = r.settings.History
}

// preset adds one; the user's own replaces the operator's of the same name.
func (l *loader) preset(p Preset) {
	for i := range l.out.Presets {
		if l.out.Presets[i].Name == p.Name {
			l.out.Presets[i] = p
			return
		}
	}
	l.out.Presets = append(l.out.Presets, p)
}

// projectFiles are the names that the project's configuration may have.
var projectFiles = [][]string{{".carrel.yaml"}, {".carrel", "config.yaml"}}

func (l *loader) project() {
	if l.opts.Project == "" {
		return
	}
	var first string
	for _, names := range projectFiles {
		file := filepath.Join(append([]string{l.opts.Project}, names...)...)
		data, err := readProject(l.opts.Project, names...)
		r := l.decode(file, KindProject, data, err)
		switch {
		case absent(err):
			continue
		case first != "":
			l.problems = append(l.problems, problemf(file, "", "there is %s too: a project has one configuration file", first))
		case r != nil:
			l.layer(r)
		}
		first = file
	}
}
