package historycmd

import (
	"io"
	"os"
	"testing"

	"carrel/internal/cli/cmdenv"
)

// TestAnExportFollowsNoLink: a link that a command has put where a tar will be
// written is replaced, and what it leads to stays as it is.
func TestAnExportFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	other, name := dir+"/other", dir+"/step-1.tar"
	if err := os.WriteFile(other, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{other, dir + "/missing"} {
		_ = os.Remove(name)
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
		err := writeTo(&cmdenv.Env{Out: io.Discard}, name, func(w io.Writer) error {
			_, err := io.WriteString(w, "tar")
			return err
		})
		st, e := os.Lstat(name)
		if err != nil || e != nil || !st.Mode().IsRegular() {
			t.Errorf("%v %v %v", err, e, st)
		}
	}
	if text, err := os.ReadFile(other); err != nil || string(text) != "mine" {
		t.Errorf("what it led to: %q %v", text, err)
	}
	if _, err := os.Lstat(dir + "/missing"); err == nil {
		t.Error("something was made where it led to")
	}
	if err := writeTo(&cmdenv.Env{Out: io.Discard}, "/dev/null", func(w io.Writer) error { _, err := w.Write([]byte("tar")); return err }); err != nil {
		t.Errorf("a device: %v", err)
	}
}
