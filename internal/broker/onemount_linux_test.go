package broker

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestB11OneMount: a name leads from a root to a root. The broker of these tests
// has a mirror of one mount, where the kernel does not stop the others.
func TestB11OneMount(t *testing.T) {
	const here = ^uint64(99) // AT_FDCWD
	for _, row := range []struct {
		name  string
		texts func(in, out, fd string) []any
		nr    int32
		flags uint64
		want  answer
	}{
		{"link", func(in, out, _ string) []any { return []any{"=" + out + "/tool", "=" + in + "/new"} }, unix.SYS_LINKAT, 0, answer{errno: unix.EXDEV}},
		{"link that follows", func(in, out, _ string) []any { return []any{"=" + out + "/link", "=" + in + "/new"} }, unix.SYS_LINKAT, unix.AT_SYMLINK_FOLLOW, answer{errno: unix.EXDEV}},
		{"link of a link", func(in, out, _ string) []any { return []any{"=" + out + "/link", "=" + in + "/new"} }, unix.SYS_LINKAT, 0, answer{errno: unix.EXDEV}},
		{"link of a descriptor", func(in, _, fd string) []any { return []any{"=/proc/self/fd/" + fd, "=" + in + "/new"} }, unix.SYS_LINKAT, unix.AT_SYMLINK_FOLLOW, answer{errno: unix.EXDEV}},
		{"link out", func(in, out, _ string) []any { return []any{"=" + in + "/own", "=" + out + "/new"} }, unix.SYS_LINKAT, 0, answer{continued: true}},
		{"rename in", func(in, out, _ string) []any { return []any{"=" + out + "/tool", "=" + in + "/new"} }, unix.SYS_RENAMEAT2, 0, answer{continued: true}},
		{"rename out", func(in, out, _ string) []any { return []any{"=" + in + "/own", "=" + out + "/new"} }, unix.SYS_RENAMEAT2, 0, answer{continued: true}},
		{"exchange", func(in, out, _ string) []any { return []any{"=" + in + "/own", "=" + out + "/tool"} }, unix.SYS_RENAMEAT2, renameExchange, answer{continued: true}},
		{"within", func(in, _, _ string) []any { return []any{"=" + in + "/own", "=" + in + "/new"} }, unix.SYS_LINKAT, 0, answer{}}, // the canary
	} {
		t.Run(row.name, func(t *testing.T) {
			n, out, m := newBench(t), t.TempDir(), new(memory)
			for _, file := range []string{n.dir + "/own", out + "/tool"} {
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("tool", out+"/link"); err != nil {
				t.Fatal(err)
			}
			if os.Link(out+"/tool", n.dir+"/x") != nil || os.Remove(n.dir+"/x") != nil {
				t.Fatal("the kernel stops it already")
			}
			fd, err := unix.Open(out+"/tool", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(fd)
			inside, outside := described(t, n.dir), described(t, out)
			m.put("", row.texts(n.dir, out, itoa(fd)))
			a := n.raw(row.nr, here, m.at(0), here, m.at(1), row.flags)
			runtime.KeepAlive(m)
			changed := described(t, n.dir) != inside || described(t, out) != outside
			if a != row.want || changed != (row.want == answer{}) || (len(n.notes.list) > 0) != changed {
				t.Errorf("want %+v: %+v, changed %v, recorded %q", row.want, a, changed, n.notes.list)
			}
		})
	}
}
