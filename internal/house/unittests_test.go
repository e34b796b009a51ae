package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// Unit tests in a hundred lines of code, at least; a room of few lines is left out.
const (
	minShare   = 40
	sharedFrom = 200
)

// TestUnitTests counts the lines of each room's own tests. Those of the rooms below
// internal/history are in the room above them: they need a whole history. Left out are a
// room that only serves tests, and one that declares types and does nearly nothing.
func TestUnitTests(t *testing.T) {
	room := func(of string) string {
		if strings.HasPrefix(of, "internal/history/") {
			return "internal/history"
		}
		return of
	}
	code, tests := make(map[string]int), make(map[string]int)
	forTests, functions := make(map[string]bool), make(map[string]int)
	tr := load(t)
	for _, s := range tr.code() {
		code[room(s.room)] += s.lines
		for _, d := range s.file.Decls {
			if _, ok := d.(*ast.FuncDecl); ok {
				functions[room(s.room)] += tr.span(d)
			}
		}
		forTests[s.room] = forTests[s.room] || slices.Contains(s.imports(), "testing")
	}
	for _, s := range tr.files {
		if s.test {
			tests[room(s.room)] += s.lines
		}
	}
	for name, lines := range code {
		if !strings.HasPrefix(name, "internal/") || lines < sharedFrom || forTests[name] || 10*functions[name] < lines {
			continue
		}
		if share := 100 * tests[name] / lines; share < minShare {
			t.Errorf("%s: %d lines of unit tests in a hundred of code, want %d", name, share, minShare)
		}
	}
}
