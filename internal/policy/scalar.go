package policy

import (
	"fmt"
	"strconv"
	"time"
)

// dimension describes a decided value that has an order.
type dimension[T comparable] struct {
	name    Dimension
	initial T                        // where nobody says anything
	wider   func(a, b T) bool        // a grants more than b
	known   func(T) bool             // a value that exists
	text    func(T) string           // as a person would write it
	asked   func(*Request) *Value[T] // what a layer asks for
	bound   func(*Ceiling) *Value[T] // what a ceiling allows; nil: everything
}

// choice is a value on its way to being decided.
type choice[T any] struct {
	Value[T]
	note    string
	limited bool // it is the ceiling's
}

// because says why a dimension has what was chosen.
func because[T any](d *decision, dim Dimension, value string, c choice[T]) {
	d.out.Reasons = append(d.out.Reasons, Reason{Dimension: dim, Value: value, Source: c.Source, Note: c.note, Limited: c.limited})
}

func (d *decision) persona() {
	known := func(p Persona) bool { return p == Human || p == Agent }
	get := func(r *Request) *Value[Persona] { return r.Persona }
	// Unknown means most restrictive: nobody said who drives, so an agent does.
	c, _ := strongest(d, DimPersona, get, known)
	if c == nil {
		c = &Value[Persona]{V: Agent, Source: builtIn}
	}
	for _, l := range d.project {
		if p := l.Request.Persona; p != nil {
			d.ignored(stamp(l, *p).Source, "it never sets the persona")
		}
	}
	d.out.Persona = c.V
	d.reason(DimPersona, string(c.V), c.Source, "")
}

func (d *decision) home() {
	c := settle(d, dimension[HomeMode]{
		name: DimHome, initial: HomeToolchains,
		wider: byRank(homeRank), known: inRank(homeRank), text: func(m HomeMode) string { return string(m) },
		asked: func(r *Request) *Value[HomeMode] { return r.Home },
		bound: func(c *Ceiling) *Value[HomeMode] { return c.Home },
	})
	d.out.Home = c.V
	because(d, DimHome, string(c.V), c)
}

func (d *decision) nested() {
	c := settle(d, dimension[Nesting]{
		name: DimNested, initial: NestedUserns,
		wider: byRank(nestedRank), known: inRank(nestedRank), text: func(m Nesting) string { return string(m) },
		asked: func(r *Request) *Value[Nesting] { return r.Nested },
		bound: func(c *Ceiling) *Value[Nesting] { return c.Nested },
	})
	d.out.Nested = c.V
	because(d, DimNested, string(c.V), c)
}

func (d *decision) history() {
	c := settle(d, dimension[HistoryMode]{
		name: DimHistory, initial: HistoryOn,
		wider: byRank(historyRank), known: inRank(historyRank), text: func(m HistoryMode) string { return string(m) },
		asked: func(r *Request) *Value[HistoryMode] { return r.History },
		bound: func(c *Ceiling) *Value[HistoryMode] { return c.History },
	})
	d.out.History = c.V
	because(d, DimHistory, string(c.V), c)
}

func (d *decision) secrets() {
	c := settle(d, dimension[SecretsMode]{
		name: DimSecrets, initial: SecretsMasked,
		wider: byRank(secretsRank), known: inRank(secretsRank), text: func(m SecretsMode) string { return string(m) },
		asked: func(r *Request) *Value[SecretsMode] { return r.Secrets },
		bound: func(c *Ceiling) *Value[SecretsMode] { return c.Secrets },
	})
	d.out.Secrets = c.V
	because(d, DimSecrets, string(c.V), c)
}

func (d *decision) resources() {
	t := settle(d, limit(DimTimeout, time.Duration.String,
		func(r *Request) *Value[time.Duration] { return r.Timeout },
		func(c *Ceiling) *Value[time.Duration] { return c.Timeout }))
	m := settle(d, limit(DimMemory, func(n int64) string { return strconv.FormatInt(n, 10) + " bytes" },
		func(r *Request) *Value[int64] { return r.Memory },
		func(c *Ceiling) *Value[int64] { return c.Memory }))
	p := settle(d, limit(DimPids, func(n int64) string { return strconv.FormatInt(n, 10) },
		func(r *Request) *Value[int64] { return r.Pids },
		func(c *Ceiling) *Value[int64] { return c.Pids }))
	d.out.Resources = Resources{Timeout: t.V, Memory: m.V, Pids: p.V}
	because(d, DimTimeout, limitText(time.Duration.String)(t.V), t)
	because(d, DimMemory, limitText(func(n int64) string { return strconv.FormatInt(n, 10) + " bytes" })(m.V), m)
	because(d, DimPids, limitText(func(n int64) string { return strconv.FormatInt(n, 10) })(p.V), p)
}

var builtIn = Source{Layer: LayerDefault, Text: "built-in default"}

// authority is what only ceilings say: what may be done with the history, and until
// when.
func (d *decision) authority() {
	undo := MayUndo(d.ceilings)
	if undo.V != UndoAll && undoRank(undo.V) < 0 {
		d.fail(DimUndo, undo.Source, "undo %q is not known: all, preview or none", string(undo.V))
	}
	if d.out.Undo = undo.V; undo.V != UndoAll {
		d.reason(DimUndo, string(undo.V), undo.Source, "")
	}
	if ends := Ends(d.ceilings); ends != nil {
		d.out.Expires = ends.V
		d.reason(DimExpires, ends.V.Format(time.RFC3339), ends.Source, "")
	}
}

func homeRank(m HomeMode) int  { return rankOf(m, HomeNone, HomeToolchains, HomeFull) }
func nestedRank(m Nesting) int { return rankOf(m, NestedNone, NestedUserns, NestedFull) }

// historyRank has off above on: without the broker more can be changed. A draft changes
// nothing until it is applied, as on decides.
func historyRank(m HistoryMode) int { return rankOf(m, HistoryDraft, HistoryOn, HistoryOff) }

func secretsRank(m SecretsMode) int { return rankOf(m, SecretsStrict, SecretsMasked) }

func rankOf[T comparable](v T, order ...T) int {
	for i, o := range order {
		if o == v {
			return i
		}
	}
	return -1
}

func byRank[T any](rank func(T) int) func(a, b T) bool {
	return func(a, b T) bool { return rank(a) > rank(b) }
}

func inRank[T any](rank func(T) int) func(T) bool {
	return func(v T) bool { return rank(v) >= 0 }
}

// limit describes a number of which zero means no limit, so the widest.
func limit[T ~int64](name Dimension, text func(T) string, asked func(*Request) *Value[T], bound func(*Ceiling) *Value[T]) dimension[T] {
	return dimension[T]{
		name: name, text: limitText(text), asked: asked, bound: bound,
		wider: func(a, b T) bool { return a != b && b != 0 && (a == 0 || a > b) },
		known: func(v T) bool { return v >= 0 },
	}
}

func limitText[T ~int64](text func(T) string) func(T) string {
	return func(v T) string {
		if v == 0 {
			return "no limit"
		}
		return text(v)
	}
}

// settle decides one ordered value: layers, then ceilings, then the project.
func settle[T comparable](d *decision, dim dimension[T]) choice[T] {
	c := merge(d, dim)
	c = underCeilings(d, dim, c)
	return tightened(d, dim, c)
}

// merge takes the strongest layer's value. What the operator sets is not
// passed by a wider request, but a narrower one is always a person's right.
func merge[T comparable](d *decision, dim dimension[T]) choice[T] {
	first, operator := strongest(d, dim.name, dim.asked, dim.known)
	switch {
	case first == nil && operator == nil:
		return choice[T]{Value: Value[T]{V: dim.initial, Source: builtIn}}
	case operator == nil:
		return choice[T]{Value: *first}
	case first == nil || first.Source.Layer == LayerDefault:
		return choice[T]{Value: *operator}
	case dim.wider(first.V, operator.V):
		d.warn(first.Source, "%s %s is not given: the operator sets %s (%s)",
			dim.name, dim.text(first.V), dim.text(operator.V), operator.Source)
		return choice[T]{Value: *operator, note: "set by the operator"}
	}
	return choice[T]{Value: *first}
}

// strongest returns the first value below the operator's layer, and the
// operator's. The project is not asked here.
func strongest[T any](d *decision, dim Dimension, asked func(*Request) *Value[T], known func(T) bool) (first, operator *Value[T]) {
	for i := range d.layers {
		v := asked(&d.layers[i].Request)
		if v == nil {
			continue
		}
		s := stamp(d.layers[i], *v)
		if !known(s.V) {
			d.fail(dim, s.Source, "%s %q is not known: %s", dim, fmt.Sprint(s.V), choices[dim])
			continue
		}
		switch {
		case s.Source.Layer == LayerOperator && operator == nil:
			operator = &s
		case s.Source.Layer != LayerOperator && first == nil:
			first = &s
		}
	}
	if dim == DimPersona && operator != nil {
		return operator, operator
	}
	return first, operator
}

// underCeilings refuses an explicit request for more and narrows the rest.
func underCeilings[T comparable](d *decision, dim dimension[T], c choice[T]) choice[T] {
	for _, ceiling := range d.ceilings {
		b := dim.bound(ceiling)
		if b == nil {
			continue
		}
		by := b.Source
		if !dim.known(b.V) {
			d.fail(dim.name, by, "%s %q is not known: %s", dim.name, fmt.Sprint(b.V), choices[dim.name])
			continue
		}
		if !dim.wider(c.V, b.V) {
			continue
		}
		if c.Source.Layer.explicit() {
			d.refuse(dim.name, c.Source, by, dim.text(c.V), dim.text(b.V))
			continue
		}
		note := fmt.Sprintf("limited by the ceiling from %s (%s)", dim.text(c.V), c.Source)
		c = choice[T]{Value: Value[T]{V: b.V, Source: by}, note: note, limited: true}
	}
	return c
}

// tightened applies the project's narrower values and reports the wider ones.
func tightened[T comparable](d *decision, dim dimension[T], c choice[T]) choice[T] {
	for _, l := range d.project {
		v := dim.asked(&l.Request)
		if v == nil {
			continue
		}
		p := stamp(l, *v)
		switch {
		case !dim.known(p.V):
			d.fail(dim.name, p.Source, "%s %q is not known: %s", dim.name, fmt.Sprint(p.V), choices[dim.name])
		case dim.wider(p.V, c.V):
			d.ignored(p.Source, fmt.Sprintf("%s %s is wider than %s (%s)", dim.name, dim.text(p.V), dim.text(c.V), c.Source))
		case dim.wider(c.V, p.V):
			d.overruled(dim.name, c.Source, dim.text(c.V), dim.text(p.V), p.Source)
			note := fmt.Sprintf("tightened by the project file from %s (%s)", dim.text(c.V), c.Source)
			c = choice[T]{Value: p, note: note}
		}
	}
	return c
}

// overruled tells a person at the keyboard that the project file narrowed what
// they typed: it is safe, but must not look like a flag that does nothing.
func (d *findings) overruled(dim Dimension, asked Source, from, to string, by Source) {
	if asked.Layer == LayerCommandLine || asked.Layer == LayerEnvironment {
		d.warn(asked, "%s %s is tightened to %s by the project file (%s)", dim, from, to, by)
	}
}

// choices says what would be right where a value is not known.
var choices = map[Dimension]string{
	DimPersona:   "human or agent",
	DimBackend:   "vm, lima, gvisor, container, process or none",
	DimIsolation: "vm, kernel or process",
	DimNetwork:   "closed, local, filtered or open",
	DimDisplay:   "none, virtual or host",
	DimHome:      "none, toolchains or full",
	DimNested:    "none, userns or full",
	DimHistory:   "on, off or draft",
	DimSecrets:   "strict or masked",
	DimUnknown:   "deny or ask",
	DimClip:      "own or paste",
	DimSound:     "on or off",
	DimNotify:    "on or off",
	DimLinks:     "none, show or browser",

	DimAgentHome: "private or shared",

	DimTimeout: "a time that is not negative",
	DimMemory:  "a size that is not negative",
	DimPids:    "a number that is not negative",
}
