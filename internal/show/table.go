package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"carrel/internal/api"

	"golang.org/x/term"
)

// Table collects rows and prints them with aligned columns. Every cell is
// escaped and kept on one line: rows hold paths and words from anywhere.
type Table struct{ rows [][]string }

// Row adds one row; a row of one cell is a line of its own and does not widen
// a column.
func (t *Table) Row(cells ...string) {
	for i, c := range cells {
		cells[i] = OneLine(c)
	}
	t.rows = append(t.rows, cells)
}

// ColumnMax is the width up to which a column is aligned; a longer cell pushes
// its own row only.
const ColumnMax = 56

// Print writes the rows, each behind indent.
func (t *Table) Print(w io.Writer, indent string) {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r[:len(r)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(c); n <= ColumnMax {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, r := range t.rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, c := range r {
			b.WriteString(c)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c))+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// OneLine is Escape for text that has to stay on its line.
func OneLine(s string) string {
	s = Escape(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
}

// Indented puts the lines of a text behind an indent.
func Indented(indent, text string) string {
	return indent + strings.ReplaceAll(strings.TrimRight(Escape(text), "\n"), "\n", "\n"+indent)
}

// Line prints one value on one line.
func Line(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	_, err = w.Write(append(PlainJSON(line), '\n'))
	return err
}

// HasRows says whether there is anything to print.
func (t *Table) HasRows() bool { return len(t.rows) > 0 }

// IsTerminal says whether what is printed there is shown to a person.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// JSON writes one indented document.
func JSON(w io.Writer, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	if _, err := w.Write(PlainJSON(out.Bytes())); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	return nil
}

// PlainJSON escapes what a terminal could act on and JSON lets stand: control
// characters from U+007F on and marks that change the direction of text. They
// can only be inside strings.
func PlainJSON(text []byte) []byte {
	var out []byte
	for _, r := range string(text) {
		switch {
		case r < 0x7f || printable(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			a, b := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, a, b)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// Texts are strings of any bytes in JSON.
func Texts(list []string) []api.Text {
	out := make([]api.Text, len(list))
	for i, s := range list {
		out[i] = api.Text(s)
	}
	return out
}
