package jsontree

import "bytes"

// ParseLoose reads JSON with comments and trailing commas, as many programs
// take it for their settings. All else is as [Parse] has it.
func ParseLoose(data []byte) (*Node, error) {
	if len(data) > MaxSize {
		return Parse(data)
	}
	return Parse(withoutComments(data))
}

// withoutComments writes spaces over comments and trailing commas, so that
// every place stays what it was. What is no comment is left for Parse to judge.
func withoutComments(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1       // of the last token, where that is one behind a value
	last := byte('[') // of the last token
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			i = stringEnd(out, i)
			comma, last = -1, '"'
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := commentEnd(out, i)
			if end < 0 {
				return out
			}
			blank(out[i:end])
			i = end - 1
		case c == ',' && bytes.IndexByte([]byte("[{,:"), last) < 0:
			comma, last = i, c
		case (c == ']' || c == '}') && comma >= 0:
			out[comma] = ' '
			comma, last = -1, c
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma, last = -1, c
		}
	}
	return out
}

// stringEnd is the place of the quote that closes the one at i, or the end.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// commentEnd is the first place behind the comment at i, -1 where none ends it.
func commentEnd(data []byte, i int) int {
	if data[i+1] == '/' {
		if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(data)
	}
	n := bytes.Index(data[i+2:], []byte("*/"))
	if n < 0 {
		return -1
	}
	return i + 2 + n + 2
}

func blank(b []byte) {
	for i := range b {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
}
