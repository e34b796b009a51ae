package broker

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestChangesTellWhatWasSeen: a change carries what was at its paths before it, and
// nothing where there was nothing.
func TestChangesTellWhatWasSeen(t *testing.T) {
	const here = ^uint64(99) // AT_FDCWD
	for _, c := range []struct {
		name     string
		was, to  string // of what is seen; "" for nothing
		call     func(n *bench, m *memory) answer
		wantKind Kind
	}{
		{"unlink", "f", "", func(n *bench, _ *memory) answer { return n.call(unix.SYS_UNLINKAT, "f", 0) }, KindFile},
		{"rmdir", "d", "", func(n *bench, _ *memory) answer { return n.call(unix.SYS_UNLINKAT, "d", unix.AT_REMOVEDIR) }, KindDir},
		{"open", "f", "", func(n *bench, _ *memory) answer { return n.call(unix.SYS_OPENAT, "f", unix.O_WRONLY) }, KindFile},
		{"create", "", "", func(n *bench, _ *memory) answer {
			return n.call(unix.SYS_OPENAT, "new", unix.O_WRONLY|unix.O_CREAT, 0o600)
		}, KindNone},
		{"rename", "f", "", func(n *bench, m *memory) answer {
			m.put(n.dir, []any{"f", "new"})
			return n.raw(unix.SYS_RENAMEAT2, here, m.at(0), here, m.at(1), 0)
		}, KindFile},
		{"rename over", "link", "f", func(n *bench, m *memory) answer {
			m.put(n.dir, []any{"link", "f"})
			return n.raw(unix.SYS_RENAMEAT2, here, m.at(0), here, m.at(1), 0)
		}, KindSymlink},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, m := newBench(t), new(memory)
			defer runtime.KeepAlive(m)
			if os.WriteFile(n.dir+"/f", []byte("content"), 0o640) != nil || os.Link(n.dir+"/f", n.dir+"/second") != nil ||
				os.Symlink("f", n.dir+"/link") != nil || os.Mkdir(n.dir+"/d", 0o700) != nil {
				t.Fatal("cannot make the files")
			}
			want := func(name string) (s Seen) {
				var st unix.Stat_t
				if name == "" {
					return s
				}
				if err := unix.Lstat(n.dir+"/"+name, &st); err != nil {
					t.Fatal(err)
				}
				return Seen{Dev: st.Dev, Ino: st.Ino, Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), Size: uint64(st.Size),
					Links: uint32(st.Nlink), Mode: st.Mode, Kind: kindOf(st.Mode)}
			}
			was, to := want(c.was), want(c.to)
			var got Change
			n.notes.never = func(ch *Change) bool { got = *ch; return false }
			if a := c.call(n, m); a.errno != 0 || a.continued {
				t.Fatalf("%+v", a)
			}
			got.Was.Birth, got.WasTo.Birth = 0, 0
			if got.Was != was || got.WasTo != to || got.Was.Kind != c.wantKind {
				t.Errorf("seen\n%+v and\n%+v, want\n%+v and\n%+v", got.Was, got.WasTo, was, to)
			}
		})
	}
}
