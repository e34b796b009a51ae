package workspace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/view"
)

// TestConcludeWaits: what is told at the end is read while nobody adds to it.
func TestConcludeWaits(t *testing.T) {
	p := &Prepared{Policy: &policy.Effective{}, view: &view.View{}, notes: []string{"a note"}, denials: []api.Denial{{Subject: "x"}}}
	var r api.Result
	p.said.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.conclude(&r)
	}()
	select {
	case <-done:
		t.Error("it was read in the middle of something")
	case <-time.After(50 * time.Millisecond):
	}
	p.said.Unlock()
	<-done
	if len(r.Notes) != 1 || len(r.Denials) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestNotesUnderTheirLock: notes and denials are touched by few functions: those that
// hold the lock, and those of before a start.
func TestNotesUnderTheirLock(t *testing.T) {
	may := []string{"addNotes", "noted", "refused", "deny", "Preview", "strictlyHeld"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok || s.Sel.Name != "notes" && s.Sel.Name != "denials" {
					return true
				}
				of := s.X
				if through, ok := of.(*ast.SelectorExpr); ok {
					of = through.Sel
				}
				if name, ok := of.(*ast.Ident); ok && name.Name == "p" {
					if seen++; !slices.Contains(may, f.Name.Name) {
						t.Errorf("%s: %s touches %s", e.Name(), f.Name.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
	if seen < 5 {
		t.Errorf("found %d places only", seen)
	}
}
