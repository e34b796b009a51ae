package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxWords bounds what a reader takes in at once: a sentence, or its part before a colon or a
// semicolon.
const maxWords = 25

// longSentences are those that are longer still, by where they stand. Their numbers only go down.
var longSentences = map[string]int{"docs/decisions": 78}

var (
	spanOfCode    = regexp.MustCompile("`[^`]*`")
	linkTarget    = regexp.MustCompile(`\]\([^)]*\)`)
	listOfCode    = regexp.MustCompile(`CODE(, |,? and |,? or | )(CODE(, |,? and |,? or | ))*CODE`)
	endOfSentence = regexp.MustCompile(`[.!?;:]["')*_]*\s+|\s·\s`)
	listItem      = regexp.MustCompile(`^([-*]|\d+\.)\s+`)
	columns       = regexp.MustCompile(`\S {2,}\S`)
	hasWord       = regexp.MustCompile(`[\pL\pN]`)
)

// TestSentencesAreShort looks at the manual, the help texts and the comments of packages.
func TestSentencesAreShort(t *testing.T) {
	tr := load(t)
	counts := make(map[string]int)
	check := func(at, group, text string) {
		for _, s := range tooLong(text) {
			if counts[group]++; longSentences[group] == 0 {
				t.Errorf("%s: more than %d words: %s", at, maxWords, s)
			}
		}
	}
	for rel, text := range manual(t, tr) {
		group := rel
		if strings.HasPrefix(rel, "docs/decisions/") {
			group = "docs/decisions"
		}
		check(rel, group, text)
	}
	for _, s := range tr.code() {
		if s.file.Doc != nil {
			check(s.path, "package comments", s.file.Doc.Text())
		}
		if !strings.HasPrefix(s.room+"/", "internal/cli/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			pair, ok := n.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if key, ok := pair.Key.(*ast.Ident); ok && (key.Name == "Long" || key.Name == "Short") {
				check(tr.at(pair.Pos()), s.path, literals(pair.Value))
			}
			return true
		})
	}
	for group, most := range longSentences {
		if n := counts[group]; n != most {
			t.Errorf("%s: %d sentences have more than %d words, and there were %d: write the number here if it is smaller",
				group, n, maxWords, most)
		}
	}
}

// literals joins the string literals of an expression, in its order.
func literals(e ast.Expr) (text string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			part, _ := strconv.Unquote(l.Value)
			text += part
		}
		return true
	})
	return text
}

// TestLongSentencesAreFound: what counts as one, and what is no sentence.
func TestLongSentencesAreFound(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for text, want := range map[string]int{
		words(25) + ".": 0,
		words(26) + ".": 1,
		"One. " + words(20) + ",\n" + words(6) + ".":    1,
		words(20) + ": " + words(20) + "; " + words(20): 0,
		"- " + words(20) + "\n- " + words(20):           0,
		"1. " + words(20) + "\n   " + words(6):          1,
		"| " + words(30) + " |":                         0,
		"```\n" + words(30) + "\n```\n" + words(26):     1,
		"    " + words(30):                              0,
		"\t" + words(30):                                0,
		words(20) + "\n\n" + words(20):                  0,
		strings.Repeat("`a b c d`, ", 30) + "and `e`.":  0,
		"[" + words(26) + "](x.md).":                    1,
		"[a](" + strings.ReplaceAll(words(9), " ", "_"): 0,
		strings.Repeat("[a b c](x.md) · ", 20) + "[b]":  0,
		"# " + words(30):                                0,
		"status:\n  0    " + words(30) + "\n":           0,
	} {
		if got := tooLong(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}

// tooLong gives the sentences of a text that are too long. Code, tables and headings have none,
// and a list of names in code is one word.
func tooLong(text string) (long []string) {
	for _, paragraph := range paragraphs(text) {
		plain := linkTarget.ReplaceAllString(spanOfCode.ReplaceAllString(paragraph, "CODE"), "]")
		plain = listOfCode.ReplaceAllString(plain, "CODE")
		for _, sentence := range endOfSentence.Split(plain, -1) {
			n := 0
			for word := range strings.FieldsSeq(sentence) {
				if hasWord.MatchString(word) {
					n++
				}
			}
			if n > maxWords {
				long = append(long, sentence)
			}
		}
	}
	return long
}

// paragraphs are those of a page, and items of its lists, each on one line.
func paragraphs(text string) (list []string) {
	var open []string
	end := func() {
		if len(open) > 0 {
			list = append(list, strings.Join(open, " "))
		}
		open = nil
	}
	fence := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		mark := strings.HasPrefix(trimmed, "```")
		if mark {
			fence = !fence
		}
		indented := strings.HasPrefix(line, "\t") || len(open) == 0 && strings.HasPrefix(line, "    ")
		if fence || mark || indented || trimmed == "" || strings.ContainsAny(trimmed[:1], "|#<") || columns.MatchString(trimmed) {
			end()
			continue
		}
		if item := listItem.FindString(trimmed); item != "" {
			end()
			trimmed = trimmed[len(item):]
		}
		open = append(open, trimmed)
	}
	end()
	return list
}
