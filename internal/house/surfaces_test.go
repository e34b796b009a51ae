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

// TestSurfacesStartNothing: a surface starts no program, so that it never reads what this one
// prints for people.
func TestSurfacesStartNothing(t *testing.T) {
	for _, s := range load(t).code() {
		if !slices.Contains(surfaces, s.room) && !strings.HasPrefix(s.room, "internal/op") {
			continue
		}
		for _, i := range s.imports() {
			if i == "os/exec" {
				t.Errorf("%s imports os/exec: package op has the function that a surface calls", s.path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			of, _ := f.X.(*ast.Ident)
			if of != nil && slices.Contains([]string{"os.StartProcess", "syscall.ForkExec", "syscall.Exec", "unix.Exec"}, of.Name+"."+f.Sel.Name) {
				t.Errorf("%s starts a program by %s.%s", s.path, of.Name, f.Sel.Name)
			}
			return true
		})
	}
}
