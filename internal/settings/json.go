package settings

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// maxDepth bounds how deep lists and objects nest; the parser recurses.
const maxDepth = 500

// JSON is a text of JSON whose outermost value is an object, with comments and
// trailing commas.
type JSON struct {
	mark, text []byte // text is without the mark
	absent     bool
	root       *hujson.Object
	standard   bool
	decoded    map[string]any
}

// ParseJSON reads a text; nil is a file that is not there. The error is a
// *Problem without a file.
func ParseJSON(text []byte) (*JSON, error) {
	d := &JSON{absent: text == nil}
	d.mark, d.text = unmarked(text)
	if d.absent {
		d.text = []byte("{}")
	}
	if at := tooDeep(d.text); at >= 0 {
		return nil, ProblemAt(d.text, at, "nested more than %d deep", maxDepth)
	}
	v, err := hujson.Parse(lined(d.text))
	if err != nil {
		return nil, d.syntax(err)
	}
	root, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, ProblemAt(d.text, v.StartOffset, "want an object {...} as settings")
	}
	d.root, d.standard = root, v.IsStandard()
	plain, err := hujson.Standardize(lined(d.text))
	if err != nil {
		return nil, d.syntax(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	if err := decoder.Decode(&d.decoded); err != nil {
		return nil, ProblemAt(d.text, int(decoder.InputOffset()), "%v", err)
	}
	return d, nil
}

// lined is a copy of a text for the parser, which writes into what it is given. It takes no comment
// in a last line without an end, so such a line gets one.
func lined(text []byte) []byte {
	out := bytes.Clone(text)
	if last := text[lineStart(text, len(text)):]; bytes.Contains(last, []byte("//")) {
		out = append(out, '\n')
	}
	return out
}

// Tree is all of it, decoded; numbers are json.Number.
func (d *JSON) Tree() map[string]any { return d.decoded }

// Root is the outermost object.
func (d *JSON) Root() *hujson.Object { return d.root }

// Extra is the line of the first thing that plain JSON does not have, 0 where
// there is none.
func (d *JSON) Extra() int {
	if d.standard {
		return 0
	}
	plain, err := hujson.Standardize(lined(d.text))
	if err != nil {
		return 1
	}
	for i := range min(len(plain), len(d.text)) {
		if plain[i] != d.text[i] {
			return 1 + bytes.Count(d.text[:i], []byte("\n"))
		}
	}
	return 1
}

// Unique refuses a name that stands twice in an object: programs take the first
// or the last, and an edit could change the other one.
func (d *JSON) Unique(o *hujson.Object, name string) error {
	seen := false
	for _, m := range o.Members {
		if NameOf(m) != name {
			continue
		}
		if seen {
			return ProblemAt(d.text, m.Name.StartOffset, "%q stands here a second time", name)
		}
		seen = true
	}
	return nil
}

// NameOf is the name of a member, unquoted.
func NameOf(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}

func memberIndex(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return NameOf(m) == name })
}

// ValueOf is the value of an object's member, nil where there is none.
func ValueOf(o *hujson.Object, name string) hujson.ValueTrimmed {
	if i := memberIndex(o, name); i >= 0 {
		return o.Members[i].Value.Value
	}
	return nil
}

// syntax turns the parser's error into a problem. The place stands in its text
// only, and some texts repeat the value, which may be a secret.
func (d *JSON) syntax(err error) *Problem {
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
