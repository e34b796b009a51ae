package house

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// minPackageDoc is the least number of lines that can say what a package is
// for, its words and its limits.
const minPackageDoc = 3

func TestEveryPackageHasOneDoc(t *testing.T) {
	tr := load(t)
	docs := make(map[string][]*source)
	for _, s := range tr.code() {
		if s.file.Doc != nil && strings.TrimSpace(s.file.Doc.Text()) != "" {
			docs[s.room] = append(docs[s.room], s)
		}
	}
	for _, room := range tr.rooms() {
		switch found := docs[room]; len(found) {
		case 0:
			t.Errorf("%s has no package comment: say what it is for, its words, its limits, what it must not import", room)
		case 1:
			if n := lines(found[0].file.Doc.Text()); n < minPackageDoc {
				t.Errorf("%s: the package comment has %d lines, want %d or more", found[0].path, n, minPackageDoc)
			}
		default:
			t.Errorf("%s has %d package comments, in %s and %s: want one", room, len(found), found[0].path, found[1].path)
		}
	}
}

func lines(s string) int {
	n := 0
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

func TestPackageNames(t *testing.T) {
	banned := map[string]bool{"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true, "shared": true, "base": true, "lib": true}
	for _, s := range load(t).files {
		name := strings.TrimSuffix(s.file.Name.Name, "_test")
		if banned[name] || strings.ContainsAny(name, "_ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Errorf("%s: package %q: name it after what it does, in one lower-case word", s.path, name)
		}
	}
}

func TestExportedIdentifiersAreDocumented(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && !documented(d.Doc) && !obvious[d.Name.Name] {
					t.Errorf("%s: %s has no comment", tr.at(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				undocumented(d, func(n *ast.Ident) { t.Errorf("%s: %s has no comment", tr.at(n.Pos()), n.Name) })
			}
		}
	}
}

// obvious are methods that the standard library gives a fixed meaning.
var obvious = map[string]bool{"Error": true, "Unwrap": true, "String": true}

// undocumented reports the exported names of a declaration without a comment.
// In a group the group's comment covers its constants and variables; a type
// needs one of its own.
func undocumented(d *ast.GenDecl, report func(*ast.Ident)) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && !documented(spec.Doc) && !(documented(d.Doc) && len(d.Specs) == 1) {
				report(spec.Name)
			}
		case *ast.ValueSpec:
			if d.Tok == token.IMPORT || documented(d.Doc) || documented(spec.Doc) || documented(spec.Comment) || typedGroup(d) {
				continue
			}
			for _, n := range spec.Names {
				if n.IsExported() {
					report(n)
				}
			}
		}
	}
}

// typedGroup says whether a group of constants begins with a typed one: the
// comment of the type tells what they are.
func typedGroup(d *ast.GenDecl) bool {
	if d.Tok != token.CONST || len(d.Specs) == 0 {
		return false
	}
	first, ok := d.Specs[0].(*ast.ValueSpec)
	return ok && first.Type != nil
}

func documented(g *ast.CommentGroup) bool {
	return g != nil && strings.TrimSpace(g.Text()) != ""
}

// exportedReceiver is true for functions and for methods of exported types.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	expr := d.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
