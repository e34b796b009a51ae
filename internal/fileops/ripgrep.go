package fileops

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ripgrep searches with many threads and vector instructions, and means other things
// by the same expression. So it only says which files to look at: it is given an
// expression of bytes that matches wherever ours does, and maybe elsewhere, and what
// matches, and how that is told, is decided here. The answer is the same without it.
var ripgrep = "/usr/bin/rg"

// Bounds of one start of it, which takes some milliseconds.
const (
	worthFiles = 128
	maxArgs    = 512 << 10 // bytes
)

// candidates are those of some files that may match, in order.
func (m *matcher) candidates(ctx context.Context, files []string) []string {
	if m.wider == "" || len(files) < worthFiles {
		return files
	}
	args := []string{"--no-config", "--no-messages", "--no-unicode", "--text", "--encoding=none", "--null", "--files-with-matches", "-e", m.wider, "--"}
	size := 0
	for _, f := range files {
		if !filepath.IsAbs(f) { // "-" would be the standard input
			f = "./" + f
		}
		if size += len(f) + 16; size > maxArgs {
			return files
		}
		args = append(args, f)
	}
	cmd := exec.CommandContext(ctx, ripgrep, args...)
	cmd.Env = []string{"LANG=C"}
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return files // it is not there, or has not looked at all of them
	}
	named := make(map[string]bool)
	for name := range strings.SplitSeq(string(out), "\x00") {
		named[strings.TrimPrefix(name, "./")] = true
	}
	var some []string
	for _, f := range files {
		if named[strings.TrimPrefix(f, "./")] {
			some = append(some, f)
		}
	}
	return some
}

// wider is an expression for bytes that matches in every line in which re does, "" where
// none is known that is of use.
func wider(re *regexp.Regexp) string {
	if re.MatchString("") {
		return "" // every line
	}
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return ""
	}
	var w widening
	w.write(tree)
	if w.unknown || w.b.Len() > 64<<10 {
		return ""
	}
	return w.b.String()
}

type widening struct {
	b       strings.Builder
	unknown bool
	depth   int
}

// other is any character that is not ASCII, or any byte of one.
const other = `[\x80-\xff]{1,4}`

func (w *widening) write(re *syntax.Regexp) {
	w.depth++
	defer func() { w.depth-- }()
	if w.unknown = w.unknown || w.depth > 100 || w.b.Len() > 64<<10; w.unknown {
		return
	}
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		// Without a condition it matches more.
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			w.literal(r, re.Flags&syntax.FoldCase != 0)
		}
	case syntax.OpCharClass:
		w.class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.class([]rune{0, unicode.MaxRune})
	case syntax.OpCapture:
		w.group(re, "")
	case syntax.OpStar:
		w.group(re, "*")
	case syntax.OpPlus:
		w.group(re, "+")
	case syntax.OpQuest:
		w.group(re, "?")
	case syntax.OpRepeat:
		switch {
		case re.Max < 0:
			w.group(re, fmt.Sprintf("{%d,}", re.Min))
		default:
			w.group(re, fmt.Sprintf("{%d,%d}", re.Min, re.Max))
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.group(re, "")
	default:
		w.unknown = true
	}
}

// group writes what is below, as alternatives, with how often it may be there.
func (w *widening) group(re *syntax.Regexp, times string) {
	for i, sub := range re.Sub {
		w.b.WriteString([]string{"(?:", "|"}[min(i, 1)])
		w.write(sub)
	}
	w.b.WriteString(")" + times)
}

func (w *widening) literal(r rune, fold bool) {
	if r == utf8.RuneError || r == '\n' {
		w.unknown = true // the first stands for any wrong byte, too
		return
	}
	w.b.WriteString("(?:")
	w.rune(r)
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		w.b.WriteString("|")
		w.rune(f)
	}
	w.b.WriteString(")")
}

func (w *widening) rune(r rune) {
	for _, c := range []byte(string(r)) {
		fmt.Fprintf(&w.b, `\x%02x`, c)
	}
}

// class writes ranges of characters, without the end of a line.
func (w *widening) class(ranges []rune) {
	var ascii strings.Builder
	add := func(from, to rune) {
		if from <= to {
			fmt.Fprintf(&ascii, `\x%02x-\x%02x`, from, to)
		}
	}
	wide := false
	for i := 0; i+1 < len(ranges); i += 2 {
		from, to := ranges[i], min(ranges[i+1], 0x7f)
		wide = wide || ranges[i+1] > 0x7f
		if from <= '\n' && to >= '\n' {
			add(from, '\n'-1)
			add('\n'+1, to)
		} else {
			add(from, to)
		}
	}
	switch {
	case ascii.Len() > 0 && wide:
		w.b.WriteString("(?:[" + ascii.String() + "]|" + other + ")")
	case ascii.Len() > 0:
		w.b.WriteString("[" + ascii.String() + "]")
	case wide:
		w.b.WriteString("(?:" + other + ")")
	default:
		w.unknown = true
	}
}
