package cli

import (
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/workspace"
)

// explained is what explain prints: as JSON as it stands, as text by its
// methods. Both come from one value, so neither says more than the other.
type explained struct {
	Project    text             `json:"project"`
	Cwd        text             `json:"cwd"`
	Home       text             `json:"home,omitempty"`
	Command    []text           `json:"command"`
	Preset     string           `json:"preset,omitempty"`
	Agent      *explainedAgent  `json:"agent,omitempty"`
	Engine     engineJSON       `json:"engine"`
	Dimensions []dimension      `json:"dimensions"`
	Network    networkJSON      `json:"network"`
	Mounts     []explainedMount `json:"mounts"` // of the configuration and of the profile
	Rules      []fileRule       `json:"rules"`
	Protected  []fileRule       `json:"protected"` // names that make somebody run code later
	Warnings   []warning        `json:"warnings"`
	Paths      []pathAnswer     `json:"paths,omitempty"`
	Hosts      []hostAnswer     `json:"hosts,omitempty"`
	Plan       *plan            `json:"plan,omitempty"`
}

type explainedAgent struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Executable text     `json:"executable"`
	Via        []text   `json:"via,omitempty"` // wrappers and runners passed on the way
	Hosts      []string `json:"hosts"`
	PromptsOff bool     `json:"prompts_off"`         // it starts with its own questions off
	Directory  text     `json:"directory,omitempty"` // of agent_config_dir
}

// engineJSON is what would make the walls here, and why that.
type engineJSON struct {
	Name string `json:"name"`
	Why  text   `json:"why"`
}

type dimension struct {
	Dimension policy.Dimension `json:"dimension"`
	Value     text             `json:"value"`
	Source    sourceJSON       `json:"source"`
	Where     text             `json:"where"` // the source as a person would write it
	Note      text             `json:"note,omitempty"`
}

type fileRule struct {
	Path   text       `json:"path,omitempty"`
	Glob   text       `json:"glob,omitempty"`
	Access string     `json:"access"` // read, write, deny; protect for a protecting glob
	Source sourceJSON `json:"source"`
	Where  text       `json:"where"`
	Note   text       `json:"note,omitempty"`
}

type explainedMount struct {
	Host   text       `json:"host_path"`      // as it was written
	Real   text       `json:"real,omitempty"` // where that leads, when somewhere else; it is what was decided on
	Inside text       `json:"inside"`         // where it shows
	Access string     `json:"access"`
	Source sourceJSON `json:"source"`
	Where  text       `json:"where"`
}

type warning struct {
	Message text       `json:"message"`
	Source  sourceJSON `json:"source"`
	Where   text       `json:"where"`
}

type pathAnswer struct {
	Path   text      `json:"path"`
	Real   text      `json:"real,omitempty"` // where symlinks lead, when somewhere else
	Access string    `json:"access"`         // none, read, write, deny; private: its own copy; device
	Why    text      `json:"why"`
	Rule   *fileRule `json:"rule,omitempty"`
	Inside text      `json:"inside,omitempty"` // what a command finds there
	Change []text    `json:"change,omitempty"`
}

type hostAnswer struct {
	Host    text   `json:"host"`
	Allowed bool   `json:"allowed"`
	Code    string `json:"code,omitempty"` // of network filtered: listed, not_listed, denied, special, method, malformed
	Why     text   `json:"why"`
	Rule    text   `json:"rule,omitempty"`
	Change  []text `json:"change,omitempty"`
}

// explained gathers the answers to everything that was asked.
func (a *app) explained(p *workspace.Prepared, f *explainFlags) (*explained, error) {
	at := p.Location()
	x := &explained{
		Project: text(at.Project), Cwd: text(at.Cwd), Home: text(at.Home), Preset: f.run.preset,
		Command: show.Texts(p.Plan.Command.Argv), Network: networkOf(p.Policy), Rules: rulesOf(p.Policy.Rules), Protected: rulesOf(p.Protected()),
	}
	if m, ok := p.Recognition(); ok {
		x.Agent = &explainedAgent{Name: m.Agent.Name, Title: m.Agent.Title, Executable: text(m.Executable), Via: show.Texts(m.Via), Hosts: m.Agent.Hosts, PromptsOff: p.StartsWithoutPrompts(), Directory: text(p.AgentDirectory())}
	}
	x.Engine = engineJSON{Name: string(p.Engine()), Why: text(p.EngineReason())}
	for _, r := range p.Policy.Reasons {
		x.Dimensions = append(x.Dimensions, dimension{Dimension: r.Dimension, Value: text(r.Value),
			Source: sourceOf(r.Source), Where: text(r.Source.String()), Note: text(r.Note)})
	}
	x.Mounts = mountsOf(p.Mounts())
	x.Warnings = append(warningsOf(p.Loaded.Warnings), warningsOf(p.Policy.Warnings)...)
	for _, where := range f.paths {
		answer, err := p.AskPath(where)
		if err != nil {
			return nil, &placeError{where: where, err: err}
		}
		x.Paths = append(x.Paths, pathOf(answer))
	}
	for _, host := range f.hosts {
		x.Hosts = append(x.Hosts, hostOf(policy.Explain(p.Policy, policy.Query{Host: host}).Host))
	}
	if f.plan {
		x.Plan = planOf(p.Plan)
	}
	return x, nil
}

// placeError is a --path that means nothing.
type placeError struct {
	where string
	err   error
}

func (e *placeError) Error() string { return "--path " + show.Quote(e.where) + ": " + e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

func warningsOf(list []policy.Warning) []warning {
	out := make([]warning, len(list))
	for i, w := range list {
		out[i] = warning{Message: text(w.Message), Source: sourceOf(w.Source), Where: text(w.Source.String())}
	}
	return out
}

func rulesOf(list []policy.Rule) []fileRule {
	out := make([]fileRule, len(list))
	for i, r := range list {
		out[i] = ruleOf(r)
	}
	return out
}

func mountsOf(list []workspace.MountAnswer) []explainedMount {
	out := make([]explainedMount, len(list))
	for i, m := range list {
		out[i] = explainedMount{Host: text(m.Host), Inside: text(m.Inside), Access: m.Access.String(), Source: sourceOf(m.Source), Where: text(m.Source.String())}
		if m.Real != m.Host {
			out[i].Real = text(m.Real)
		}
	}
	return out
}

func ruleOf(r policy.Rule) fileRule {
	out := fileRule{Path: text(r.Path), Glob: text(r.Glob), Access: r.Access.String(),
		Source: sourceOf(r.Source), Where: text(r.Source.String()), Note: text(r.Note)}
	if r.Glob != "" && r.Access == policy.Read {
		out.Access = "protect"
	}
	return out
}

func pathOf(a workspace.PathAnswer) pathAnswer {
	access, why := accessOf(a)
	out := pathAnswer{Path: text(a.Asked), Access: access, Why: text(why), Change: show.Texts(a.Change)}
	if a.Asked != a.Path {
		out.Real = text(a.Path)
	}
	if a.Decision.Rule != nil {
		r := ruleOf(*a.Decision.Rule)
		out.Rule = &r
	}
	out.Inside = text(heldBy(a))
	return out
}

func hostOf(h *policy.HostExplanation) hostAnswer {
	out := hostAnswer{Host: text(h.Host), Allowed: h.Allowed, Code: string(h.Code), Why: text(h.Why), Change: show.Texts(h.Change)}
	if h.Rule != nil {
		out.Rule = text(h.Rule.V + " (" + h.Rule.Source.String() + ")")
	}
	return out
}

// sourceJSON is a policy.Source in JSON.
type sourceJSON struct {
	Layer  string `json:"layer"`
	File   text   `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   text   `json:"text,omitempty"` // flag, variable, key or built-in reason
}

func sourceOf(s policy.Source) sourceJSON {
	return sourceJSON{Layer: s.Layer.String(), File: text(s.File), Line: s.Line, Column: s.Column, Text: text(s.Text)}
}
