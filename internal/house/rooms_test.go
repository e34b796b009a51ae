package house

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// What a reader can hold of a package and of a type.
const (
	maxRoomLines   = 6000
	maxRoomFiles   = 40
	maxMethods     = 30
	maxMethodFiles = 5
	maxImports     = 12
)

// Where these bounds do not hold yet. Each number only goes down: who makes one of these
// smaller writes the new one here.
var (
	roomLines   = map[string]int{}
	roomFiles   = map[string]int{}
	methods     = map[string]int{}
	methodFiles = map[string]int{
		"internal/a11y.Bus":                7,
		"internal/agenthome.Home":          6,
		"internal/agents.Agent":            8,
		"internal/agents.mirrorer":         6,
		"internal/clients.Host":            6,
		"internal/config.decoder":          9,
		"internal/container.Engine":        8,
		"internal/doctor.Machine":          7,
		"internal/doctor.patient":          6,
		"internal/egress.Engine":           10,
		"internal/egress.client":           9,
		"internal/guard.Config":            11,
		"internal/guard.Guard":             7,
		"internal/guard.facts":             9,
		"internal/history/steplog.changes": 6,
		"internal/history/store.Store":     9,
		"internal/history/undo.actor":      6,
		"internal/history/undo.present":    8,
		"internal/interceptor.Server":      8,
		"internal/jsonapi.session":         8,
		"internal/mcpserver.Server":        6,
		"internal/mcpserver.call":          10,
		"internal/op.Caller":               7,
		"internal/policy.decision":         10,
		"internal/policy.findings":         8,
		"internal/screen.Screen":           7,
		"internal/statedir.Dir":            6,
		"internal/taskplan.scene":          6,
		"internal/hostview.inspector":      9,
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

// TestMethods counts those of each type, in all files of its package, and the files in which
// they are.
func TestMethods(t *testing.T) {
	count, files := make(map[string]int), make(map[string]map[string]bool)
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
				typ := s.room + "." + name.Name
				if count[typ]++; files[typ] == nil {
					files[typ] = make(map[string]bool)
				}
				files[typ][s.path] = true
			}
		}
	}
	for typ, n := range count {
		held(t, "methods", typ, n, maxMethods, methods)
		held(t, "files with its methods", typ, len(files[typ]), maxMethodFiles, methodFiles)
	}
}

// TestReceivers: the methods of a type call it by one name.
func TestReceivers(t *testing.T) {
	tr := load(t)
	names := make(map[string]string) // of types: the name, and where it was met first
	for _, s := range tr.code() {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil || len(f.Recv.List[0].Names) == 0 {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if generic, ok := typ.(*ast.IndexExpr); ok {
				typ = generic.X
			}
			id, ok := typ.(*ast.Ident)
			name := f.Recv.List[0].Names[0].Name
			if !ok || name == "_" {
				continue
			}
			of := s.room + "." + id.Name
			if first := names[of]; first == "" {
				names[of] = name
			} else if first != name {
				t.Errorf("%s: the receiver of %s is %s here, and %s elsewhere", tr.at(f.Pos()), of, name, first)
			}
		}
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
