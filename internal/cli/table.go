package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/policy"

	"golang.org/x/term"
)

// table collects rows and prints them with aligned columns. Every cell is
// escaped and kept on one line: rows hold paths and words from anywhere.
type table struct{ rows [][]string }

// row adds one row; a row of one cell is a line of its own and does not widen
// a column.
func (t *table) row(cells ...string) {
	for i, c := range cells {
		cells[i] = oneLine(c)
	}
	t.rows = append(t.rows, cells)
}

// columnMax is the width up to which a column is aligned; a longer cell pushes
// its own row only.
const columnMax = 56

// print writes the rows, each behind indent.
func (t *table) print(w io.Writer, indent string) {
	var widths []int
	for _, r := range t.rows {
		for i, c := range r[:len(r)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if n := utf8.RuneCountInString(c); n <= columnMax {
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

// oneLine is Escape for text that has to stay on its line.
func oneLine(s string) string {
	s = Escape(s)
	if !strings.ContainsAny(s, "\n\t") {
		return s
	}
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s)
}

// indented puts the lines of a text behind an indent.
func indented(indent, text string) string {
	return indent + strings.ReplaceAll(strings.TrimRight(Escape(text), "\n"), "\n", "\n"+indent)
}

// printJSON writes one indented document.
// printLine prints one value on one line.
func printLine(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	_, err = w.Write(append(plainJSON(line), '\n'))
	return err
}

// isTerminal says whether what is printed there is shown to a person.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// maxInput bounds what is read of standard input, in bytes.
const maxInput = 1 << 20

func readAllBounded(r io.Reader) (string, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("standard input has more than %d bytes", maxInput)
	}
	return string(b), err
}

func printJSON(w io.Writer, v any) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	if _, err := w.Write(plainJSON(out.Bytes())); err != nil {
		return fmt.Errorf("printing JSON: %w", err)
	}
	return nil
}

// plainJSON escapes what a terminal could act on and JSON lets stand: control
// characters from U+007F on and marks that change the direction of text. They
// can only be inside strings.
func plainJSON(text []byte) []byte {
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

// text is a string of any bytes in JSON.
type text = api.Text

func texts(list []string) []text {
	out := make([]text, len(list))
	for i, s := range list {
		out[i] = text(s)
	}
	return out
}

// sourceJSON is a policy.Source in JSON.
type sourceJSON struct {
	Layer  string `json:"layer"`
	File   text   `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Text   text   `json:"text,omitempty"` // flag, variable, key or built-in reason
}

func sourceOf(s policy.Source) sourceJSON {
	return sourceJSON{Layer: s.Layer.String(), File: text(s.File), Line: s.Line, Column: s.Column, Text: text(s.Text)}
}
