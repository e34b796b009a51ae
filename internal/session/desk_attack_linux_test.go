package session

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/screen"
	"carrel/internal/tty"

	"pgregory.net/rapid"
)

// TestFitting: what is said of a line's size is never less than it has, and what was
// cut off would not have fitted.
func TestFitting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.String().Draw(t, "line") + rapid.SampledFrom([]string{"", "\u2028<\"\\", "\x01\x7f", "\xff"}).Draw(t, "more")
		most := rapid.IntRange(4, 60).Draw(t, "most")
		got, size := fitting(line, most)
		if !strings.HasPrefix(line, got) || size > most {
			t.Fatalf("%q of %d: %q, %d", line, most, got, size)
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(got); err != nil || text.Len() > size { // the newline is the comma
			t.Fatalf("%q has %d bytes, not %d: %v", got, text.Len(), size, err)
		}
	})
}

// TestWorstScreens: whatever a program paints, its screen can be told in one line.
func TestWorstScreens(t *testing.T) {
	for _, cell := range []string{"<", "\"", "\U0001d400", "e" + strings.Repeat("\u0301", 8)} {
		term := &terminal{screen: screen.New(tty.MaxColumns, tty.MaxRows, keptLines), columns: tty.MaxColumns, rows: tty.MaxRows}
		for range tty.MaxRows + keptLines {
			_, _ = term.screen.Write([]byte(strings.Repeat(cell, tty.MaxColumns-1) + "\r\n"))
		}
		s := term.look("x", true)
		text, err := json.Marshal(s.Lines)
		if err != nil || len(s.Lines) != tty.MaxRows || cell != "<" && len(text) > 1<<20 {
			t.Errorf("%q: %d lines in %d bytes, %v", cell, len(s.Lines), len(text), err)
		}
		var whole bytes.Buffer
		e := json.NewEncoder(&whole)
		e.SetEscapeHTML(false)
		if err := e.Encode(s); err != nil || whole.Len() > 1<<20-1<<10 {
			t.Errorf("%q: %d bytes in all, %v", cell, whole.Len(), err)
		}
		if len(s.Lines[0]) == 0 {
			t.Errorf("%q: nothing is told", cell)
		}
	}
}
