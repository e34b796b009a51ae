package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Problem is why a file cannot be edited, with its place.
type Problem struct {
	File         string
	Line, Column int // 1-based; columns count bytes
	Message      string
}

// Error writes "file:line:column: message".
func (p *Problem) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// ProblemAt is a problem at an offset of a text.
func ProblemAt(text []byte, offset int, format string, args ...any) *Problem {
	offset = min(max(offset, 0), len(text))
	return &Problem{
		Line:    1 + bytes.Count(text[:offset], []byte("\n")),
		Column:  offset - bytes.LastIndexByte(text[:offset], '\n'),
		Message: fmt.Sprintf(format, args...),
	}
}

// BOM is the mark that some editors begin a file with. Agents skip it.
const BOM = "\ufeff"

// unmarked is a text without that mark, and the mark.
func unmarked(text []byte) (mark, rest []byte) {
	if bytes.HasPrefix(text, []byte(BOM)) {
		return text[:len(BOM)], text[len(BOM):]
	}
	return nil, text
}

// splice puts text in the place of the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// apply gives a text with splices done. They must not overlap; of those at one
// place the first comes first.
// What comes before the text is put in front of it. The result is never nil: that would be
// a file that is not there, and an empty one is.
func apply(mark, text []byte, splices ...splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	out := append([]byte{}, mark...)
	at := 0
	for _, s := range splices {
		out = append(append(out, text[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, text[at:]...)
}

// newline is how the lines of a text end.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart is where the line of an offset begins.
func lineStart(text []byte, offset int) int {
	return bytes.LastIndexByte(text[:offset], '\n') + 1
}

// lineEnd is where the line after that of an offset begins.
func lineEnd(text []byte, offset int) int {
	if i := bytes.IndexByte(text[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(text)
}

// indentOf is the white space that the line of an offset begins with.
func indentOf(text []byte, offset int) string {
	line := string(text[lineStart(text, offset):offset])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
