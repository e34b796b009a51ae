//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// remounting is what a process with mounts of its own may try against a mask and a
// read-only place, by the old and the new interface, in Python. Its arguments
// are the directory with key.pem and the read-only one. With "canary" it makes
// both walls itself, so that nothing locks them.
var remounting = program("escape_mounts/remounting.py")

// TestRemounts: masks and read-only places are locked: whoever makes mounts in a
// namespace of its own takes none away (runc CVE-2021-30465 and its like,
// snap-confine CVE-2021-44731, overlayfs CVE-2021-3732).
func TestRemounts(t *testing.T) {
	t.Parallel()
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, ordinary(t))
		w.need("python3")
		dir, shown := w.project+"/dir", w.home+"/shown"
		w.write(dir+"/key.pem", "SECRET")
		w.mkdir(shown, 0o755)
		tool := w.write(w.base+"/tool/remount.py", remounting)
		r := w.plain("python3", tool, dir, shown, "canary")
		if strings.Count(r.out, "SECRET") < 5 || !exists(shown+"/owned") {
			t.Fatalf("canary: what is not locked stays: %s", r)
		}
		w.outsideSh("rm " + shown + "/owned")
		for _, history := range []string{"on", "off"} {
			for _, deny := range []string{dir + "/key.pem", "**/*.pem"} {
				r := w.run("--nested", "full", "--history", history, "--deny", deny, "--read", shown, "--read", w.base+"/tool", "--", "python3", tool, dir, shown)
				if strings.Contains(r.out, "SECRET") || strings.Contains(r.out, "BROKEN") || !strings.Contains(r.out, "tried 22") || exists(shown+"/owned") {
					t.Errorf("history %s, --deny %s: %s", history, deny, r)
				}
				if got := w.read(dir + "/key.pem"); got != "SECRET" {
					t.Fatalf("history %s, --deny %s: the file was changed: %q", history, deny, got)
				}
			}
		}
	})
}
