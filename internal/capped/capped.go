// Package capped keeps what a program or a writer says, up to a bound in bytes. The program may
// be hostile or broken: what it writes beyond the bound takes no memory, and its starter can
// have it ended at once.
package capped

import (
	"bytes"
	"strings"
)

// Buffer keeps the first Most bytes that are written to it, and takes the rest without an
// error. It embeds no [bytes.Buffer]: io.Copy, and with it package os/exec, would use the
// ReadFrom of that, past the bound. It is not for several goroutines at once.
type Buffer struct {
	Most int    // bytes that are kept
	Over func() // called once when there are more, nil for nothing; usually ends the program

	kept bytes.Buffer
	full bool
}

// Write implements [io.Writer].
func (b *Buffer) Write(data []byte) (int, error) {
	room := b.Most - b.kept.Len()
	b.kept.Write(data[:min(len(data), room)])
	if len(data) > room && !b.full {
		b.full = true
		if b.Over != nil {
			b.Over()
		}
	}
	return len(data), nil
}

// Bytes are those that were kept.
func (b *Buffer) Bytes() []byte { return b.kept.Bytes() }

// Text is what was kept, with "?" for what is no UTF-8.
func (b *Buffer) Text() string { return strings.ToValidUTF8(b.kept.String(), "?") }

// Full reports whether there was more than is kept.
func (b *Buffer) Full() bool { return b.full }
