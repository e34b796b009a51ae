package fileops

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Bounds of what an edit tells.
const (
	maxDiff   = 32 << 10 // bytes of a diff
	maxDiffed = 1 << 20  // bytes of a file that one is made of
	maxTold   = 10       // line numbers
)

func (r *EditFile) do(ctx context.Context, at *place) (any, error) {
	old, err := look(at, r.Path, MaxEdited)
	if err != nil {
		return nil, err
	}
	switch {
	case old == nil:
		return nil, failed(CodeNotFound, r.Path, fmt.Sprintf("there is no %q to edit", r.Path.short()), "write_file makes a file")
	case !old.known:
		f, _, err := openRegular(at, r.Path)
		if err != nil {
			return nil, err
		}
		f.Close()
		return nil, failed(CodeTooLarge, r.Path, fmt.Sprintf("%q has %d bytes; files of up to %d are edited", r.Path.short(), old.st.Size(), MaxEdited), "edit it with a command")
	}
	if err := old.expected(r.Expect); err != nil {
		return nil, err
	}
	text, out := old.content, &Edited{}
	for i, e := range r.list() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var n int
		if text, n, err = e.apply(text); err != nil {
			return nil, r.place(err, i)
		}
		out.Replacements += n
	}
	_, err = old.become(text, -1)
	if again := (*retry)(nil); errors.As(err, &again) {
		return nil, changed(r.Path)
	}
	if err != nil {
		return nil, told(r.Path, err)
	}
	out.SHA256 = sumOf(text)
	out.Diff, out.DiffTruncated = diff(r.Path.String(), old.content, text)
	return out, nil
}

// list are the edits, in order.
func (r *EditFile) list() []Edit {
	if len(r.Edits) == 0 && r.Edit != (Edit{}) {
		return []Edit{r.Edit}
	}
	return r.Edits
}

// place says in an error which edit it is about.
func (r *EditFile) place(err error, i int) error {
	e := told(r.Path, err)
	e.Subject = Path(r.Path.short())
	if len(r.Edits) > 0 {
		e.Message = fmt.Sprintf("edit %d of %d: %s; nothing was changed", i+1, len(r.Edits), e.Message)
	}
	return e
}

// apply makes one edit. In a file whose lines end with CRLF, text that was given with
// LF stands for that, as a model sees no difference.
func (e Edit) apply(text []byte) ([]byte, int, error) {
	from, to := []byte(e.Old), []byte(e.New)
	crlf := bytes.Contains(text, []byte("\r\n"))
	all := crlf && bytes.Count(text, []byte("\n")) == bytes.Count(text, []byte("\r\n"))
	if all && !bytes.Contains(to, []byte("\r\n")) {
		to = withCRLF(to)
	}
	n := bytes.Count(text, from)
	if n == 0 && crlf && !bytes.Contains(from, []byte("\r\n")) && bytes.Contains(from, []byte("\n")) {
		from = withCRLF(from)
		if !bytes.Contains(to, []byte("\r\n")) {
			to = withCRLF(to)
		}
		n = bytes.Count(text, from)
	}
	switch {
	case n == 0:
		return nil, 0, noMatch(text, e.Old)
	case n > 1 && !e.All:
		lines := linesOf(text, from)
		err := failed(CodeAmbiguous, "", fmt.Sprintf("old_string is there %d times, at lines %s", n, numbers(lines, n)), "give more of the text around it, or replace_all")
		err.Count, err.Lines = n, lines
		return nil, 0, err
	case len(text)+n*(len(to)-len(from)) > MaxEdited:
		return nil, 0, failed(CodeTooLarge, "", fmt.Sprintf("the file would have more than %d bytes", MaxEdited), "")
	}
	return bytes.ReplaceAll(text, from, to), n, nil
}

func withCRLF(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }

// linesOf are the numbers of the lines at which a text begins, the first of them.
func linesOf(text, part []byte) (lines []int) {
	for at, line := 0, 1; len(lines) < maxTold; {
		i := bytes.Index(text[at:], part)
		if i < 0 {
			return lines
		}
		line += bytes.Count(text[at:at+i], []byte("\n"))
		lines = append(lines, line)
		line += bytes.Count(part, []byte("\n"))
		at += i + len(part)
	}
	return lines
}

func numbers(lines []int, of int) string {
	text := strings.Trim(fmt.Sprint(lines), "[]")
	text = strings.ReplaceAll(text, " ", ", ")
	if of > len(lines) {
		text += ", ..."
	}
	return text
}

// noMatch tells where something is that differs in spaces only, or that begins like
// what was looked for.
func noMatch(text []byte, old string) *Error {
	want := strings.Split(strings.TrimSpace(strings.ReplaceAll(old, "\r\n", "\n")), "\n")
	have := strings.Split(string(text), "\n")
	var spaces, first []int
	for i := range have {
		if !alike(have[i], want[0]) || want[0] == "" {
			continue
		}
		if len(first) < maxTold {
			first = append(first, i+1)
		}
		same := i+len(want) <= len(have)
		for j := 1; same && j < len(want); j++ {
			same = alike(have[i+j], want[j])
		}
		if same && len(spaces) < maxTold {
			spaces = append(spaces, i+1)
		}
	}
	err := failed(CodeNoMatch, "", "old_string is not in the file", "read the file again; old_string has to be exactly what is there, with all spaces")
	switch {
	case len(spaces) > 0:
		err.Lines, err.Message = spaces, fmt.Sprintf("old_string is not in the file; with other spaces it is at line %s", numbers(spaces, len(spaces)))
	case len(first) > 0:
		err.Lines, err.Message = first, fmt.Sprintf("old_string is not in the file; its first line is at line %s, and goes on in another way", numbers(first, len(first)))
	}
	return err
}

// alike says whether two lines differ in spaces at most.
func alike(have, want string) bool {
	return strings.TrimSpace(have) == strings.TrimSpace(want) || strings.Join(strings.Fields(have), " ") == strings.Join(strings.Fields(want), " ")
}

// diff shows a change to people; bytes that are no text are shown as U+FFFD.
func diff(name string, before, after []byte) (text string, truncated bool) {
	if len(before) > maxDiffed || len(after) > maxDiffed {
		return "", true
	}
	text = strings.ToValidUTF8(udiff.Unified("a/"+name, "b/"+name, string(before), string(after)), "\uFFFD")
	if len(text) > maxDiff {
		return text[:strings.LastIndexByte(text[:maxDiff], '\n')+1], true
	}
	return text, false
}
