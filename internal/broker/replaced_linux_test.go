package broker

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReplacedOnTheWay: another run replaces a file, and keeps it by a link, between
// the moments at which a call finds it and opens it for writing. What is kept is not
// written into; the call finds what has the name by then.
func TestReplacedOnTheWay(t *testing.T) {
	for name, way := range map[string]func(n *bench) answer{
		"by its name": func(n *bench) answer { return n.call(unix.SYS_OPENAT, "f", unix.O_WRONLY|unix.O_TRUNC) },
		"by a link":   func(n *bench) answer { return n.call(unix.SYS_OPENAT, "link", unix.O_WRONLY|unix.O_TRUNC) },
		"by a link, to be changed": func(n *bench) answer {
			return n.call(unix.SYS_OPENAT, "through/f", unix.O_RDWR|unix.O_TRUNC)
		},
		"truncated": func(n *bench) answer {
			m := new(memory)
			m.put(n.dir, []any{"f"})
			return n.raw(unix.SYS_TRUNCATE, m.at(0), 0)
		},
		"opened again": func(n *bench) answer {
			fd, err := unix.Open(n.dir+"/f", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				n.t.Fatal(err)
			}
			defer unix.Close(fd)
			m := new(memory)
			m.put("", []any{"=/proc/self/fd/" + strconv.Itoa(fd)})
			return n.raw(unix.SYS_OPENAT, ^uint64(99), m.at(0), unix.O_WRONLY|unix.O_TRUNC)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newBench(t)
			write := func(name, text string) {
				if err := os.WriteFile(n.dir+"/"+name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("f", "kept")
			write("new", "by the other")
			if os.Symlink("f", n.dir+"/link") != nil || os.Symlink(".", n.dir+"/through") != nil {
				t.Fatal("cannot make the links")
			}
			replaced := false
			n.notes.never = func(*Change) bool {
				if !replaced {
					replaced = true
					if os.Link(n.dir+"/f", n.dir+"/history") != nil || os.Rename(n.dir+"/new", n.dir+"/f") != nil {
						t.Error("cannot replace it")
					}
				}
				return false
			}
			a := way(n)
			kept, err := os.ReadFile(n.dir + "/history")
			if err != nil || string(kept) != "kept" {
				t.Errorf("what was kept is %q, %v", kept, err)
			}
			now, err := os.ReadFile(n.dir + "/f")
			again := name == "opened again" // which means the file that is gone
			if err != nil || again != (string(now) == "by the other") || again != a.continued || a.errno != 0 {
				t.Errorf("%+v, and there is %q, %v", a, now, err)
			}
			if list := strings.Join(n.notes.list, ", "); !strings.Contains(list, " f") {
				t.Errorf("recorded: %s", list)
			}
		})
	}
}

// TestOpenSameComparesTheDevice: another file system may have a file with the number of the
// one that was looked at.
func TestOpenSameComparesTheDevice(t *testing.T) {
	n := newBench(t)
	if err := os.WriteFile(n.dir+"/f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := unix.Open(n.dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	w := new(worker)
	w.b, w.trap = n.b, n.trap
	p := place{dir: dir, name: "f", path: n.dir + "/f"}
	seen, err := p.at()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := seen
	elsewhere.Dev++
	for _, c := range []struct {
		name string
		look look
		want error
	}{{"the file itself", seen, nil}, {"its number on another device", elsewhere, unix.ESTALE}} {
		fd, err := w.openSame(&p, unix.O_WRONLY, c.look)
		if err != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}
