package gitconf

import (
	"fmt"
	"slices"
	"strings"
)

// applies are the options that "git am" and "git rebase --apply" hand on to git apply, by
// how they begin. Of others --build-fake-ancestor has git write to any file.
var applies = []string{
	"--whitespace=", "--ignore-space-change", "--ignore-whitespace", "--directory=", "--exclude=", "--include=", "-C", "-p", "--reject",
}

// VetApply judges the options that "git am --continue" gives to git apply
// (rebase-apply/apply-opt): words that are quoted for a shell.
func VetApply(text string) error {
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimLeft(rest, " ") {
		word, after, ok := unquote(rest)
		if !ok {
			return fmt.Errorf("%q is nothing that git writes", rest)
		}
		if !slices.ContainsFunc(applies, func(begin string) bool { return strings.HasPrefix(word, begin) }) {
			return fmt.Errorf("git am has no option %q", word)
		}
		rest = after
	}
	return nil
}

// unquote takes the first word off a line that sq_quote of git's quote.c wrote: within
// single quotes, with \' and \! outside of them.
func unquote(line string) (word, rest string, ok bool) {
	var out strings.Builder
	for {
		if !strings.HasPrefix(line, "'") {
			return "", "", false
		}
		part, after, closed := strings.Cut(line[1:], "'")
		if !closed {
			return "", "", false
		}
		out.WriteString(part)
		switch {
		case after == "" || after[0] == ' ':
			return out.String(), after, true
		case strings.HasPrefix(after, `\''`), strings.HasPrefix(after, `\!'`):
			out.WriteByte(after[1])
			line = after[2:]
		default:
			return "", "", false
		}
	}
}
