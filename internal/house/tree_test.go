package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the import path that all of ours begin with.
const module = "carrel"

// source is one parsed Go file of the module.
type source struct {
	path  string // from the module's root, with slashes
	room  string // directory, "internal/policy"
	test  bool   // a test, or what only tests use
	lines int
	text  []byte
	file  *ast.File
}

// tree is the module's source, read once for all tests.
type tree struct {
	root  string
	fset  *token.FileSet
	files []*source
	other []string // tracked-looking files that are not Go source
}

var read = sync.OnceValues(readTree)

// load gives the module's source; a file that does not parse ends the test.
func load(t *testing.T) *tree {
	t.Helper()
	tr, err := read()
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// skipDirs hold no source of ours.
var skipDirs = []string{".git", "bin", "bench/out", "node_modules"}

func readTree() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	tr := &tree{root: root, fset: token.NewFileSet()}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && (slices.Contains(skipDirs, rel) || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		case !strings.HasSuffix(rel, ".go"):
			tr.other = append(tr.other, rel)
			return nil
		}
		return tr.parse(p, rel)
	})
	return tr, err
}

func (tr *tree) parse(full, rel string) error {
	text, err := os.ReadFile(full)
	if err != nil {
		return err
	}
	f, err := parser.ParseFile(tr.fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parsing %s: %w", rel, err)
	}
	if ignored(f) || strings.Contains(rel, "/testdata/") {
		return nil
	}
	tr.files = append(tr.files, &source{
		path: rel, room: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "test/"),
		lines: bytes.Count(text, []byte("\n")), text: text, file: f,
	})
	return nil
}

// ignored says whether a file is a program of its own for go run.
func ignored(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			return false
		}
		for _, c := range g.List {
			if x, err := constraint.Parse(c.Text); err == nil && x.String() == "ignore" {
				return true
			}
		}
	}
	return false
}

func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// code gives the files that are part of the program, without tests and without the manual's
// examples, which are programs of other people.
func (tr *tree) code() []*source {
	return slices.DeleteFunc(slices.Clone(tr.files), func(s *source) bool { return s.test || strings.HasPrefix(s.room, "docs/") })
}

// rooms gives the directories that hold code, sorted.
func (tr *tree) rooms() []string {
	var out []string
	for _, s := range tr.code() {
		out = append(out, s.room)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// at gives "file:line" of a node.
func (tr *tree) at(pos token.Pos) string {
	p := tr.fset.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// imports gives the import paths of a file.
func (s *source) imports() []string {
	var out []string
	for _, i := range s.file.Imports {
		out = append(out, strings.Trim(i.Path.Value, `"`))
	}
	return out
}

// nameOf gives the name under which a file uses an import, "" when it does not.
func (s *source) nameOf(importPath string) string {
	for _, i := range s.file.Imports {
		if strings.Trim(i.Path.Value, `"`) != importPath {
			continue
		}
		if i.Name != nil {
			return i.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}
