package policy

import (
	"fmt"
	"path"

	"carrel/internal/policy/pathglob"
)

// Query asks for an explanation of the whole policy, and of one path or one
// host where they are given.
type Query struct {
	Path string // absolute; symlinks resolved by the caller
	Host string // a name or address, with an optional ":port"
}

// Explanation says why the policy is as it is. How it looks on a screen is the
// caller's business; every text in it may hold bytes that came from outside,
// quoted where they are not printable.
type Explanation struct {
	Reasons  []Reason
	Warnings []Warning
	Path     *PathExplanation // nil unless asked for
	Host     *HostExplanation // nil unless asked for
}

// PathExplanation says what holds at one path, and why.
type PathExplanation struct {
	Path     string
	Decision Decision
	Why      string   // one sentence
	Change   []string // what would change it: exact flags or lines
}

// HostExplanation says whether one host can be reached, and why.
type HostExplanation struct {
	Host    string
	Allowed bool
	Code    HostCode       // of network filtered, else ""
	Rule    *Value[string] // the entry that decided; nil if none
	Reason  Reason         // of the network dimension
	Why     string
	Change  []string
}

// Explain answers a query from a decided policy.
func Explain(e *Effective, q Query) Explanation {
	out := Explanation{Reasons: e.Reasons, Warnings: e.Warnings}
	if q.Path != "" {
		out.Path = explainPath(e, q.Path)
	}
	if q.Host != "" {
		out.Host = ExplainHost(e, q.Host)
	}
	return out
}

func explainPath(e *Effective, p string) *PathExplanation {
	x := &PathExplanation{Path: p, Decision: e.Lookup(p)}
	d := x.Decision
	switch {
	case d.Rule == nil && !path.IsAbs(p):
		x.Why = fmt.Sprintf("%s is not an absolute path", printable(p))
	case d.Rule == nil:
		x.Why = fmt.Sprintf("%s is not visible: no rule names it or a directory above it", printable(p))
		x.Change = grants(p, "--read", "--write")
	case d.Protected:
		x.Why = fmt.Sprintf("%s can be read but not changed: %s", printable(p), describe(d.Rule))
		x.Change = reopenings(p, d.Rule, "--write")
	case d.Access == Deny:
		x.Why = fmt.Sprintf("%s cannot be read or changed: %s", printable(p), describe(d.Rule))
		x.Change = reopenings(p, d.Rule, "--read")
	case d.Access == Read:
		x.Why = fmt.Sprintf("%s can be read but not changed: %s", printable(p), describe(d.Rule))
		x.Change = limits(d.Rule, grants(p, "--write"))
	default:
		x.Why = fmt.Sprintf("%s can be read and changed: %s", printable(p), describe(d.Rule))
		x.Change = []string{
			fmt.Sprintf("--protect %s makes it read-only", shellWord(pathglob.Literal(p))),
			fmt.Sprintf("--deny %s hides it", shellWord(pathglob.Literal(p))),
		}
	}
	return x
}

// grants lists the flag, the command and the line of the user's configuration that grant.
func grants(p string, flags ...string) []string {
	var out []string
	for _, f := range flags {
		key := f[len("--"):]
		out = append(out,
			fmt.Sprintf("%s %s", f, shellWord(p)),
			fmt.Sprintf("carrel allow %s %s, in this project from now on", f, shellWord(p)),
			fmt.Sprintf("%s: [%s] in the user's configuration", key, yamlWord(p)))
	}
	return out
}

// reopenings says how to take a deny or a protection back. A default gives way
// to an explicit grant; what a person wrote has to go from where it stands.
func reopenings(p string, r *Rule, flag string) []string {
	if r.Source.Layer == LayerDefault {
		return grants(p, flag)
	}
	if r.Source.File == "" {
		return []string{fmt.Sprintf("leave out %s", r.Source)}
	}
	return []string{fmt.Sprintf("remove the entry at %s", r.Source)}
}

// limits says that a ceiling stands above any flag.
func limits(r *Rule, change []string) []string {
	switch {
	case r.Source.Layer == LayerCeiling:
		return []string{fmt.Sprintf("widen the ceiling at %s", r.Source)}
	case r.Note != "":
		return []string{"widen the ceiling: " + r.Note}
	case r.Source.Layer == LayerProject:
		return []string{fmt.Sprintf("remove the entry at %s", r.Source)}
	}
	return change
}
