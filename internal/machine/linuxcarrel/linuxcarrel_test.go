package linuxcarrel

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/config"
)

// TestWithoutBackend: the flag that leads into the machine is left out, and no word of a command.
func TestWithoutBackend(t *testing.T) {
	for line, want := range map[string]string{
		"run --backend lima -- make":                     "run -- make",
		"run --backend=lima --network closed -- make":    "run --network closed -- make",
		"run --network closed --backend lima -- x":       "run --network closed -- x",
		"run --backend none -- make":                     "run --backend none -- make",
		"run -- tool --backend lima":                     "run -- tool --backend lima",
		"run -- tool -- --backend=lima":                  "run -- tool -- --backend=lima",
		"run tool --backend lima":                        "run tool --backend lima",
		"undo":                                           "undo",
		"run --backend":                                  "run --backend",
		"run --backend lima --backend=lima -- --backend": "run -- --backend",
	} {
		args := strings.Fields(line)
		if got := strings.Join(withoutBackend(args), " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
		if strings.Join(args, " ") != line {
			t.Errorf("%q was changed: %q", line, args)
		}
	}
}

// TestHere: what is about this host is never done in a machine.
func TestHere(t *testing.T) {
	for _, line := range []string{"", "--help", "help run", "version", "lima list", "lima carrel run", "container list", "doctor", "config show"} {
		if !Here(strings.Fields(line)) {
			t.Errorf("%q is for the machine", line)
		}
	}
	for _, line := range []string{"run -- make", "undo", "claude", "mcp", "stdio", "start dev", "net log"} {
		if Here(strings.Fields(line)) {
			t.Errorf("%q is about this host", line)
		}
	}
}

// TestSettings: the user's and the operator's files count in the machine, a project's is there
// itself, and a ceiling is refused.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(kind config.Kind, text string) config.FileStatus {
		at := filepath.Join(dir, kind.String())
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.FileStatus{Kind: kind, Path: at, Present: true}
	}
	user := file(config.KindUser, "backend: lima\nnetwork: closed\n")
	operator := file(config.KindOperator, "lima: {image: /x}\ndeny: [/x]\n")
	project, ceiling := file(config.KindProject, "a project's"), file(config.KindCeiling, "a ceiling")
	u, o, err := settings([]config.FileStatus{operator, user, project})
	if err != nil || string(u) != "network: closed\n" || string(o) != "deny: [/x]\n" {
		t.Errorf("%q, %q, %v", u, o, err)
	}
	if u, o, err = settings(nil); err != nil || u != nil || o != nil {
		t.Errorf("without files: %q, %q, %v", u, o, err)
	}
	missing := config.FileStatus{Kind: config.KindUser, Path: "/nothing/there"}
	if _, _, err = settings([]config.FileStatus{missing}); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
	missing.Present = true
	for _, files := range [][]config.FileStatus{{user, ceiling}, {missing}} {
		if _, _, err = settings(files); err == nil || !strings.Contains(err.Error(), files[len(files)-1].Path) {
			t.Errorf("%+v: %v", files, err)
		}
	}
}

// TestPrograms: those of this system are beside this program, others in a directory of their own.
func TestPrograms(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(own)
	var got []string
	for _, arch := range []string{"amd64", "arm64"} {
		at, err := programs(arch)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at)
	}
	if !slices.Contains(got, dir+"/linux-arm64") && !slices.Contains(got, dir+"/linux-amd64") || got[0] == got[1] {
		t.Errorf("%q beside %s", got, dir)
	}
}
