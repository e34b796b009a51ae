//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs what the documentation shows, as a person would type it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/scripts",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			if err := os.MkdirAll(filepath.Join(home, "desk"), 0o755); err != nil {
				return err
			}
			e.Cd = filepath.Join(home, "desk")
			e.Setenv("HOME", home)
			e.Defer(func() { // where a script has failed half-way
				cmd := exec.Command(built.carrel, "stop", "script")
				cmd.Env = e.Vars
				_ = cmd.Run()
			})
			e.Setenv("XDG_RUNTIME_DIR", filepath.Join(e.WorkDir, "runtime"))
			e.Setenv("PATH", filepath.Dir(built.carrel)+":/usr/local/bin:/usr/bin:/bin")
			return nil
		},
	})
}
