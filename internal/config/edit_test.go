package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"carrel/internal/policy"
)

func presetsOf(t *testing.T, file string) []Preset {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d, problems := decodeFile(data, file, KindUser, Options{})
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, data)
	}
	return d.presets
}

const commented = `# my settings
home: full # I know

# what I start
presets:
  # builds
  dev:
    command: [make, "-j4"] # fast
network: closed
# the end
`

func TestAddPreset(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new/dir/config.yaml")
	args := []string{"x", "", "yes", "1", "a b", "a:\n#", "\xff\x00"[:1], "é", "-", "~", "2001-01-01", "{a"}
	if err := AddPreset(file, NewPreset{Name: "one", Command: args, Persona: policy.Agent, Description: "a: 'b'"}); err != nil {
		t.Fatal(err)
	}
	got := presetsOf(t, file)
	if len(got) != 1 || strings.Join(got[0].Command, "|") != strings.Join(args, "|") || got[0].Persona != policy.Agent || got[0].Description != "a: 'b'" {
		t.Errorf("%+v", got)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if err := AddPreset(file, NewPreset{Name: "one"}); !errors.Is(err, ErrPresetExists) {
		t.Errorf("a second time: %v", err)
	}
	if err := AddPreset(file, NewPreset{Name: "one", Replace: true, Command: []string{"z"}}); err != nil {
		t.Fatal(err)
	}
	if got := presetsOf(t, file); len(got) != 1 || got[0].Command[0] != "z" || got[0].Persona != policy.Human {
		t.Errorf("replaced: %+v", got)
	}
	for name, p := range map[string]NewPreset{
		"built-in": {Name: "shell", Builtin: []string{"shell"}}, "bad name": {Name: "a b"}, "bad persona": {Name: "x", Persona: "root"}, "NUL": {Name: "x", Command: []string{"a\x00"}},
	} {
		before, _ := os.ReadFile(file)
		if err := AddPreset(file, p); err == nil {
			t.Errorf("%s: want an error", name)
		}
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s: the file changed", name)
		}
	}
}

func TestEditKeepsTheRest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(commented), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := AddPreset(file, NewPreset{Name: "two", Command: []string{"b"}}); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	rest := string(text)
	for _, part := range []string{"# my settings", "home: full # I know", "# what I start", "presets:", "# builds", "dev:", `command: [make, "-j4"] # fast`, "two:", "network: closed", "# the end"} {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q is gone or out of order:\n%s", part, text)
		}
		rest = after
	}
	if err := RemovePreset(file, "two"); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); strings.ReplaceAll(string(text), "\n\n", "\n") != strings.ReplaceAll(commented, "\n\n", "\n") {
		t.Errorf("added and removed:\n%s\nwant as before, blank lines aside", text)
	}
	if err := RemovePreset(file, "dev"); err != nil {
		t.Fatal(err)
	}
	if err := RemovePreset(file, "dev"); !errors.Is(err, ErrNoPreset) {
		t.Errorf("a second time: %v", err)
	}
	if got := presetsOf(t, file); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEditForms(t *testing.T) {
	for _, text := range []string{"", "# only a comment", "{}", `{"home": "full", "presets": {"a": {"command": ["x"]}}}`, "presets: {}\n", "presets: {a: {}}\nhome: none"} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddPreset(file, NewPreset{Name: "new", Command: []string{"n"}}); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := presetsOf(t, file)
		if last := got[len(got)-1]; last.Name != "new" || last.Command[0] != "n" {
			t.Errorf("%q: %+v", text, got)
		}
		if data, _ := os.ReadFile(file); strings.HasPrefix(text, "#") && !strings.HasPrefix(string(data), text) {
			t.Errorf("the comment is gone:\n%s", data)
		}
	}
}

func TestEditRefusesWhatItCannotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	for _, text := range []string{"home: [", "hom: full", "a: &x 1", "home: full\n---\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := AddPreset(file, NewPreset{Name: "x"}); ProblemsOf(err) == nil {
			t.Errorf("%q: error %v, want problems with places", text, err)
		}
		if data, _ := os.ReadFile(file); string(data) != text {
			t.Errorf("%q was changed to %q", text, data)
		}
	}
}

func TestEditKeepsASymlink(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/real", []byte("home: none\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", dir+"/config.yaml"); err != nil {
		t.Fatal(err)
	}
	if err := AddPreset(dir+"/config.yaml", NewPreset{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if link, err := os.Readlink(dir + "/config.yaml"); err != nil || link != "real" {
		t.Errorf("the link is %q, %v", link, err)
	}
	if len(presetsOf(t, dir+"/real")) != 1 {
		t.Error("the preset is not behind the link")
	}
}

// TestConcurrentAdds: nobody's preset is lost, and no temporary file stays.
func TestConcurrentAdds(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "config.yaml")
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := AddPreset(file, NewPreset{Name: fmt.Sprintf("p%d", i), Command: []string{"x"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := presetsOf(t, file); len(got) != 20 {
		t.Errorf("%d presets, want 20", len(got))
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 { // the file and its lock
		t.Errorf("%v, %v", entries, err)
	}
}
