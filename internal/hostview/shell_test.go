package hostview

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestShellFiles(t *testing.T) {
	v := inspect(t, tree{"/usr/bin/bash": "x", "/usr/bin/sh": "x", "/bin": "-> usr/bin"}, "SHELL=/home/u/.local/bin/fish")
	for _, p := range []string{".bashrc", ".zshrc", ".config/fish/config.fish"} {
		if !strings.Contains(mustFile(t, v, "/home/u/"+p), "(carrel)") {
			t.Errorf("%s has no prompt marker", p)
		}
	}
	if v.Env["SHELL"] != "/bin/sh" {
		t.Errorf("SHELL = %q, want /bin/sh for an invisible shell", v.Env["SHELL"])
	}
	v = inspect(t, tree{"/usr/bin/bash": "x"}, "SHELL=/usr/bin/bash")
	if sh, set := v.Env["SHELL"]; set {
		t.Errorf("SHELL = %q, want it left alone", sh)
	}
}

// TestShellsReadThem runs the shells that are here with the generated files.
func TestShellsReadThem(t *testing.T) {
	home := t.TempDir()
	v := inspect(t, tree{})
	for _, f := range v.Files {
		if rel, ok := strings.CutPrefix(f.Path, testHome+"/"); ok && !strings.Contains(rel, "/") {
			if err := os.WriteFile(filepath.Join(home, rel), f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{
		{"sh", "-c", `. "$HOME/.profile"; echo "$PATH"`},
		{"bash", "-lc", `echo "$PATH"`},
	} {
		sh, err := exec.LookPath(args[0])
		if err != nil {
			t.Errorf("%s is needed and not installed", args[0])
			continue
		}
		cmd := exec.Command(sh, args[1:]...)
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CARREL_PATH=/kept:/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != "/kept:/usr/bin:/bin\n" {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}
