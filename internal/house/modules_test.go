package house

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// update writes dependencies.txt, or a generated page of the manual, instead of comparing
// it: go test ./internal/house -run TestDependencies -update.
var update = flag.Bool("update", false, "write what is generated anew")

// TestDependencies compares dependencies.txt with what each room imports, in
// both directions.
func TestDependencies(t *testing.T) {
	tr := load(t)
	want := dependencies(t, tr.root)
	got := make(map[string][]string)
	for _, s := range tr.files {
		for _, i := range s.imports() {
			if first, _, _ := strings.Cut(i, "/"); !strings.Contains(first, ".") || strings.HasPrefix(i, module+"/") {
				continue
			}
			room := s.room
			if s.test {
				room += " (test)"
			}
			if m := moduleOf(direct(t, tr.root), i); m == "" {
				t.Errorf("%s imports %s, of a module that go.mod does not require directly", s.path, i)
			} else if !slices.Contains(got[room], m) {
				got[room] = append(got[room], m)
			}
		}
	}
	if *update {
		write(t, tr.root, got)
		return
	}
	for room, modules := range got {
		for _, m := range modules {
			if !slices.Contains(want.rooms[room], m) {
				t.Errorf("%s imports %s: is it worth it? then say so in dependencies.txt", room, m)
			}
		}
	}
	for room, modules := range want.rooms {
		for _, m := range modules {
			if !slices.Contains(got[room], m) {
				t.Errorf("dependencies.txt: %s does not import %s", room, m)
			}
		}
	}
}

// TestModulesAreExplained holds go.mod, dependencies.txt and ARCHITECTURE.md
// to the same list.
func TestModulesAreExplained(t *testing.T) {
	tr := load(t)
	want := dependencies(t, tr.root)
	direct := direct(t, tr.root)
	text, err := os.ReadFile(filepath.Join(tr.root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range direct {
		if !slices.Contains(want.modules, m) {
			t.Errorf("go.mod requires %s, which no room uses", m)
		}
		if !bytes.Contains(text, []byte("`"+m+"`")) {
			t.Errorf("ARCHITECTURE.md does not say why there is %s", m)
		}
	}
	for _, m := range want.modules {
		if !slices.Contains(direct, m) {
			t.Errorf("dependencies.txt names %s, which go.mod does not require directly", m)
		}
	}
}

// write keeps the comment at the top of dependencies.txt and replaces the rest.
func write(t *testing.T, root string, rooms map[string][]string) {
	t.Helper()
	file := filepath.Join(root, "internal/house/dependencies.txt")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(old)) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, room := range slices.Sorted(maps.Keys(rooms)) {
		slices.Sort(rooms[room])
		fmt.Fprintf(&b, "%s: %s\n", room, strings.Join(rooms[room], " "))
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// listed is the content of dependencies.txt: lines "room: module module".
type listed struct {
	rooms   map[string][]string
	modules []string
}

func dependencies(t *testing.T, root string) listed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "internal/house/dependencies.txt"))
	if err != nil {
		t.Fatal(err)
	}
	l := listed{rooms: make(map[string][]string)}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		room, modules, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("dependencies.txt: %q is not \"room: module...\"", line)
		}
		l.rooms[room] = strings.Fields(modules)
		l.modules = append(l.modules, l.rooms[room]...)
	}
	slices.Sort(l.modules)
	l.modules = slices.Compact(l.modules)
	return l
}

func moduleOf(modules []string, importPath string) string {
	for _, m := range modules {
		if importPath == m || strings.HasPrefix(importPath, m+"/") {
			return m
		}
	}
	return ""
}

// direct reads the direct requirements of go.mod.
func direct(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) >= 2 && strings.HasPrefix(f[1], "v") && !strings.Contains(line, "// indirect") {
			out = append(out, f[0])
		}
	}
	return out
}

func itoa(n int) string { return strconv.Itoa(n) }
