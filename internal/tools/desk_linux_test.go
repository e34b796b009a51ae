package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/supervisor"
)

// program is carrel, built for these tests.
var program string

func TestMain(m *testing.M) {
	code, err := withProgram(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withProgram(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "carrel-tools-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "carrel")
	cmd := exec.Command("go", "build", "-o", program, "carrel/cmd/carrel")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return 1, fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// desk is a workspace that stays, with a project and a home of its own.
type desk struct {
	t       *testing.T
	entry   supervisor.Entry
	project string
	env     []string
}

func newDesk(t *testing.T, flags ...string) *desk {
	t.Helper()
	parent := "/var/lib" // not in /tmp, which is private inside
	if os.Getuid() != 0 {
		var err error
		if parent, err = os.UserCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	base, err := os.MkdirTemp(parent, "carrel-tools-")
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, project: base + "/home/project"}
	for _, dir := range []string{d.project, base + "/run"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d.env = []string{"HOME=" + base + "/home", "XDG_RUNTIME_DIR=" + base + "/run", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"}
	t.Cleanup(func() {
		d.carrel("stop", "desk")
		os.RemoveAll(base)
	})
	if out, err := d.carrel(append([]string{"start", "desk"}, flags...)...); err != nil {
		t.Fatalf("carrel start: %v: %s", err, out)
	}
	entries, err := supervisor.Find([]string{base + "/run/carrel"})
	if err != nil || len(entries) != 1 {
		t.Fatalf("entries %+v: %v", entries, err)
	}
	d.entry = entries[0]
	return d
}

func (d *desk) carrel(args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = d.project, d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *desk) write(name, content string) {
	d.t.Helper()
	path := filepath.Join(d.project, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read(name string) string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.project, name))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// steps are those of the project's history.
func (d *desk) steps() (numbers []uint64) {
	d.t.Helper()
	out, err := d.carrel("history", "--json")
	if err != nil {
		d.t.Fatalf("history: %v: %s", err, out)
	}
	var all []struct{ Step uint64 }
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		d.t.Fatalf("%v in %s", err, out)
	}
	for _, s := range all {
		numbers = append(numbers, s.Step)
	}
	return numbers
}

// runs says whether a command runs somewhere.
func runs(command string) bool {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range list {
		if line, _ := os.ReadFile(f); strings.ReplaceAll(string(line), "\x00", " ") == command+" " {
			return true
		}
	}
	return false
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
