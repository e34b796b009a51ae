package hooks

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlDocument is a text of TOML. Groups and handlers are looked for as tables
// ([[hooks.EVENT]] and [[hooks.EVENT.hooks]]), as we and people write them.
type tomlDocument struct {
	mark, text []byte // text is without the mark
	absent     bool
	decoded    map[string]any
	groups     map[string][]tomlGroup // by event
}

// tomlGroup is a group written as tables.
type tomlGroup struct {
	header   span
	handlers []span
}

func parseTOML(text []byte) (document, error) {
	d := &tomlDocument{absent: text == nil, groups: map[string][]tomlGroup{}}
	d.mark, d.text = unmarked(text)
	if err := toml.Unmarshal(d.text, &d.decoded); err != nil {
		return nil, tomlProblem(err)
	}
	if d.decoded == nil {
		d.decoded = map[string]any{}
	}
	if err := d.sections(); err != nil {
		return nil, err
	}
	return d, nil
}

func tomlProblem(err error) *Problem {
	p := &Problem{Line: 1, Column: 1, Message: err.Error()}
	var de *toml.DecodeError
	if errors.As(err, &de) {
		p.Line, p.Column = de.Position()
	}
	return p
}

func (d *tomlDocument) tree() map[string]any { return d.decoded }

// sections finds the lines of each group's tables. A section reaches from its
// header to its last key: blank lines and comments after that are not its own.
func (d *tomlDocument) sections() error {
	var p unstable.Parser
	p.Reset(d.text)
	var open *span
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind == unstable.KeyValue {
			if open != nil {
				open.end = lineEnd(d.text, int(e.Raw.Offset+e.Raw.Length))
			}
			continue
		}
		open = nil
		key, at := tomlKey(e)
		if e.Kind != unstable.ArrayTable || len(key) < 2 || key[0] != "hooks" {
			continue
		}
		s := span{lineStart(d.text, at), lineEnd(d.text, at)}
		groups := d.groups[key[1]]
		switch {
		case len(key) == 2:
			d.groups[key[1]] = append(groups, tomlGroup{header: s})
			open = &d.groups[key[1]][len(groups)].header
		case len(key) == 3 && key[2] == "hooks" && len(groups) > 0:
			g := &groups[len(groups)-1]
			g.handlers = append(g.handlers, s)
			open = &g.handlers[len(g.handlers)-1]
		}
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

// insert adds a group with one handler at the end of the file.
func (d *tomlDocument) insert(event, command string) ([]byte, error) {
	if err := d.takesTables(event); err != nil {
		return nil, err
	}
	nl := newline(d.text)
	block := "[[hooks." + event + "]]" + nl +
		"[[hooks." + event + ".hooks]]" + nl +
		`type = "command"` + nl +
		"command = " + strconv.Quote(command) + nl +
		"timeout = " + strconv.Itoa(hookTimeout) + nl
	switch {
	case d.absent:
	case len(d.text) == 0 || bytes.HasSuffix(d.text, []byte("\n")):
		block = nl + block
	default: // as it was, the last line has no end
		block = nl + nl + block[:len(block)-len(nl)]
	}
	return slices.Concat(d.mark, d.text, []byte(block)), nil
}

// takesTables tells whether [[hooks.EVENT]] can follow what is there: it cannot
// where a table or list is written as a value.
func (d *tomlDocument) takesTables(event string) error {
	key := "hooks." + event
	if err := toml.Unmarshal(slices.Concat(d.text, []byte("\n[["+key+"]]\n")), new(map[string]any)); err != nil {
		if at := d.offsetOf(key); at >= 0 {
			return problemAt(d.text, at, "%s: only tables [[%s]] can be added to; write it so, or add the hooks by hand", key, key)
		}
		return problemAt(d.text, max(0, d.offsetOf("hooks")), "hooks: only tables [[%s]] can be added to; write it so, or add the hooks by hand", key)
	}
	return nil
}

// offsetOf finds the first expression that sets a key, or something below it;
// -1 where there is none.
func (d *tomlDocument) offsetOf(key string) int {
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

// remove takes out the handler's lines, and those of its group when nothing
// else is in it, with the blank line before.
func (d *tomlDocument) remove(e entry) ([]byte, error) {
	groups := d.groups[e.event]
	decoded, _ := d.decoded["hooks"].(map[string]any)[e.event].([]any)
	if len(groups) != len(decoded) || len(groups[e.group].handlers) != len(handlersOf(decoded[e.group])) {
		return nil, problemAt(d.text, max(0, d.offsetOf("hooks."+e.event)), "hooks.%s is not written as tables [[hooks.%s]]: take our entry out by hand", e.event, e.event)
	}
	g, group := groups[e.group], decoded[e.group].(map[string]any)
	cut := []span{g.handlers[e.handler]}
	if len(g.handlers) == 1 && onlyOurs(group) {
		if cut = []span{g.header, g.handlers[0]}; g.header.end == g.handlers[0].start {
			cut = []span{{g.header.start, g.handlers[0].end}}
		}
		cut[0].start = d.blankBefore(cut[0].start)
	}
	var splices []splice
	for _, s := range cut {
		if s.end == len(d.text) && !bytes.HasSuffix(d.text, []byte("\n")) {
			s.start = len(bytes.TrimSuffix(bytes.TrimSuffix(d.text[:s.start], []byte("\n")), []byte("\r")))
		}
		splices = append(splices, splice{s.start, s.end, ""})
	}
	return append(bytes.Clone(d.mark), apply(d.text, splices...)...), nil
}

// blankBefore is where the blank line before a line begins, or the line itself.
func (d *tomlDocument) blankBefore(start int) int {
	if start == 0 {
		return start
	}
	before := lineStart(d.text, start-1)
	if line := string(d.text[before:start]); line == "\n" || line == "\r\n" {
		return before
	}
	return start
}

func (d *tomlDocument) last(list []entry) entry {
	return slices.MaxFunc(list, func(a, b entry) int { return d.place(a) - d.place(b) })
}

// place is where an entry's table begins, -1 where it is written otherwise.
func (d *tomlDocument) place(e entry) int {
	groups := d.groups[e.event]
	if e.group >= len(groups) || e.handler >= len(groups[e.group].handlers) {
		return -1
	}
	return groups[e.group].handlers[e.handler].start
}

// trusted tells whether Codex has noted that the user looked at an entry. The
// note stands in config.toml, under the file, the event and the two numbers.
func trusted(state map[string]any, file string, e entry) bool {
	note, _ := state[fmt.Sprintf("%s:%s:%d:%d", file, snake(e.event), e.group, e.handler)].(map[string]any)
	hash, _ := note["trusted_hash"].(string)
	return hash != ""
}

// snake writes PreToolUse as pre_tool_use.
func snake(s string) string {
	var out []byte
	for i, c := range []byte(s) {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out = append(out, '_')
			}
			c += 'a' - 'A'
		}
		out = append(out, c)
	}
	return string(out)
}
