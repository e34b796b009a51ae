package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What a reader can hold. The medians and percentiles are over the program's
// code, the largest file is over tests as well.
const (
	maxFile      = 500
	medianFile   = 150
	p90File      = 350
	medianFunc   = 15
	p90Func      = 40
	p99Func      = 70
	maxFunc      = 110
	maxTableFunc = 260 // a function that only returns one composite literal
)

func TestFileSizes(t *testing.T) {
	tr := load(t)
	var sizes []int
	for _, s := range tr.files {
		if s.lines > maxFile {
			t.Errorf("%s has %d lines, want at most %d: split it by concept", s.path, s.lines, maxFile)
		}
		if !s.test {
			sizes = append(sizes, s.lines)
		}
	}
	within(t, "median file", sizes, 50, medianFile)
	within(t, "90th percentile file", sizes, 90, p90File)
}

func TestFunctionSizes(t *testing.T) {
	tr := load(t)
	var sizes []int
	for _, s := range tr.code() {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			n := tr.span(f)
			limit := maxFunc
			if isTable(f) {
				limit = maxTableFunc
			} else {
				sizes = append(sizes, n)
			}
			if n > limit {
				t.Errorf("%s: %s has %d lines, want at most %d", tr.at(f.Pos()), f.Name.Name, n, limit)
			}
		}
	}
	within(t, "median function", sizes, 50, medianFunc)
	within(t, "90th percentile function", sizes, 90, p90Func)
	within(t, "99th percentile function", sizes, 99, p99Func)
}

// span is the number of lines of a declaration.
func (tr *tree) span(d ast.Decl) int {
	return tr.fset.Position(d.End()).Line - tr.fset.Position(d.Pos()).Line + 1
}

// isTable says whether a function is data: its body is one return.
func isTable(f *ast.FuncDecl) bool {
	if len(f.Body.List) != 1 {
		return false
	}
	_, ok := f.Body.List[0].(*ast.ReturnStmt)
	return ok
}

func within(t *testing.T, what string, sizes []int, percent, limit int) {
	t.Helper()
	if len(sizes) == 0 {
		t.Fatal("no source found")
	}
	slices.Sort(sizes)
	got := sizes[(len(sizes)-1)*percent/100]
	t.Logf("%s: %d lines", what, got)
	if got > limit {
		t.Errorf("the %s has %d lines, want at most %d", what, got, limit)
	}
}

// maxLine is the longest line of prose, in bytes; tables and what a program prints have
// lines of their own length. Of the code's lines some are longer still: their number only
// goes down.
const (
	maxLine   = 140
	longLines = 3363
)

func TestLineLengths(t *testing.T) {
	tr := load(t)
	long := 0
	for _, s := range tr.files {
		for line := range strings.Lines(string(s.text)) {
			if len(line) > maxLine+1 {
				long++
			}
		}
	}
	if long > longLines {
		t.Errorf("%d lines of code have more than %d bytes, and there were %d", long, maxLine, longLines)
	}
	for _, rel := range tr.other {
		if !strings.HasSuffix(rel, ".md") || strings.HasPrefix(rel, "bench/") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(tr.root, rel))
		if err != nil {
			t.Fatal(err)
		}
		fence := false
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fence = !fence
			}
			if !fence && len(line) > maxLine && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "    ") {
				t.Errorf("%s:%d has %d bytes, want at most %d: wrap it", rel, i+1, len(line), maxLine)
			}
		}
	}
}
