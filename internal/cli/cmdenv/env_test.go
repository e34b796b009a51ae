package cmdenv

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"carrel/internal/api"
)

// ceilingFile writes a ceiling, and gives its name.
func ceilingFile(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(`{"network": {"mode": "disabled"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCeilingIsReadOnce: what was read first holds, also when the file says something else
// later or is gone.
func TestCeilingIsReadOnce(t *testing.T) {
	file := ceilingFile(t, "c.json")
	e := &Env{}
	if _, err := e.CutCeiling([]string{"--permissions", file, "ps"}); err != nil || !e.NamedCeiling() {
		t.Fatal(err)
	}
	first, err := e.Ceilings("")
	if err != nil || len(first) != 1 || !strings.Contains(string(first[0].Content), "disabled") {
		t.Fatalf("%+v, %v", first, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if again, err := e.Ceilings(""); err != nil || len(again) != 1 || again[0].Source != first[0].Source {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestCeilingOfOneCommand: a command's own flag names the ceiling, for what the command asks
// for later too; two flags are a mistake, and a file that is not there is none.
func TestCeilingOfOneCommand(t *testing.T) {
	file := ceilingFile(t, "own.json")
	e := &Env{}
	for _, flag := range []string{file, ""} {
		if texts, err := e.CallerUnder(flag).Ceilings(); err != nil || len(texts) != 1 {
			t.Errorf("%q: %+v, %v", flag, texts, err)
		}
	}
	if texts, err := (&Env{}).Ceilings(""); err != nil || texts == nil || len(texts) != 0 {
		t.Errorf("none: %#v, %v", texts, err)
	}
	leading := &Env{ceiling: ceiling{leading: "a.json"}}
	const want = `before the command ("a.json") and after it ("b.json")`
	if _, err := leading.Ceilings("b.json"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("two: %v", err)
	}
	absent := filepath.Join(t.TempDir(), "absent.json")
	for range 2 {
		if texts, err := leading.Ceilings(""); err == nil {
			t.Errorf("a file that is not there: %+v", texts)
		}
	}
	if _, err := (&Env{}).Ceilings(absent); err == nil || !strings.Contains(err.Error(), absent) {
		t.Errorf("%v", err)
	}
	if _, err := (&Env{Supervises: true}).Ceilings(""); err == nil || !strings.Contains(err.Error(), "handed its ceilings") {
		t.Errorf("a supervisor that was handed none: %v", err)
	}
}

// TestUnderNoCeiling: what runs exactly the policy that it is given is refused under a ceiling.
func TestUnderNoCeiling(t *testing.T) {
	environ := []string{"HOME=" + t.TempDir()}
	if err := (&Env{Environ: environ}).UnderNoCeiling("sandbox", "go"); err != nil {
		t.Error(err)
	}
	e := &Env{Environ: environ, ceiling: ceiling{leading: ceilingFile(t, "c.json")}}
	var d *api.Denial
	if err := e.UnderNoCeiling("sandbox", "go"); !errors.As(err, &d) || d.Code != api.CodeCeiling || d.Source == "" || d.Hint != "go" {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestReadText: a text on standard input is bounded, and an error of reading is not its end.
func TestReadText(t *testing.T) {
	most := strings.Repeat("x", maxInput)
	if got, err := ReadText(strings.NewReader(most)); err != nil || got != most {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := ReadText(strings.NewReader(most + "x")); err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes") {
		t.Errorf("%v", err)
	}
	if _, err := ReadText(broken{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// TestWhereTheConfigurationIs: the project is the one around the working directory, and the
// home directory the one that its links lead to.
func TestWhereTheConfigurationIs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("carrel runs on Linux alone")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(root, "home", "project")
	for _, dir := range []string{filepath.Join(project, ".git"), filepath.Join(project, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("home", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(project, "sub"))
	e := &Env{Environ: []string{"HOME=/first", "HOME=" + filepath.Join(root, "link"), "XDG_CONFIG_HOME=/c"}}
	got := e.ConfigOptions()
	if got.Home != filepath.Dir(project) || got.Cwd != filepath.Join(project, "sub") || got.Project != project || got.ConfigHome != "/c" {
		t.Errorf("%+v", got)
	}
}
