package hooks

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds how deep lists and objects nest; the parser recurses.
const maxDepth = 500

// jsonDocument is a text of JSON, with comments and trailing commas.
type jsonDocument struct {
	mark, text []byte // text is without the mark
	absent     bool
	root       *hujson.Object
	standard   bool
	decoded    map[string]any
}

func parseJSON(text []byte) (document, error) {
	d := &jsonDocument{absent: text == nil}
	d.mark, d.text = unmarked(text)
	if d.absent {
		d.text = []byte("{}")
	}
	if at := tooDeep(d.text); at >= 0 {
		return nil, problemAt(d.text, at, "nested more than %d deep", maxDepth)
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		return nil, d.syntax(err)
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, problemAt(d.text, v.StartOffset, "want an object {...} as settings")
	}
	d.root, d.standard = root, v.IsStandard()
	if err := d.checkNames(); err != nil {
		return nil, err
	}
	plain, err := hujson.Standardize(bytes.Clone(d.text)) // it writes into what it is given
	if err != nil {
		return nil, d.syntax(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	if err := decoder.Decode(&d.decoded); err != nil {
		return nil, problemAt(d.text, int(decoder.InputOffset()), "%v", err)
	}
	return d, nil
}

func (d *jsonDocument) tree() map[string]any { return d.decoded }

// checkNames refuses a name that stands twice where we look for it: programs
// take the first or the last, and an edit could change the other one.
func (d *jsonDocument) checkNames() error {
	if err := d.unique(d.root, "hooks"); err != nil {
		return err
	}
	events, ok := member(d.root, "hooks").(*hujson.Object)
	if !ok {
		return nil
	}
	for _, m := range events.Members {
		if err := d.unique(events, nameOf(m)); err != nil {
			return err
		}
		groups, ok := m.Value.Value.(*hujson.Array)
		if !ok {
			continue
		}
		for _, g := range groups.Elements {
			if err := d.checkGroup(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *jsonDocument) checkGroup(v hujson.Value) error {
	group, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	if err := d.unique(group, "hooks"); err != nil {
		return err
	}
	handlers, ok := member(group, "hooks").(*hujson.Array)
	if !ok {
		return nil
	}
	for _, h := range handlers.Elements {
		if o, ok := h.Value.(*hujson.Object); ok {
			if err := d.unique(o, "command"); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *jsonDocument) unique(o *hujson.Object, name string) error {
	seen := false
	for _, m := range o.Members {
		if nameOf(m) != name {
			continue
		}
		if seen {
			return problemAt(d.text, m.Name.StartOffset, "%q stands here a second time", name)
		}
		seen = true
	}
	return nil
}

// insert adds a group with one handler at the end of an event's list, and makes
// what is not there yet.
func (d *jsonDocument) insert(event, command string) ([]byte, error) {
	if d.absent {
		w := writer{nl: "\n", unit: "  "}
		return []byte(w.created("", "{", "}", func(base string) string { return w.hooks(base, event, command) }) + "\n"), nil
	}
	w := d.writer()
	at := memberIndex(d.root, "hooks")
	if at < 0 {
		return d.add(d.objectAt(0, len(d.text), d.root), func(base string) string { return w.hooks(base, event, command) }), nil
	}
	v := d.root.Members[at].Value
	events, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, problemAt(d.text, v.StartOffset, "hooks: want an object {...}")
	}
	at = memberIndex(events, event)
	if at < 0 {
		return d.add(d.objectAt(v.StartOffset, v.EndOffset, events), func(base string) string { return w.event(base, event, command) }), nil
	}
	v = events.Members[at].Value
	groups, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, problemAt(d.text, v.StartOffset, "hooks.%s: want a list [...]", event)
	}
	return d.add(arrayAt(v, groups), func(base string) string { return w.group(base, command) }), nil
}

// remove takes out the handler, and with it what held nothing else and was not
// there before us.
func (d *jsonDocument) remove(e entry) ([]byte, error) {
	hooks := memberIndex(d.root, "hooks")
	eventsValue := d.root.Members[hooks].Value
	events := eventsValue.Value.(*hujson.Object)
	at := memberIndex(events, e.event)
	groupsValue := events.Members[at].Value
	groups := groupsValue.Value.(*hujson.Array)
	groupValue := groups.Elements[e.group]
	group := groupValue.Value.(*hujson.Object)
	handlersValue := group.Members[memberIndex(group, "hooks")].Value
	handlers := handlersValue.Value.(*hujson.Array)

	if len(handlers.Elements) > 1 || !plainGroup(group) {
		return d.cut(arrayAt(handlersValue, handlers), e.handler), nil
	}
	list := arrayAt(groupsValue, groups)
	if len(groups.Elements) > 1 || !d.created(list) || commented(events.Members[at]) {
		return d.cut(list, e.group), nil
	}
	table := d.objectAt(eventsValue.StartOffset, eventsValue.EndOffset, events)
	if len(events.Members) > 1 || !d.created(table) || commented(d.root.Members[hooks]) {
		return d.cut(table, at), nil
	}
	return d.cut(d.objectAt(0, len(d.text), d.root), hooks), nil
}

// plainGroup is onlyOurs for the parsed text.
func plainGroup(group *hujson.Object) bool {
	return !slices.ContainsFunc(group.Members, func(m hujson.ObjectMember) bool {
		return nameOf(m) != "hooks" && nameOf(m) != "matcher"
	})
}

// commented tells whether there is a comment between a name and its value.
func commented(m hujson.ObjectMember) bool {
	return !m.Name.AfterExtra.IsStandard() || !m.Value.BeforeExtra.IsStandard()
}

func (d *jsonDocument) last(list []entry) entry {
	events := member(d.root, "hooks").(*hujson.Object)
	place := func(e entry) int {
		groups := events.Members[memberIndex(events, e.event)].Value.Value.(*hujson.Array)
		handlers := member(groups.Elements[e.group].Value.(*hujson.Object), "hooks").(*hujson.Array)
		return handlers.Elements[e.handler].StartOffset
	}
	return slices.MaxFunc(list, func(a, b entry) int { return place(a) - place(b) })
}

func nameOf(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}

func memberIndex(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == name })
}

func member(o *hujson.Object, name string) hujson.ValueTrimmed {
	if i := memberIndex(o, name); i >= 0 {
		return o.Members[i].Value.Value
	}
	return nil
}

// syntax turns the parser's error into a problem. The place stands in its text
// only, and some texts repeat the value, which may be a secret.
func (d *jsonDocument) syntax(err error) *Problem {
	p := &Problem{Line: 1, Column: 1, Message: "not JSON"}
	text := strings.TrimPrefix(err.Error(), "hujson: ")
	place, message, ok := strings.Cut(text, ": ")
	if !ok {
		return p
	}
	if line, column, ok := strings.Cut(strings.TrimPrefix(place, "line "), ", column "); ok {
		p.Line, p.Column = number(line), number(column)
		p.Message = message
	}
	if strings.HasPrefix(message, "invalid literal") {
		p.Message = "invalid string, number or word"
	}
	return p
}

// number reads a count of the parser.
func number(s string) int {
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1<<30 {
			return 1
		}
		n = n*10 + int(c-'0')
	}
	return max(n, 1)
}

// tooDeep gives the place where brackets nest too deep, or -1.
func tooDeep(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '/':
			if t := commentAt(text, i); t.end > i {
				i = t.end - 1
			}
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return i
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return -1
}
