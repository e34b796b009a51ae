package settings

import (
	"bytes"
	"slices"

	"github.com/tailscale/hujson"
)

// container is a list or an object in the text.
type container struct {
	open, close int    // the brackets
	items       []span // elements, or members from the name to the value
}

type span struct{ start, end int }

func arrayAt(v hujson.Value, a *hujson.Array) container {
	c := container{open: v.StartOffset, close: v.EndOffset - 1}
	for _, e := range a.Elements {
		c.items = append(c.items, span{e.StartOffset, e.EndOffset})
	}
	return c
}

// objectAt finds the object that begins and ends between two offsets.
func (d *JSON) objectAt(start, end int, o *hujson.Object) container {
	c := container{open: start, close: end - 1}
	if o == d.root {
		c.open, c.close = d.rootBrackets()
	}
	for _, m := range o.Members {
		c.items = append(c.items, span{m.Name.StartOffset, m.Value.EndOffset})
	}
	return c
}

// rootBrackets finds the outermost brackets: comments may stand around them.
func (d *JSON) rootBrackets() (open, end int) {
	for _, t := range lex(d.text, 0, len(d.text)) {
		if t.kind == tokenOther {
			open = t.start
			break
		}
	}
	after := open + 1
	if n := len(d.root.Members); n > 0 {
		after = d.root.Members[n-1].Value.EndOffset
	}
	for _, t := range lex(d.text, after, len(d.text)) {
		if t.kind == tokenOther {
			return open, t.start
		}
	}
	return open, len(d.text) - 1
}

// The kinds of what stands between values.
const (
	tokenBlank = iota
	tokenComma
	tokenLine  // a comment to the end of the line, without that
	tokenBlock // a comment /* ... */
	tokenOther // a value, or anything: ends a lexing
)

type token struct{ start, end, kind int }

// lex reads what stands between values.
func lex(text []byte, from, to int) []token {
	var out []token
	for from < to {
		t := token{from, from + 1, tokenOther}
		switch {
		case isBlank(text[from]):
			for t.end < to && isBlank(text[t.end]) {
				t.end++
			}
			t.kind = tokenBlank
		case text[from] == ',':
			t.kind = tokenComma
		case text[from] == '/':
			t = commentAt(text, from)
		}
		out = append(out, t)
		if t.kind == tokenOther {
			break
		}
		from = t.end
	}
	return out
}

// commentAt reads the comment that begins at an offset.
func commentAt(text []byte, at int) token {
	rest := text[at:]
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		n := bytes.IndexByte(rest, '\n')
		if n < 0 {
			n = len(rest)
		}
		return token{at, at + len(bytes.TrimRight(rest[:n], "\r")), tokenLine}
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return token{at, at + n + 4, tokenBlock}
		}
	}
	return token{at, at, tokenOther}
}

// created tells whether a container with one item is one that we made: see the
// package's comment. A comment in it is somebody's, and keeps it.
func (d *JSON) created(c container) bool {
	blank := func(from, to int) bool { return len(bytes.Trim(d.text[from:to], " \t\r\n")) == 0 }
	item := c.items[0]
	return item.start > c.open+1 && blank(c.open+1, item.start) && blank(item.end, c.close)
}

// add puts an item behind the last one of a container.
func (d *JSON) add(c container, render func(base string) string) []byte {
	w := d.writer()
	if len(c.items) == 0 {
		at := c.open + 1
		return d.with(splice{at, at, render(indentOf(d.text, c.open))})
	}
	last := c.items[len(c.items)-1]
	anchor, comma := last.end, ","
	for _, t := range lex(d.text, last.end, c.close) {
		if t.kind == tokenComma {
			anchor, comma = t.end, ""
		}
	}
	at, line := d.pastComments(anchor, c.close)
	separator, base := " ", indentOf(d.text, last.start)
	start := lineStart(d.text, last.start)
	switch {
	case w.flat:
		separator = ""
	case line, start > c.open && start+len(base) == last.start:
		separator = w.nl + base
	}
	item := separator + render(base)
	if comma == "" {
		item += ","
	}
	return d.with(splice{last.end, last.end, comma}, splice{at, at, item})
}

// pastComments goes past the comments that stand on the same line: they belong
// to what is before them.
func (d *JSON) pastComments(from, to int) (at int, line bool) {
	at = from
	for _, t := range lex(d.text, from, to) {
		switch t.kind {
		case tokenBlank:
			if bytes.IndexByte(d.text[t.start:t.end], '\n') >= 0 {
				return at, line
			}
		case tokenLine, tokenBlock:
			at, line = t.end, t.kind == tokenLine
		default:
			return at, line
		}
	}
	return at, line
}

// cut takes an item out of a container, with the white space before it and the
// comma that goes with it. Comments around it stay.
func (d *JSON) cut(c container, i int) []byte {
	item, before, after := c.items[i], c.open+1, c.close
	if i > 0 {
		before = c.items[i-1].end
	}
	if i+1 < len(c.items) {
		after = c.items[i+1].start
	}
	lead, tail := lex(d.text, before, item.start), lex(d.text, item.end, after)
	if i == 0 && len(c.items) > 1 && uncommented(lead) && uncommented(tail) {
		return d.with(splice{item.start, after, ""}) // what stands before the first says whose the container is
	}
	cuts := []splice{}
	own := false
	for k, t := range tail {
		if t.kind != tokenComma {
			continue
		}
		own = true
		start := t.start
		if k == 1 && tail[0].kind == tokenBlank {
			start = tail[0].start
		}
		cuts = append(cuts, splice{start, t.end, ""})
	}
	start := item.start
	for k, t := range lead {
		switch {
		case t.kind == tokenComma && !own:
			cuts = append(cuts, splice{t.start, t.end, ""})
		case t.kind == tokenBlank && k == len(lead)-1:
			start = t.start
			if k > 0 && lead[k-1].kind == tokenLine && !d.lineEnds(cuts, item.end) {
				start = lineEnd(d.text, t.start) // the comment would swallow what follows
			}
		}
	}
	return d.with(append(cuts, splice{start, item.end, ""})...)
}

func uncommented(between []token) bool {
	return !slices.ContainsFunc(between, func(t token) bool { return t.kind == tokenLine || t.kind == tokenBlock })
}

// lineEnds tells whether, with the cuts done, only white space follows on the
// line of an offset.
func (d *JSON) lineEnds(cuts []splice, offset int) bool {
	for _, c := range cuts {
		if c.start >= offset && len(bytes.Trim(d.text[offset:c.start], " \t\r")) == 0 {
			offset = c.end
		}
	}
	rest := bytes.TrimLeft(d.text[offset:], " \t\r")
	return len(rest) == 0 || rest[0] == '\n'
}

// with gives the whole text with splices done.
func (d *JSON) with(splices ...splice) []byte {
	return apply(d.mark, d.text, splices...)
}
