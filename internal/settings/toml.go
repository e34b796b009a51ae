package settings

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML is a text of TOML. Places are those of its tables, as people write them:
// [a.b] and [[a.b]].
type TOML struct {
	mark, text []byte // text is without the mark
	absent     bool
	decoded    map[string]any
	sections   []Section
}

// Section is a table in the text: from its header to its last key. Blank lines
// and comments after that are not its own.
type Section struct {
	Key        []string
	List       bool // [[...]]
	Start, End int
}

// ParseTOML reads a text; nil is a file that is not there. The error is a
// *Problem without a file.
func ParseTOML(text []byte) (*TOML, error) {
	d := &TOML{absent: text == nil}
	d.mark, d.text = unmarked(text)
	if err := toml.Unmarshal(d.text, &d.decoded); err != nil {
		return nil, tomlProblem(err)
	}
	if d.decoded == nil {
		d.decoded = map[string]any{}
	}
	return d, d.findSections()
}

func tomlProblem(err error) *Problem {
	p := &Problem{Line: 1, Column: 1, Message: err.Error()}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		p.Line, p.Column = de.Position()
	}
	return p
}

// Tree is all of it, decoded.
func (d *TOML) Tree() map[string]any { return d.decoded }

// Sections are its tables, as they follow each other.
func (d *TOML) Sections() []Section { return d.sections }

// Problem is a problem where a key is set first, or at the top.
func (d *TOML) Problem(key, format string, args ...any) *Problem {
	return ProblemAt(d.text, max(0, d.offsetOf(key)), format, args...)
}

// Sets tells whether an expression sets a key, or something below it.
func (d *TOML) Sets(key string) bool { return d.offsetOf(key) >= 0 }

// Append adds lines, each with its end "\n", at the end of the file.
func (d *TOML) Append(block string) []byte {
	nl := newline(d.text)
	block = strings.ReplaceAll(block, "\n", nl)
	switch {
	case d.absent:
	case len(d.text) == 0 || bytes.HasSuffix(d.text, []byte("\n")):
		block = nl + block
	default: // as it was, the last line has no end
		block = nl + nl + block[:len(block)-len(nl)]
	}
	return slices.Concat(d.mark, d.text, []byte(block))
}

// Takes tells whether lines can follow what is there: a table cannot where one
// is written as a value.
func (d *TOML) Takes(block string) bool {
	return toml.Unmarshal(slices.Concat(d.text, []byte("\n"+block)), new(map[string]any)) == nil
}

// Cut takes sections out, and with the first of those that stand together the
// blank line before. Only says to leave that line.
func (d *TOML) Cut(only bool, sections ...Section) []byte {
	var splices []splice
	for i, s := range sections {
		if i > 0 && splices[len(splices)-1].end == s.Start {
			splices[len(splices)-1].end = s.End
			continue
		}
		if !only && i == 0 {
			s.Start = d.blankBefore(s.Start)
		}
		splices = append(splices, splice{s.Start, s.End, ""})
	}
	for i, s := range splices {
		if s.end == len(d.text) && !bytes.HasSuffix(d.text, []byte("\n")) {
			splices[i].start = len(bytes.TrimSuffix(bytes.TrimSuffix(d.text[:s.start], []byte("\n")), []byte("\r")))
		}
	}
	return apply(d.mark, d.text, splices...)
}

func (d *TOML) findSections() error {
	var p unstable.Parser
	p.Reset(d.text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			if n := len(d.sections); n > 0 {
				d.sections[n-1].End = lineEnd(d.text, int(e.Raw.Offset+e.Raw.Length))
			}
			continue
		}
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		key, at := tomlKey(e)
		d.sections = append(d.sections, Section{Key: key, List: e.Kind == unstable.ArrayTable, Start: lineStart(d.text, at), End: lineEnd(d.text, at)})
	}
	if err := p.Error(); err != nil {
		return &Problem{Line: 1, Column: 1, Message: err.Error()}
	}
	return nil
}

// tomlKey gives a header's words and the offset of the first.
func tomlKey(e *unstable.Node) (key []string, at int) {
	for it := e.Key(); it.Next(); {
		if len(key) == 0 {
			at = int(it.Node().Raw.Offset)
		}
		key = append(key, string(it.Node().Data))
	}
	return key, at
}

// offsetOf finds the first expression that sets a key, or something below it;
// -1 where there is none.
func (d *TOML) offsetOf(key string) int {
	var p unstable.Parser
	p.Reset(d.text)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		words, at := tomlKey(e)
		if e.Kind == unstable.KeyValue {
			words = slices.Concat(table, words)
		} else {
			table = words
		}
		if strings.HasPrefix(strings.Join(words, ".")+".", key+".") {
			return at
		}
	}
	return -1
}

// blankBefore is where the blank line before a line begins, or the line itself.
func (d *TOML) blankBefore(start int) int {
	if start == 0 {
		return start
	}
	before := lineStart(d.text, start-1)
	if line := string(d.text[before:start]); line == "\n" || line == "\r\n" {
		return before
	}
	return start
}
