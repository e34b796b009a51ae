package broker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slot is how much room each thing has that a call points to.
const slot = 512

// memory is what the calls of a test point to.
type memory [4 * slot]byte

func (m *memory) at(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&m[i*slot]))) }

// put fills the slots: a string is a path in dir, unless it begins with "=".
func (m *memory) put(dir string, values []any) {
	for i, v := range values {
		var data []byte
		switch v := v.(type) {
		case string:
			text, bare := strings.CutPrefix(v, "=")
			if !bare {
				text = dir + "/" + v
			}
			data = append([]byte(text), 0)
		default:
			data, _ = binary.Append(nil, binary.NativeEndian, v)
		}
		copy(m[i*slot:(i+1)*slot], data)
	}
}

// sockaddr is the address of a Unix socket.
func sockaddr(path string) (a struct {
	Family uint16
	Path   [108]byte
}) {
	a.Family = unix.AF_UNIX
	copy(a.Path[:], path)
	return a
}

// described lists what is in a directory, but for what differs from run to run.
func described(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		when := st.Mtim.Sec
		if when > 1000 {
			when = 0 // now
		}
		text, _ := os.Readlink(p)
		attr := make([]byte, 64)
		n, _ := unix.Lgetxattr(p, "user.x", attr)
		fmt.Fprintf(&out, "%s %o links %d size %d time %d %q %q\n", p[len(dir):], st.Mode, st.Nlink, st.Size, when, text, attr[:max(n, 0)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestB6MemoryThatChanges: what is carried out is what was decided, and not what
// the caller's memory says by then; nor is the call continued, with which the
// kernel would read it again.
func TestB6MemoryThatChanges(t *testing.T) {
	const here = ^uint64(99) // AT_FDCWD
	m := new(memory)
	times := func(sec int64) [4]int64 { return [4]int64{sec, 0, sec, 0} }
	for _, row := range []struct {
		name       string
		nr         int32
		good, evil []any
		args       []uint64
	}{
		{"mkdir", unix.SYS_MKDIRAT, []any{"new"}, []any{"evil"}, []uint64{here, m.at(0), 0o755}},
		{"create", unix.SYS_OPENAT, []any{"new"}, []any{"evil"}, []uint64{here, m.at(0), unix.O_CREAT | unix.O_WRONLY, 0o644}},
		{"open", unix.SYS_OPENAT, []any{"a"}, []any{"b"}, []uint64{here, m.at(0), unix.O_TRUNC | unix.O_WRONLY}},
		{"openat2", unix.SYS_OPENAT2, []any{"new", [3]uint64{unix.O_CREAT | unix.O_WRONLY, 0o600}}, []any{"evil", [3]uint64{unix.O_CREAT | unix.O_WRONLY, 0o666}}, []uint64{here, m.at(0), m.at(1), 24}},
		{"mknod", unix.SYS_MKNODAT, []any{"new"}, []any{"evil"}, []uint64{here, m.at(0), unix.S_IFIFO | 0o600}},
		{"symlink", unix.SYS_SYMLINKAT, []any{"=good", "new"}, []any{"=evil", "evil"}, []uint64{m.at(0), here, m.at(1)}},
		{"unlink", unix.SYS_UNLINKAT, []any{"a"}, []any{"b"}, []uint64{here, m.at(0), 0}},
		{"rmdir", unix.SYS_UNLINKAT, []any{"da"}, []any{"db"}, []uint64{here, m.at(0), unix.AT_REMOVEDIR}},
		{"rename", unix.SYS_RENAMEAT2, []any{"a", "new"}, []any{"b", "evil"}, []uint64{here, m.at(0), here, m.at(1), 0}},
		{"link", unix.SYS_LINKAT, []any{"a", "new"}, []any{"b", "evil"}, []uint64{here, m.at(0), here, m.at(1), 0}},
		{"truncate", unix.SYS_TRUNCATE, []any{"a"}, []any{"b"}, []uint64{m.at(0), 1}},
		{"chmod", unix.SYS_FCHMODAT, []any{"a"}, []any{"b"}, []uint64{here, m.at(0), 0o640}},
		{"utimes", unix.SYS_UTIMENSAT, []any{"a", times(7)}, []any{"b", times(8)}, []uint64{here, m.at(0), m.at(1), 0}},
		{"setxattr", unix.SYS_SETXATTR, []any{"a", "=user.x", "=good"}, []any{"b", "=user.y", "=evil"}, []uint64{m.at(0), m.at(1), m.at(2), 4, 0}},
		{"bind", unix.SYS_BIND, []any{sockaddr("new")}, []any{sockaddr("evil")}, []uint64{0, m.at(0), 110}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var still, moving string
			for _, changes := range []bool{false, true} {
				n := newBench(t)
				for _, name := range []string{"a", "b"} {
					if os.WriteFile(n.dir+"/"+name, []byte("content"), 0o600) != nil || os.Mkdir(n.dir+"/d"+name, 0o700) != nil {
						t.Fatal("cannot make the files")
					}
				}
				t.Chdir(n.dir) // for bind, whose addresses are short
				args := append([]uint64(nil), row.args...)
				if row.nr == unix.SYS_BIND {
					fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
					if err != nil {
						t.Fatal(err)
					}
					defer unix.Close(fd)
					args[0] = uint64(fd)
				}
				before := described(t, n.dir)
				m.put(n.dir, row.good)
				n.notes.never = func(*Change) bool {
					if changes {
						m.put(n.dir, row.evil)
					}
					return false
				}
				if a := n.raw(row.nr, args...); a.continued || a.errno != 0 {
					t.Fatalf("changing %v: %+v", changes, a)
				}
				still, moving = moving, described(t, n.dir)
				if moving == before {
					t.Errorf("changing %v: nothing has happened", changes)
				}
			}
			if still != moving {
				t.Errorf("memory that stays gives\n%smemory that changes\n%s", still, moving)
			}
		})
	}
	runtime.KeepAlive(m)
}
