package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// surfaces answer programs. They read a request, ask package op, and write its answer.
var surfaces = []string{"internal/jsonapi", "internal/mcpserver"}

// beneathOp are the rooms that op and what is below it stand for: no surface goes around it.
var beneathOp = []string{
	"broker", "ceilings", "changelog", "config", "decide", "doctor", "egress", "explain", "guard", "histories", "history",
	"profile", "projecthistory", "sandbox", "statedir", "steps", "stepview",
}

// ownStarts are the operations for which a surface still starts this program and reads what it
// prints, with how often that stands in its code. Each number only goes down.
var ownStarts = map[string]int{
	"internal/jsonapi":   1, // start
	"internal/mcpserver": 2, // start
}

// TestSurfacesAskOp: a surface neither decides nor keeps anything itself.
func TestSurfacesAskOp(t *testing.T) {
	for _, s := range load(t).code() {
		if !slices.Contains(surfaces, s.room) {
			continue
		}
		for _, i := range s.imports() {
			room, ours := strings.CutPrefix(i, module+"/internal/")
			front, _, _ := strings.Cut(room, "/")
			if ours && slices.Contains(beneathOp, front) {
				t.Errorf("%s imports %s: package op, or one below it, has the function that a surface calls", s.path, room)
			}
		}
	}
}

// TestSurfacesStartNothing counts the calls by which a surface starts this program.
func TestSurfacesStartNothing(t *testing.T) {
	count := make(map[string]int)
	for _, s := range load(t).code() {
		if !slices.Contains(surfaces, s.room) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := c.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch of, _ := f.X.(*ast.SelectorExpr); {
			case f.Sel.Name == "carrel" || f.Sel.Name == "carrelText":
				count[s.room]++
			case of != nil && strings.EqualFold(of.Sel.Name, "program") && slices.Contains([]string{"JSON", "Raw"}, f.Sel.Name):
				count[s.room]++
			}
			return true
		})
	}
	for _, room := range surfaces {
		if n, had := count[room], ownStarts[room]; n != had {
			t.Errorf("%s starts this program in %d places, and it had %d: the number only goes down, and stands in this file", room, n, had)
		}
	}
}
