//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestInheritedDevices: a command may use a device of the host that it was given
// as a standard descriptor, and not change its node, which is everybody's. Its
// own terminals and what it opens for itself it may.
func TestInheritedDevices(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a device node takes root")
	}
	w := newWorld(t, people()[0])
	node := w.home + "/null"
	w.must(unix.Mknod(node, unix.S_IFCHR|0o644, int(unix.Mkdev(1, 3))))
	script := "python3 - 3<&0 <<'E'\n" + program("devices/inherited_devices.py") + "E"
	r := w.plain("sh", "-c", w.bin+" run -- sh -c '"+strings.ReplaceAll(script, "'", `'\''`)+"' <"+node)
	want := "device: Operation not permitted Operation not permitted Operation not permitted\nterminal: done 0o600\nfile: done\n"
	if r.out != want {
		t.Errorf("got %q, want %q: %s", r.out, want, r)
	}
	if st, err := os.Stat(node); err != nil || st.Mode().Perm() != 0o644 || st.ModTime().Unix() == 1 {
		t.Errorf("the host's node was changed: %v, %v", st, err)
	}
}
