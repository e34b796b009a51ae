package tools

import (
	"fmt"
	"unicode/utf8"
)

// Output is what a program has written, within a bound: where it was more, its
// beginning and its end.
type Output struct {
	Head, Tail []byte
	Left       int64 // bytes between them that are left out

	most int
	full bool // Head takes no more
	at   int  // in Tail, a ring once it is full: its first byte
}

// usualOutput is the bound where none is given, in bytes.
const usualOutput = 128 << 10

// newOutput makes one of at most so many bytes.
func newOutput(most int) *Output {
	if most <= 0 {
		most = usualOutput
	}
	return &Output{most: most}
}

// add takes what comes next.
func (o *Output) add(b []byte) {
	if room := o.most/2 - len(o.Head); !o.full && room > 0 {
		n := min(room, len(b))
		o.Head, b = append(o.Head, b[:n]...), b[n:]
	}
	if o.full = len(o.Head) >= o.most/2; len(b) == 0 {
		return
	}
	ring := o.most - o.most/2
	if over := len(b) - ring; over > 0 {
		o.Left += int64(over)
		b = b[over:]
	}
	if room := ring - len(o.Tail); room > 0 {
		n := min(room, len(b))
		o.Tail, b = append(o.Tail, b[:n]...), b[n:]
	}
	o.Left += int64(len(b))
	for len(b) > 0 {
		n := copy(o.Tail[o.at:], b)
		o.at, b = (o.at+n)%ring, b[n:]
	}
}

// lose notes bytes that never came.
func (o *Output) lose(n uint64) {
	if n > 0 {
		o.Left += int64(n)
		o.full = true
	}
}

// close puts the ring in order, and cuts at characters.
func (o *Output) close() *Output {
	o.Tail = append(o.Tail[o.at:len(o.Tail):len(o.Tail)], o.Tail[:o.at]...)
	o.at = 0
	if o.Left == 0 {
		return o
	}
	for n := 1; n < utf8.UTFMax && n <= len(o.Head); n++ {
		if tail := o.Head[len(o.Head)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				o.Head, o.Left = o.Head[:len(o.Head)-n], o.Left+int64(n)
			}
			break
		}
	}
	for n := 0; n < utf8.UTFMax && n < len(o.Tail); n++ {
		if utf8.RuneStart(o.Tail[n]) {
			o.Tail, o.Left = o.Tail[n:], o.Left+int64(n)
			break
		}
	}
	return o
}

// Bytes are all that is kept, without a word about what is not.
func (o *Output) Bytes() []byte { return append(o.Head[:len(o.Head):len(o.Head)], o.Tail...) }

// String says between the parts how much is left out.
func (o *Output) String() string {
	if o.Left == 0 {
		return string(o.Bytes())
	}
	return fmt.Sprintf("%s\n... %d bytes are left out here ...\n%s", o.Head, o.Left, o.Tail)
}
