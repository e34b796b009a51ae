package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGlossary holds that ARCHITECTURE.md's table of words is a glossary: no term stands
// there twice, and each is used by the code or the manual.
func TestGlossary(t *testing.T) {
	tr := load(t)
	terms := glossary(t, tr)
	if len(terms) < 15 {
		t.Fatalf("%d terms: is the table there?", len(terms))
	}
	text := manual(t, tr)
	delete(text, "ARCHITECTURE.md")
	for _, s := range tr.code() {
		text[s.path] = string(s.text)
	}
	defined := make(map[string]bool)
	for _, term := range terms {
		if defined[term] {
			t.Errorf("ARCHITECTURE.md defines %q twice", term)
		}
		defined[term] = true
		word := regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(term) + `s?\b`)
		used := false
		for _, s := range text {
			used = used || word.MatchString(s)
		}
		if !used {
			t.Errorf("ARCHITECTURE.md defines %q, which neither the code nor the manual uses", term)
		}
	}
}

// glossary gives the terms of the table below "Words", in its order.
func glossary(t *testing.T, tr *tree) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(tr.root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## Words\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var terms []string
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) != 4 || strings.HasPrefix(cells[1], "---") || strings.TrimSpace(cells[1]) == "word" {
			continue
		}
		for term := range strings.SplitSeq(cells[1], ",") {
			terms = append(terms, strings.TrimSpace(term))
		}
	}
	return terms
}

// manual gives what people read: README.md, ARCHITECTURE.md and the pages of docs.
func manual(t *testing.T, tr *tree) map[string]string {
	t.Helper()
	pages := make(map[string]string)
	for _, rel := range tr.other {
		if rel != "README.md" && rel != "ARCHITECTURE.md" && !(strings.HasPrefix(rel, "docs/") && strings.HasSuffix(rel, ".md")) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(tr.root, rel))
		if err != nil {
			t.Fatal(err)
		}
		pages[rel] = string(text)
	}
	return pages
}
