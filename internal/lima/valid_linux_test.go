//go:build limactl

package lima

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTemplatesAreValid asks the real limactl, which refuses root. `make test-lima` builds it.
func TestTemplatesAreValid(t *testing.T) {
	dir := t.TempDir()
	copied := func(from, name string, mode os.FileMode) string {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(dir+"/"+name, data, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	program := copied(os.Getenv("CARREL_LIMACTL"), "limactl", 0o755)
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	ask := func(args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = "/", []string{"HOME=" + dir, "PATH=/usr/bin:/bin", "USER=nobody"}
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	if os.Getuid() == 0 {
		for _, at := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chown(at, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	if v, err := versionOf(ask("--version")); err != nil {
		t.Error(v, err)
	}
	for _, f := range files {
		if out := ask("validate", copied(f, filepath.Base(f), 0o644)); strings.Contains(out, "level=warn") {
			t.Errorf("%s: %s", f, out)
		}
	}
}
