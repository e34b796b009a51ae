package taskplan

import "strings"

// StepTemplate is one line of the step table: a call that a plan or a
// recommendation may hold.
type StepTemplate struct {
	ID       string
	Label    string
	Tool     string
	Args     []Arg
	When     []string // facts that all have to hold; "!" before one that must not
	Requires []string // steps without which this one is left out
	After    []string // steps that come before it, where they are in the plan
	Needs    []string // inputs that it cannot be called without
	Gates    []string // kinds of checkpoints beside those that its tool brings
	Reason   string
	Hint     string // of approval; "" is what the call's effect says
}

// Arg is one argument of a template: a value that stands here, or one that
// comes from an input.
type Arg struct {
	Name     string
	Value    any    // of a literal
	From     string // the input
	Optional bool   // left out where the tool does not have it; else the whole step is
}

// Steps lists all templates, of plans and of recommendations, for whoever has
// the tools' schemas to compare them with.
func Steps() []StepTemplate {
	out := join(stepTable())
	for _, r := range recommendations() {
		out = append(out, r.StepTemplate)
	}
	return out
}

// lit, from and those below them write the argument lists of the tables.
func lit(name string, value any) Arg  { return Arg{Name: name, Value: value} }
func from(name, input string) Arg     { return Arg{Name: name, From: input} }
func optional(a Arg) Arg              { a.Optional = true; return a }
func args(a ...Arg) []Arg             { return a }
func here(a ...Arg) []Arg             { return append(a, optional(from("name", "workspace_id"))) }
func named(a ...Arg) []Arg            { return append([]Arg{from("name", "workspace_id")}, a...) }
func dry(a ...Arg) []Arg              { return append(a, lit("dry_run", true)) }
func gates(kinds ...string) []string  { return kinds }
func facts(words string) []string     { return strings.Fields(words) }
func steps(words string) []string     { return strings.Fields(words) }
func template(id string) StepTemplate { return stepByID()[id] }

// holds says whether the facts of a condition are so.
func (s *scene) holds(when []string) bool {
	for _, w := range when {
		name, not := strings.CutPrefix(w, "!")
		if s.facts[name] == not {
			return false
		}
	}
	return true
}

// call makes a template's arguments for this tool. It gives false where the
// tool could not be called so: a dry run of a tool that has none would be the
// real thing.
func (s *scene) call(tool Tool, t StepTemplate) (map[string]any, bool) {
	out := make(map[string]any)
	for _, a := range t.Args {
		value := a.Value
		if a.From != "" {
			value = s.inputs[a.From]
		}
		if value == nil {
			if _, ok := tool.param(a.Name); !ok && !a.Optional {
				return nil, false
			}
			continue
		}
		if tool.takes(a.Name, value) {
			out[a.Name] = value
		} else if !a.Optional {
			return nil, false
		}
	}
	return out, true
}

// text puts inputs into a sentence of a table. What an input holds is not looked
// at again.
func (s *scene) text(sentence string) string {
	var out strings.Builder
	for {
		before, rest, open := strings.Cut(sentence, "{")
		name, after, closed := strings.Cut(rest, "}")
		value, known := s.inputs[name].(string)
		out.WriteString(before)
		if !open || !closed || !known {
			out.WriteString(sentence[len(before):])
			return cut(out.String(), maxLine)
		}
		out.WriteString(value)
		sentence = after
	}
}
