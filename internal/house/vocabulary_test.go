package house

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Words that only this project gave their meaning. A name says what a thing is in the words
// of the field; a text says who is meant. Those of privateNames are plain English in a
// sentence and may stand there.
var (
	privateWords = []string{"led", "owed", "lent", "births", "mourn", "yield", "judge"}
	privateNames = []string{"birth", "still", "terms", "beside", "told", "away"}
	vague        = []string{"nobody", "somebody", "whoever"}
)

// keptNames are the exported names that have such a word, with the reason.
var keptNames = map[string]string{
	"internal/api.OpYield":                 "the operation is called so on the wire",
	"internal/api.OpTerms":                 "the operation is called so on the wire",
	"internal/api.Terms":                   "what an owner is asked about, as on the wire",
	"internal/broker.Birth":                "the kernel's word for the time at which an inode was made",
	"internal/history/journal.Birth":       "the kernel's word, and a key of the journal",
	"internal/history.Beside":              "as in history/undo",
	"internal/history/undo.Beside":         "what an undo keeps under another name; not renamed yet",
	"internal/history/graph.Beside":        "as in history",
	"internal/history/steplog.Beside":      "as in history",
	"internal/stepview.Beside":             "as in history",
	"internal/history/writer.StillWritten": "what a process has open for writing; not renamed yet",
	"internal/steps.SetTerms":              "takes api.Terms",
	"internal/steps.TrimStill":             "trims a history that was released; not renamed yet",
	"internal/steps.Yield":                 "answers api.OpYield",
}

// TestNamesAreOfTheField looks at exported names, those of fields and methods too, and at the
// names of packages.
func TestNamesAreOfTheField(t *testing.T) {
	word := regexp.MustCompile(`[A-Z]+[a-z0-9]*|[a-z0-9]+`)
	private := make(map[string]bool)
	for _, w := range slices.Concat(privateWords, privateNames, vague) {
		private[w] = true
	}
	used := make(map[string]bool)
	for _, s := range load(t).code() {
		for _, name := range append(exported(s.file), s.file.Name.Name) {
			for _, w := range word.FindAllString(name, -1) {
				if !private[strings.ToLower(w)] {
					continue
				}
				full := s.room + "." + name
				if used[full] = true; keptNames[full] == "" {
					t.Errorf("%s: the name %s has the word %q: use the field's word for it", s.path, name, strings.ToLower(w))
				}
			}
		}
	}
	for name := range keptNames {
		if !used[name] {
			t.Errorf("there is no %s (any more): take it off the list", name)
		}
	}
}

func exported(f *ast.File) []string {
	var names []string
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			add(d.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			add(n.Name)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.Field:
			add(n.Names...)
		case *ast.BlockStmt:
			return false
		}
		return true
	})
	return names
}

// keptTexts are the texts that have such a word all the same, with the reason.
var keptTexts = map[string]string{
	"docs/supervisor.md yield": "the name of an operation",
	"docs/no-walls.md nobody":  "the user nobody",
	"docs/walls.md nobody":     "the user nobody",
}

// TestTextsSayWhoIsMeant looks at what people read: the manual, the texts of the command line
// and the comments of packages.
func TestTextsSayWhoIsMeant(t *testing.T) {
	tr := load(t)
	used := make(map[string]bool)
	check := func(at, file, text string) {
		for _, w := range slices.Concat(privateWords, vague) {
			if !regexp.MustCompile(`(?i)\b` + w + `\b`).MatchString(text) {
				continue
			}
			if used[file+" "+w] = true; keptTexts[file+" "+w] == "" {
				t.Errorf("%s: %q: say it in the words of the field, and who is meant", at, w)
			}
		}
	}
	for rel, text := range manual(t, tr) {
		check(rel, rel, text)
	}
	for _, s := range tr.code() {
		if s.file.Doc != nil {
			check(s.path, s.room, s.file.Doc.Text())
		}
		if !strings.HasPrefix(s.room+"/", "internal/cli/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, _ := strconv.Unquote(l.Value)
				check(tr.at(l.Pos()), s.room, text)
			}
			return true
		})
	}
	for text := range keptTexts {
		if !used[text] {
			t.Errorf("%s: it is not there (any more): take it off the list", text)
		}
	}
}
