package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// What a reader can hold of a package and of a type.
const (
	maxRoomLines = 6000
	maxRoomFiles = 40
	maxMethods   = 30
	maxImports   = 12
)

// Where these bounds do not hold yet. Each number only goes down: who makes one of these
// smaller writes the new one here.
var (
	roomLines = map[string]int{}
	roomFiles = map[string]int{}
	methods   = map[string]int{
		"bench.bench":                    77,
		"internal/broker.worker":         152,
		"internal/decide.Decision":       236,
		"internal/desktop.Desktop":       90,
		"internal/gui.Desktop":           42,
		"internal/history/writer.Writer": 162,
		"internal/sandbox.Walls":         31,
		"internal/session.Session":       43,
		"internal/session.desk":          63,
		"internal/sandbox/stage.builder": 43,
		"internal/steps.Recorder":        45,
	}
	imports = map[string]int{
		"internal/steps":           14,
		"internal/cli":             21,
		"internal/cli/agentcmd":    19,
		"internal/cli/configcmd":   14,
		"internal/cli/decisioncmd": 17,
		"internal/cli/historycmd":  16,
		"internal/cli/namedcmd":    15,
		"internal/cli/runcmd":      17,
		"internal/gui":             15,
		"internal/decide":          38,
		"internal/session":         46,
	}
)

// held checks a number against the bound for all, or the one of its own, which must not be
// higher than what is there.
func held(t *testing.T, what, name string, n, bound int, own map[string]int) {
	t.Helper()
	limit, ok := own[name]
	switch {
	case !ok && n > bound:
		t.Errorf("%s: %d %s, want at most %d", name, n, what, bound)
	case ok && n > limit:
		t.Errorf("%s: %d %s, and it had %d: it only gets smaller", name, n, what, limit)
	case ok && n <= bound:
		t.Errorf("%s: %d %s, which is within the bound for all: take it off the list", name, n, what)
	}
}

func TestRoomSizes(t *testing.T) {
	lines, files := make(map[string]int), make(map[string]int)
	for _, s := range load(t).code() {
		lines[s.room] += s.lines
		files[s.room]++
	}
	for room := range lines {
		held(t, "lines", room, lines[room], maxRoomLines, roomLines)
		held(t, "files", room, files[room], maxRoomFiles, roomFiles)
	}
}

// TestMethods counts those of each type, in all files of its package.
func TestMethods(t *testing.T) {
	count := make(map[string]int)
	for _, s := range load(t).code() {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if name, ok := typ.(*ast.Ident); ok && !strings.HasSuffix(s.path, "_other.go") {
				count[s.room+"."+name.Name]++
			}
		}
	}
	for typ, n := range count {
		held(t, "methods", typ, n, maxMethods, methods)
	}
}

// TestImports counts what each room imports of ours.
func TestImports(t *testing.T) {
	of := make(map[string][]string)
	for _, s := range load(t).code() {
		for _, imp := range s.file.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); strings.HasPrefix(path, "carrel/") && !slices.Contains(of[s.room], path) {
				of[s.room] = append(of[s.room], path)
			}
		}
	}
	for room, list := range of {
		held(t, "imports", room, len(list), maxImports, imports)
	}
}
