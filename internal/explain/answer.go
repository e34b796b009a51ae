package explain

import (
	"fmt"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/show"
)

// Answer is what explain prints: as JSON as it stands, as text by its
// methods. Both come from one value, so neither says more than the other.
type Answer struct {
	Project    api.Text         `json:"project"`
	Cwd        api.Text         `json:"cwd"`
	Home       api.Text         `json:"home,omitempty"`
	Command    []api.Text       `json:"command"`
	Preset     string           `json:"preset,omitempty"`
	Agent      *explainedAgent  `json:"agent,omitempty"`
	Engine     engineJSON       `json:"engine"`
	Dimensions []dimension      `json:"dimensions"`
	Network    networkJSON      `json:"network"`
	Variables  []variable       `json:"variables"` // that come from outside
	Mounts     []explainedMount `json:"mounts"`    // of the configuration and of the profile
	Rules      []fileRule       `json:"rules"`
	Protected  []fileRule       `json:"protected"` // names that make code run later
	Warnings   []Warning        `json:"warnings"`
	Paths      []pathAnswer     `json:"paths,omitempty"`
	Hosts      []hostAnswer     `json:"hosts,omitempty"`
	Plan       *plan            `json:"plan,omitempty"`
}

type explainedAgent struct {
	Name       string     `json:"name"`
	Title      string     `json:"title"`
	Executable api.Text   `json:"executable"`
	Via        []api.Text `json:"via,omitempty"` // wrappers and runners passed on the way
	Hosts      []string   `json:"hosts"`
	PromptsOff bool       `json:"prompts_off"`         // it starts with its own questions off
	Directory  api.Text   `json:"directory,omitempty"` // of agent_config_dir
}

// engineJSON is what would make the walls here, and why that.
type engineJSON struct {
	Name string   `json:"name"`
	Why  api.Text `json:"why"`
}

type dimension struct {
	Dimension policy.Dimension `json:"dimension"`
	Value     api.Text         `json:"value"`
	Source    Source           `json:"source"`
	Where     api.Text         `json:"where"` // the source as a person would write it
	Note      api.Text         `json:"note,omitempty"`
}

type fileRule struct {
	Path   api.Text `json:"path,omitempty"`
	Glob   api.Text `json:"glob,omitempty"`
	Access string   `json:"access"` // read, write, deny; protect for a protecting glob
	Source Source   `json:"source"`
	Where  api.Text `json:"where"`
	Note   api.Text `json:"note,omitempty"`
}

type explainedMount struct {
	Host   api.Text `json:"host_path"`      // as it was written
	Real   api.Text `json:"real,omitempty"` // where that leads, when somewhere else; it is what was decided on
	Inside api.Text `json:"inside"`         // where it shows
	Access string   `json:"access"`
	Source Source   `json:"source"`
	Where  api.Text `json:"where"`
}

// Warning is what a person should look at, with where it comes from.
type Warning struct {
	Message api.Text `json:"message"`
	Source  Source   `json:"source"`
	Where   api.Text `json:"where"`
}

type pathAnswer struct {
	Path   api.Text   `json:"path"`
	Real   api.Text   `json:"real,omitempty"` // where symlinks lead, when somewhere else
	Access string     `json:"access"`         // none, read, write, deny; private: its own copy; device
	Why    api.Text   `json:"why"`
	Rule   *fileRule  `json:"rule,omitempty"`
	Inside api.Text   `json:"inside,omitempty"` // what a command finds there
	Change []api.Text `json:"change,omitempty"`
}

type hostAnswer struct {
	Host    api.Text   `json:"host"`
	Allowed bool       `json:"allowed"`
	Code    string     `json:"code,omitempty"` // of network filtered: listed, not_listed, denied, special, method, malformed
	Why     api.Text   `json:"why"`
	Rule    api.Text   `json:"rule,omitempty"`
	Change  []api.Text `json:"change,omitempty"`
}

// variable is one of the environment that comes from outside; its value is not told.
type variable struct {
	Name   api.Text `json:"name"`
	Source Source   `json:"source"`
	Where  api.Text `json:"where"` // "" where every command gets it
}

// Question is what is asked of a prepared workspace.
type Question struct {
	Preset       string   // that it was prepared with
	Paths, Hosts []string // what becomes of these
	Plan         bool     // with the compiled plan
}

// Of gathers the answers to everything that was asked.
func Of(p *decide.Decision, f Question) (*Answer, error) {
	at := p.Location()
	x := &Answer{
		Project: api.Text(at.Project), Cwd: api.Text(at.Cwd), Home: api.Text(at.Home), Preset: f.Preset,
		Command: show.Texts(p.Plan.Command.Argv), Network: networkOf(p.Policy), Rules: rulesOf(p.Policy.Rules), Protected: rulesOf(p.Protected()),
	}
	if m, ok := p.Recognition(); ok {
		x.Agent = &explainedAgent{Name: m.Agent.Name, Title: m.Agent.Title, Executable: api.Text(m.Executable), Via: show.Texts(m.Via), Hosts: m.Agent.Hosts, PromptsOff: p.StartsWithoutPrompts(), Directory: api.Text(p.AgentDirectory())}
	}
	x.Engine = engineJSON{Name: string(p.Engine()), Why: api.Text(p.EngineReason())}
	for _, r := range p.Policy.Reasons {
		x.Dimensions = append(x.Dimensions, dimension{Dimension: r.Dimension, Value: api.Text(r.Value),
			Source: SourceOf(r.Source), Where: api.Text(r.Source.String()), Note: api.Text(r.Note)})
	}
	x.environment(decide.VariablesOf(p))
	x.Mounts = mountsOf(p.Mounts())
	x.Warnings = append(WarningsOf(p.Loaded.Warnings), WarningsOf(p.Policy.Warnings)...)
	for _, where := range f.Paths {
		answer, err := p.AskPath(where)
		if err != nil {
			return nil, &placeError{where: where, err: err}
		}
		x.Paths = append(x.Paths, pathOf(answer))
	}
	for _, host := range f.Hosts {
		x.Hosts = append(x.Hosts, hostOf(policy.ExplainHost(p.Policy, host)))
	}
	if f.Plan {
		x.Plan = planOf(p.Plan)
	}
	return x, nil
}

// environment lists the variables that come from outside, and counts in their dimension
// what the command has rather than the rules.
func (x *Answer) environment(v decide.Variables) {
	x.Variables = []variable{}
	for _, one := range v.Passed {
		where := api.Text("")
		if one.Source.Text != "" || one.Source.File != "" {
			where = api.Text(one.Source.String())
		}
		x.Variables = append(x.Variables, variable{Name: api.Text(one.V), Source: SourceOf(one.Source), Where: where})
	}
	for i := range x.Dimensions {
		if d := &x.Dimensions[i]; d.Dimension == policy.DimEnv {
			d.Value = api.Text(fmt.Sprintf("%d passed, %d set, %d kept out", len(v.Passed), v.Set, v.Kept))
		}
	}
}

// placeError is a --path that means nothing.
type placeError struct {
	where string
	err   error
}

func (e *placeError) Error() string { return "--path " + show.Quote(e.where) + ": " + e.err.Error() }
func (e *placeError) Unwrap() error { return e.err }

// WarningsOf gives warnings as they are printed.
func WarningsOf(list []policy.Warning) []Warning {
	out := make([]Warning, len(list))
	for i, w := range list {
		out[i] = Warning{Message: api.Text(w.Message), Source: SourceOf(w.Source), Where: api.Text(w.Source.String())}
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

func mountsOf(list []decide.MountAnswer) []explainedMount {
	out := make([]explainedMount, len(list))
	for i, m := range list {
		out[i] = explainedMount{Host: api.Text(m.Host), Inside: api.Text(m.Inside), Access: m.Access.String(), Source: SourceOf(m.Source), Where: api.Text(m.Source.String())}
		if m.Real != m.Host {
			out[i].Real = api.Text(m.Real)
		}
	}
	return out
}

func ruleOf(r policy.Rule) fileRule {
	out := fileRule{Path: api.Text(r.Path), Glob: api.Text(r.Glob), Access: r.Access.String(),
		Source: SourceOf(r.Source), Where: api.Text(r.Source.String()), Note: api.Text(r.Note)}
	if r.Glob != "" && r.Access == policy.Read {
		out.Access = "protect"
	}
	return out
}

func pathOf(a decide.PathAnswer) pathAnswer {
	access, why := accessOf(a)
	out := pathAnswer{Path: api.Text(a.Asked), Access: access, Why: api.Text(why), Change: show.Texts(a.Change)}
	if a.Asked != a.Path {
		out.Real = api.Text(a.Path)
	}
	if a.Decision.Rule != nil {
		r := ruleOf(*a.Decision.Rule)
		out.Rule = &r
	}
	out.Inside = api.Text(heldBy(a))
	return out
}

func hostOf(h *policy.HostExplanation) hostAnswer {
	out := hostAnswer{Host: api.Text(h.Host), Allowed: h.Allowed, Code: string(h.Code), Why: api.Text(h.Why), Change: show.Texts(h.Change)}
	if h.Rule != nil {
		out.Rule = api.Text(h.Rule.V + " (" + h.Rule.Source.String() + ")")
	}
	return out
}

// Source is a policy.Source in JSON.
type Source struct {
	Layer  string   `json:"layer"`
	File   api.Text `json:"file,omitempty"`
	Line   int      `json:"line,omitempty"`
	Column int      `json:"column,omitempty"`
	Text   api.Text `json:"text,omitempty"` // flag, variable, key or built-in reason
}

// SourceOf gives a source as it is printed.
func SourceOf(s policy.Source) Source {
	return Source{Layer: s.Layer.String(), File: api.Text(s.File), Line: s.Line, Column: s.Column, Text: api.Text(s.Text)}
}

// Setting is one key with its value, and where it was said.
type Setting struct {
	Key    api.Text `json:"key"`
	Value  api.Text `json:"value"`
	Source Source   `json:"source"`
	Where  string   `json:"-"` // for a table that names the key beside it
}

// SettingOf gives a key and its value as they are printed.
func SettingOf(key, value string, s policy.Source) Setting {
	return Setting{Key: api.Text(key), Value: api.Text(value), Source: SourceOf(s), Where: Place(s)}
}

// Place is where a value stands, without the key that is shown beside it.
func Place(s policy.Source) string {
	if s.File == "" {
		return "environment"
	}
	return fmt.Sprintf("%s:%d", show.QuoteIf(s.File), s.Line)
}
