package settings

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Value is what is written: a string, int or bool, a [List] or an [Object].
type Value any

// List is a list of values.
type List []Value

// Object is an object with its members in order.
type Object []Member

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// writer writes our items in the manner of the file.
type writer struct {
	nl, unit string
	flat     bool // the file is one line
}

func (d *JSON) writer() writer {
	w := writer{nl: newline(d.text), unit: "  "}
	w.flat = len(d.root.Members) > 0 && bytes.IndexByte(bytes.TrimRight(d.text, "\r\n"), '\n') < 0
	if len(d.root.Members) > 0 {
		if unit := indentOf(d.text, d.root.Members[0].Name.StartOffset); unit != "" && len(unit) <= 8 {
			w.unit = unit
		}
	}
	return w
}

// around writes a container of ours: with white space behind its bracket.
func (w writer) around(base, open, end string, item func(base string) string) string {
	if w.flat {
		return open + " " + item("") + end
	}
	return open + w.nl + base + w.unit + item(base+w.unit) + w.nl + base + end
}

func (w writer) made(base, open, end string, v Value) string {
	return w.around(base, open, end, func(base string) string { return w.value(base, v) })
}

// nested writes the member of a path's first name, with objects of ours down to
// its last one.
func (w writer) nested(path []string, last func(writer, string) string) func(base string) string {
	return func(base string) string {
		if len(path) == 1 {
			return name(path[0]) + last(w, base)
		}
		return name(path[0]) + w.around(base, "{", "}", w.nested(path[1:], last))
	}
}

// value writes a value over as many lines as it has members.
func (w writer) value(base string, v Value) string {
	switch v := v.(type) {
	case List:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = w.value(base+w.unit, item)
		}
		return w.lines(base, "[", "]", items)
	case Object:
		items := make([]string, len(v))
		for i, m := range v {
			items[i] = name(m.Name) + w.value(base+w.unit, m.Value)
		}
		return w.lines(base, "{", "}", items)
	}
	return literal(v)
}

func (w writer) lines(base, open, end string, items []string) string {
	if w.flat {
		return open + strings.Join(items, ", ") + end
	}
	in := w.nl + base + w.unit
	return open + in + strings.Join(items, ","+in) + w.nl + base + end
}

func name(s string) string { return literal(s) + ": " }

// literal writes a scalar; in a string only what has to be escaped is.
func literal(v Value) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
