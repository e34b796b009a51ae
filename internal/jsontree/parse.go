// Package jsontree reads JSON of other programs into a tree in which
// every value knows its place. It is for policies, so it takes nothing that two
// readers could read in two ways: a name that stands twice, bytes that are not
// UTF-8, half a surrogate pair, text after the end. Size and depth are bounded.
//
// It knows no key and no policy, and imports nothing of this module.
package jsontree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Bounds of one text. Real policies stay far below them.
const (
	MaxSize  = 1 << 20 // bytes
	maxDepth = 32
)

// Kind is what a value is.
type Kind uint8

const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Object
)

// String names the kind as a message would.
func (k Kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// Node is one value with the place where it begins, counted from 1; the column
// counts bytes.
type Node struct {
	Kind         Kind
	Line, Column int
	Text         string // of a string, decoded; of a number, as it is written
	True         bool
	Items        []*Node  // of a list
	Members      []Member // of an object, as they stand
}

// Member is one name of an object with its value.
type Member struct {
	Name         string
	Line, Column int
	Value        *Node
}

// Get returns the value of a name, nil where the object has none.
func (n *Node) Get(name string) *Node {
	for i := range n.Members {
		if n.Members[i].Name == name {
			return n.Members[i].Value
		}
	}
	return nil
}

// Error is a text that is no JSON, or JSON that this package does not take.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Parse reads one JSON value (RFC 8259). The error is an [*Error].
func Parse(data []byte) (*Node, error) {
	if len(data) > MaxSize {
		return nil, &Error{1, 1, fmt.Sprintf("it is larger than %d bytes", MaxSize)}
	}
	p := &parser{data: data}
	if !utf8.Valid(data) {
		return nil, p.errorAt(invalidByte(data), "these bytes are not UTF-8; a name that is not is written as {\"base64\": \"...\"}")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, p.errorAt(max(int(syntax.Offset)-1, 0), "this is no JSON: "+syntax.Error())
		}
		return nil, p.errorAt(0, "this is no JSON: "+err.Error())
	}
	p.dec = json.NewDecoder(bytes.NewReader(data))
	p.dec.UseNumber()
	return p.value(0)
}

// invalidByte is the place of the first byte that is not UTF-8.
func invalidByte(data []byte) int {
	at := 0
	for at < len(data) {
		r, n := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	return at
}

type parser struct {
	data         []byte
	dec          *json.Decoder
	seen         int // bytes of data that line and start account for
	lines, start int // line breaks before seen, and where the last one ends
}

// value reads the next one. The text is valid JSON by now: what the decoder
// could still complain of is not expected.
func (p *parser) value(depth int) (*Node, error) {
	at := p.next()
	token, err := p.dec.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, p.errorAt(at, err.Error())
	}
	if depth >= maxDepth {
		return nil, p.errorAt(at, fmt.Sprintf("nested more than %d deep", maxDepth))
	}
	n := &Node{}
	n.Line, n.Column = p.place(at)
	switch v := token.(type) {
	case bool:
		n.Kind, n.True = Bool, v
	case json.Number:
		n.Kind, n.Text = Number, v.String()
	case string:
		n.Kind, n.Text = String, v
		return n, p.whole(v, at)
	case json.Delim:
		if v == '[' {
			n.Kind = List
			return n, p.list(n, depth)
		}
		n.Kind = Object
		return n, p.object(n, depth)
	}
	return n, nil
}

func (p *parser) list(n *Node, depth int) error {
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.Items = append(n.Items, item)
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) object(n *Node, depth int) error {
	names := make(map[string]bool)
	for p.dec.More() {
		at := p.next()
		token, err := p.dec.Token()
		if err != nil {
			return p.errorAt(at, err.Error())
		}
		name, _ := token.(string) // the text is valid: nothing else is a name
		if err := p.whole(name, at); err != nil {
			return err
		}
		if names[name] {
			return p.errorAt(at, fmt.Sprintf("the key %q stands twice in one object", name))
		}
		names[name] = true
		m := Member{Name: name}
		m.Line, m.Column = p.place(at)
		if m.Value, err = p.value(depth + 1); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
	}
	_, err := p.dec.Token()
	return err
}

// whole refuses what the decoder replaces: it would be another string than the
// one that was written. U+FFFD may stand there as itself.
func (p *parser) whole(s string, at int) error {
	const replaced = string(utf8.RuneError)
	if strings.Count(s, replaced) != bytes.Count(p.data[at:p.dec.InputOffset()], []byte(replaced)) {
		return p.errorAt(at, "the string holds half a surrogate pair, or U+FFFD by its number: write bytes that are not UTF-8 as {\"base64\": \"...\"}")
	}
	return nil
}

// next is where the next token begins.
func (p *parser) next() int {
	at := int(p.dec.InputOffset())
	for at < len(p.data) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	return at
}

// place counts lines and columns; it is asked in the order of the text.
func (p *parser) place(at int) (line, column int) {
	for ; p.seen < at && p.seen < len(p.data); p.seen++ {
		if p.data[p.seen] == '\n' {
			p.lines++
			p.start = p.seen + 1
		}
	}
	return p.lines + 1, at - p.start + 1
}

func (p *parser) errorAt(at int, message string) error {
	e := &Error{Message: message}
	e.Line, e.Column = p.place(at)
	return e
}
