package broker

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUmaskIsTheCallers: what is made has the mode that its caller's umask leaves, and that
// of the one before is in the way of nothing that the broker's thread makes for itself.
func TestUmaskIsTheCallers(t *testing.T) {
	n := newBench(t)
	own := t.TempDir() + "/own"
	n.notes.never = func(*Change) bool { // on the thread that carries out
		_ = os.Remove(own)
		if err := os.WriteFile(own, nil, 0o600); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(own); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("the thread's own file: %v, %v", st, err)
		}
		return false
	}
	for name, mask := range map[string]uint64{"a": 0, "b": 0o777, "c": 0o22, "d": 0o700, "e": 0o77, "f": 0} {
		for _, name := range []string{name, name + name} {
			n.b.umasks.Changing(n.tid, int(mask))
			if a := n.call(unix.SYS_OPENAT, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o666); a.errno != 0 {
				t.Fatal(a)
			}
			if st, err := os.Stat(n.dir + "/" + name); err != nil || uint64(st.Mode().Perm()) != 0o666&^mask {
				t.Errorf("umask %o: %v, %v", mask, st.Mode(), err)
			}
		}
	}
}
