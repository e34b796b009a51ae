package house

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestNoPatternIsCompiledAtStart: every process pays for what package variables hold, a workspace
// for as long as it stays. sync.OnceValue compiles a regular expression when it is asked for.
func TestNoPatternIsCompiledAtStart(t *testing.T) {
	for _, s := range load(t).code() {
		if strings.HasPrefix(s.room, "bench") {
			continue
		}
		for _, d := range s.file.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					return false
				case *ast.SelectorExpr:
					if of, _ := n.X.(*ast.Ident); of != nil && of.Name == "regexp" && (n.Sel.Name == "MustCompile" || n.Sel.Name == "MustCompilePOSIX") {
						t.Errorf("%s compiles a regular expression in a package variable", s.path)
					}
				}
				return true
			})
		}
	}
}
