package taskop

import "strings"

// Part is a piece of a diff that can be taken over by itself: one hunk of a file, or a file as a
// whole where it is new, gone or binary.
type Part struct {
	File string // the line that begins the file's diff
	Head string // the lines before its first hunk
	Text string // the hunk; "" where the head is all
}

// parts cuts what git diff --patch prints into pieces. Its lines begin files with "diff --git", and
// hunks with "@@"; a line of a file's content begins with a space, "+", "-" or a backslash.
func parts(diff string) (out []Part) {
	for _, file := range cut(diff, "diff --git ") {
		name, _, _ := strings.Cut(file, "\n")
		hunks := cut(file, "@@ ")
		head := file
		if len(hunks) > 0 {
			head = file[:strings.Index(file, "\n@@ ")+1]
		}
		if len(hunks) == 0 || strings.Contains(head, "\nnew file mode ") || strings.Contains(head, "\ndeleted file mode ") {
			out = append(out, Part{File: name, Head: head, Text: file[len(head):]})
			continue
		}
		for _, hunk := range hunks {
			out = append(out, Part{File: name, Head: head, Text: hunk})
		}
	}
	return out
}

// cut gives the pieces of a text that begin with a line's beginning; what is before the first is
// left out.
func cut(text, begin string) (out []string) {
	at := 0
	if !strings.HasPrefix(text, begin) {
		i := strings.Index(text, "\n"+begin)
		if i < 0 {
			return nil
		}
		at = i + 1
	}
	for {
		next := strings.Index(text[at:], "\n"+begin)
		if next < 0 {
			return append(out, text[at:])
		}
		out = append(out, text[at:at+next+1])
		at += next + 1
	}
}

// patchOf puts parts together again, for git apply. Parts of one file stand together.
func patchOf(chosen []Part) string {
	var b strings.Builder
	file := ""
	for _, p := range chosen {
		if p.File != file {
			b.WriteString(p.Head)
			file = p.File
		}
		b.WriteString(p.Text)
	}
	return b.String()
}
