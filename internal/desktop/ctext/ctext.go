// Package ctext reads COMPOUND_TEXT, in which Xlib gives titles that Latin-1 does not hold:
// https://www.x.org/releases/X11R7.7/doc/xorg-docs/ctext/ctext.html. What it is given is a
// program's word: any bytes give a text.
package ctext

import (
	"bytes"
	"strings"
)

// Decode reads text in ISO 2022, where escape sequences change the character set. Latin-1 and
// UTF-8 are read; each character of another set becomes a question mark.
func Decode(b []byte) string {
	const esc = 0x1b
	var out strings.Builder
	left, right := byte('B'), byte('A') // ASCII below 0x80, Latin-1 above
	for len(b) > 0 {
		if b[0] == esc {
			if u, ok := bytes.CutPrefix(b, []byte("\x1b%G")); ok { // UTF-8 until ESC % @
				u, b, _ = bytes.Cut(u, []byte("\x1b%@"))
				out.Write(u)
				continue
			}
			n := 1 // intermediate bytes, then one that names the set
			for n < len(b) && b[n] >= 0x20 && b[n] <= 0x2f {
				n++
			}
			if n >= len(b) {
				break
			}
			switch seq := b[1:n]; {
			case string(seq) == "(":
				left = b[n]
			case string(seq) == "-":
				right = b[n]
			case len(seq) > 0 && seq[0] == '$' && bytes.HasSuffix(seq, []byte("(")):
				left = '$'
			case len(seq) > 0 && seq[0] == '$':
				right = '$'
			case len(seq) > 0 && seq[0] == ')':
				right = ')'
			}
			b = b[n+1:]
			continue
		}
		set, plain := left, byte('B')
		if b[0] >= 0x80 {
			set, plain = right, 'A'
		}
		n := 1
		switch {
		case set == plain || b[0] <= 0x20:
			out.WriteRune(rune(b[0]))
		case set == '$':
			n = min(2, len(b))
			fallthrough
		default:
			out.WriteByte('?')
		}
		b = b[n:]
	}
	return out.String()
}
