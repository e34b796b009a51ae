package quickexec

import (
	"bytes"
	"strconv"
)

// fields reads the values of a JSON object by the names of its members, one object deep for
// each name, as they stand in the text. It is for lines of our own supervisor. nil: there is
// no such member, or the text is no object.
func fields(text []byte, names ...string) []byte {
	for _, name := range names {
		text = field(text, name)
	}
	return text
}

func field(text []byte, name string) []byte {
	i := space(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil
	}
	for i = space(text, i+1); i < len(text) && text[i] == '"'; {
		end := stringEnd(text, i)
		colon := space(text, end)
		if colon >= len(text) || text[colon] != ':' {
			return nil
		}
		from := space(text, colon+1)
		to := valueEnd(text, from)
		if to <= from {
			return nil
		}
		if key := text[i+1 : end-1]; string(key) == name {
			return text[from:to]
		}
		if i = space(text, to); i >= len(text) || text[i] != ',' {
			return nil
		}
		i = space(text, i+1)
	}
	return nil
}

// plain is the text of a JSON string without escapes.
func plain(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || bytes.IndexByte(value, '\\') >= 0 {
		return "", false
	}
	return string(value[1 : len(value)-1]), true
}

func number(value []byte) (uint64, bool) {
	n, err := strconv.ParseUint(string(value), 10, 63)
	return n, err == nil
}

// space gives the first place from i on that is no white space.
func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd gives the place behind the string at i, len(text)+1 where it has no end.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text) + 1
}

// valueEnd gives the place behind the value at i: i itself, or one before it, where there is
// none, or none that ends.
func valueEnd(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			if i = stringEnd(text, i); i > len(text) {
				return 0
			}
		case c == '{' || c == '[':
			depth++
			i++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
			i++
		case depth > 0:
			i++
		default:
			for i < len(text) && bytes.IndexByte([]byte(",:{}[]\" \t\r\n"), text[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return 0
}
