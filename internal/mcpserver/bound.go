package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// mostText bounds the text of an answer, in bytes: clients hand their model no more than
// about three times that, and some put what is longer into a file that only they can read.
const mostText = 30_000

// mostLines bounds it in lines: there are clients that show no more than 2000.
const mostLines = 1900

// clip cuts a text to so many bytes, and to mostLines, at the end of a line where there is one, and says how
// many bytes are left.
func clip(text string, most int) (string, int) {
	if at := lineStart(text, mostLines); at < most {
		most = at
	}
	if len(text) <= most {
		return text, 0
	}
	n := strings.LastIndexByte(text[:most], '\n') + 1
	if n < most/2 {
		for n = most; n > 0 && !utf8.RuneStart(text[n]); n-- {
		}
	}
	return text[:n], len(text) - n
}

// lineStart is where the line with a number, from 0, begins in a text, or its end.
func lineStart(text string, number int) (at int) {
	for ; number > 0; number-- {
		n := strings.IndexByte(text[at:], '\n') + 1
		if n == 0 {
			return len(text)
		}
		at += n
	}
	return at
}

// joinLines joins items, a line each, until an answer is full, and says how many it has.
func joinLines[T any](items []T, show func(T) string) (string, int) {
	var b strings.Builder
	for i, item := range items {
		line := show(item) + "\n"
		if i > 0 && (b.Len()+len(line) > mostText || i == mostLines) {
			return b.String(), i
		}
		b.WriteString(line)
	}
	return b.String(), len(items)
}

// paged are the parameters of a list that comes in pages.
type paged struct {
	Limit  int `json:"limit,omitempty" jsonschema:"at most so many"`
	Offset int `json:"offset,omitempty" jsonschema:"leave out so many first: next_offset of the page before"`
}

// page is what a list says of its part.
type page struct {
	Total int `json:"total"`
	Next  int `json:"next_offset,omitempty"` // 0 where this is the last page
}

// pageOf gives a part of a list that fits into an answer.
func pageOf[T any](all []T, p paged, usual int) ([]T, page) {
	limit := p.Limit
	if limit <= 0 {
		limit = usual
	}
	from := min(max(p.Offset, 0), len(all))
	part, size := []T{}, 0
	for _, item := range all[from:] {
		text, _ := json.Marshal(item)
		if size += len(text) + 1; len(part) == limit || size > mostText-pageRoom && len(part) > 0 {
			return part, page{Total: len(all), Next: from + len(part)}
		}
		part = append(part, item)
	}
	return part, page{Total: len(all)}
}

// pageRoom is what an answer may say beside a page.
const pageRoom = 2000

// cutSchema is that of what [fit] adds to an answer.
var cutSchema = &jsonschema.Schema{Type: "object",
	Description: "lists of which only the first part is here, and texts without their middle: their whole size"}

// fit is an answer as JSON that is not too long for a client. Where it would be, its
// longest lists and texts are cut, and cut says which.
func fit(value any) (json.RawMessage, error) {
	text, err := plainJSON(value)
	if err != nil || len(text) <= mostText {
		return text, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("the answer is too long: %w", err)
	}
	sizes := map[string]int{}
	for range 100 {
		var largest longPart
		largest.find("", tree, func(v any) { tree = v.(map[string]any) })
		if largest.cut == nil {
			return nil, fmt.Errorf("the answer has %d bytes, at most %d are given", len(text), mostText)
		}
		if _, again := sizes[largest.name]; !again {
			sizes[largest.name] = largest.count
		}
		largest.cut(len(text) - mostText + pageRoom)
		tree["cut"] = sizes
		if text, err = plainJSON(tree); err != nil || len(text) <= mostText {
			return text, err
		}
	}
	return nil, fmt.Errorf("the answer has %d bytes, at most %d are given", len(text), mostText)
}

// plainJSON is JSON in which <, > and & are what they are.
func plainJSON(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// longPart is the longest list or text of an answer.
type longPart struct {
	name  string
	size  int // of its JSON
	count int // items or bytes
	cut   func(excess int)
}

const longText = 1000 // what is shorter stays whole

// find looks for the longest part below a value, which set replaces.
func (l *longPart) find(name string, value any, set func(any)) {
	switch v := value.(type) {
	case string:
		if len(v) > longText && len(v) > l.size {
			*l = longPart{name, len(v), len(v), func(excess int) {
				keep := max(len(v)-excess, longText/2) / 2
				set(strings.ToValidUTF8(v[:keep], "") + "\n...\n" + strings.ToValidUTF8(v[len(v)-keep:], ""))
			}}
		}
	case []any:
		if text, _ := plainJSON(v); len(v) > 1 && len(text) > l.size {
			*l = longPart{name, len(text), len(v), func(excess int) {
				set(v[:max(len(v)*(len(text)-excess)/len(text), min(1, len(v)-1))])
			}}
			return
		}
		for i := range v {
			l.find(fmt.Sprintf("%s[%d]", name, i), v[i], func(other any) { v[i] = other })
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if name == "" && key == "cut" {
				continue
			}
			l.find(strings.TrimPrefix(name+"."+key, "."), v[key], func(other any) { v[key] = other })
		}
	}
}
