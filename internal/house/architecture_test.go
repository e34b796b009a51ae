package house

import (
	"go/doc"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxArchitecture is what a stranger reads before the first change.
const maxArchitecture = 12 << 10

var namedFile = regexp.MustCompile("`([a-z0-9/]+/[a-z_*]+\\.(?:go|txt))`")

// TestArchitectureIsTrue holds ARCHITECTURE.md to its size, and to the tests and files that
// it names.
func TestArchitectureIsTrue(t *testing.T) {
	tr := load(t)
	text, err := os.ReadFile(filepath.Join(tr.root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > maxArchitecture {
		t.Errorf("ARCHITECTURE.md has %d bytes, want at most %d: the rest is for docs/internals.md and docs/decisions", len(text), maxArchitecture)
	}
	tests := testsOf(tr)
	named := testName.FindAllSubmatch(text, -1)
	for _, m := range named {
		if tests[string(m[1])] == "" {
			t.Errorf("ARCHITECTURE.md names %s, which is no test", m[1])
		}
	}
	files := namedFile.FindAllSubmatch(text, -1)
	for _, m := range files {
		at, _ := filepath.Glob(filepath.Join(tr.root, string(m[1])))
		below, _ := filepath.Glob(filepath.Join(tr.root, "internal", string(m[1])))
		if len(at)+len(below) == 0 {
			t.Errorf("ARCHITECTURE.md names %s, which is no file", m[1])
		}
	}
	if len(named) < 12 || len(files) < 12 {
		t.Errorf("ARCHITECTURE.md names %d tests and %d files", len(named), len(files))
	}
}

// docLink is a link of go doc, which is a word elsewhere.
var docLink = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// TestRoomsManual holds docs/rooms.md to what each package says of itself first. Write it
// anew with go test ./internal/house -run TestRoomsManual -update.
func TestRoomsManual(t *testing.T) {
	tr := load(t)
	said := make(map[string]string)
	for _, s := range tr.code() {
		if s.file.Doc != nil {
			said[s.room] = new(doc.Package).Synopsis(s.file.Doc.Text())
		}
	}
	var b strings.Builder
	b.WriteString("| package | what it is for |\n|---|---|\n")
	for _, room := range tr.rooms() {
		words := strings.SplitN(said[room], " ", 3) // Package NAME ...
		if len(words) < 3 {
			t.Errorf("%s says nothing of itself", room)
			continue
		}
		b.WriteString("| `" + room + "` | " + docLink.ReplaceAllString(strings.ReplaceAll(words[2], "|", "\\|"), "$1") + " |\n")
	}
	replaceGenerated(t, "docs/rooms.md", "TestRoomsManual", map[string]string{"packages": b.String()})
}
