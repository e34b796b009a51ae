package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// notFiles make what is no regular file and may have several names.
var notFiles = map[string]func(at string) error{
	"symlink": func(at string) error { return os.Symlink("x", at) },
	"fifo":    func(at string) error { return unix.Mkfifo(at, 0o644) },
}

// eachNotFile runs a test for every kind of such a thing, called b.
func eachNotFile(t *testing.T, do func(t *testing.T, d *desk)) {
	for kind, create := range notFiles {
		t.Run(kind, func(t *testing.T) {
			d := newDesk(t)
			by(t, create(d.at("b")))
			do(t, d)
		})
	}
}

// inodes gives for some names which of them mean one object.
func inodes(d *desk, names ...string) (out string) {
	first := make(map[uint64]string)
	for _, n := range names {
		var st unix.Stat_t
		if err := unix.Lstat(d.at(n), &st); err != nil {
			out += fmt.Sprintf("%s:none ", n)
			continue
		}
		if first[st.Ino] == "" {
			first[st.Ino] = n
		}
		out += fmt.Sprintf("%s:%s:%o ", n, first[st.Ino], st.Mode)
	}
	return out
}

// back undoes the one step, makes it again and undoes that, and wants to find the names
// each time as they were.
func (d *desk) back(t *testing.T, before string, names ...string) {
	t.Helper()
	d.end(t)
	by(t, d.w.Sync())
	d.close(t)
	after := inodes(d, names...)
	for i, want := range []string{before, after, before} {
		req := Request{Steps: []uint64{1}}
		if i == 1 {
			req = Request{Steps: []uint64{last(d.read(t).Steps).Number}, Redo: true}
		}
		v, err := d.undo(t, req)
		by(t, err)
		if got := inodes(d, names...); got != want || len(v.Plan.Unrestorable) > 0 {
			t.Fatalf("%d: got %s, want %s: %v", i, got, want, v.Plan.Unrestorable)
		}
	}
	v, err := d.store.Verify()
	by(t, err)
	if len(v.Faults) > 0 {
		t.Fatalf("%+v", v.Faults)
	}
}

// TestNamesOfNoFile: a link or a FIFO with several names is one object, and comes back as
// one by each of them.
func TestNamesOfNoFile(t *testing.T) {
	for name, do := range map[string]func(t *testing.T, d *desk){
		"both removed":      func(t *testing.T, d *desk) { d.remove(t, "b"); d.remove(t, "c") },
		"the first removed": func(t *testing.T, d *desk) { d.remove(t, "b") },
		"the other removed": func(t *testing.T, d *desk) { d.remove(t, "c") },
		"one renamed":       func(t *testing.T, d *desk) { d.rename(t, "b", "e") },
	} {
		t.Run(name, func(t *testing.T) {
			eachNotFile(t, func(t *testing.T, d *desk) {
				by(t, os.Link(d.at("b"), d.at("c")))
				before := inodes(d, "b", "c", "e")
				d.begin(t)
				do(t, d)
				d.back(t, before, "b", "c", "e")
			})
		})
	}
}

// TestModeByAnotherNameOfAPipe: the mode that a FIFO got by a new name goes, also where
// the old name went.
func TestModeByAnotherNameOfAPipe(t *testing.T) {
	d := newDesk(t)
	by(t, unix.Mkfifo(d.at("b"), 0o644))
	before := inodes(d, "b", "c")
	d.begin(t)
	d.link(t, "b", "c")
	d.act(t, Meta, d.at("c"), "", func() error { return os.Chmod(d.at("c"), 0o600) })
	d.remove(t, "b")
	d.back(t, before, "b", "c")
}

// TestRenameBetweenNamesOfNoFile: a rename between two names of one object does nothing,
// whatever kind it is.
func TestRenameBetweenNamesOfNoFile(t *testing.T) {
	eachNotFile(t, func(t *testing.T, d *desk) {
		by(t, os.Link(d.at("b"), d.at("c")))
		d.begin(t)
		d.rename(t, "b", "c")
		d.end(t)
		d.close(t)
		for _, s := range d.read(t).Steps {
			if s.Net() {
				t.Errorf("changed: %+v", s.Changes())
			}
		}
	})
	eachNotFile(t, func(t *testing.T, d *desk) {
		before := inodes(d, "b", "c")
		d.begin(t)
		d.link(t, "b", "c")
		d.rename(t, "c", "b")
		d.back(t, before, "b", "c")
	})
}

// TestNamesOfNoFileApart: with the store on another file system a name that was given
// back still means the same object.
func TestNamesOfNoFileApart(t *testing.T) {
	at := memory(t)
	store, err := filepath.EvalSymlinks(t.TempDir())
	by(t, err)
	i := 0
	for kind, create := range notFiles {
		i++
		t.Run(kind, func(t *testing.T) {
			root, kept := fmt.Sprintf("%s/%d", at, i), fmt.Sprintf("%s/%d", store, i)
			by(t, os.Mkdir(root, 0o755))
			by(t, os.Mkdir(kept, 0o755))
			d := newDeskAt(t, root, kept)
			by(t, create(d.at("a")))
			by(t, os.Link(d.at("a"), d.at("b")))
			before := inodes(d, "a", "b", "c")
			d.begin(t)
			d.rename(t, "b", "c")
			d.back(t, before, "a", "b", "c")
		})
	}
}

// TestTimeOfOneOfTwoNames: a file that the step wrote to and set the time of, and of which it
// removed the name that it knew the file by, is as the step left it by its other name; also
// where the step has changed more files than are told by their content.
func TestTimeOfOneOfTwoNames(t *testing.T) {
	for _, others := range []int{0, 300} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			d := newDesk(t)
			by(t, os.WriteFile(d.at("b"), []byte("nine thousand"), 0o644))
			before := inodes(d, "b", "c")
			d.begin(t)
			for i := range others {
				d.put(t, fmt.Sprint("other", i), "another")
			}
			d.quiet(t)
			d.link(t, "b", "c")
			d.put(t, "b", "nine")
			d.quiet(t)
			d.act(t, Meta, d.at("b"), "", func() error { return os.Chtimes(d.at("b"), time.Unix(1, 0), time.Unix(1, 0)) })
			d.remove(t, "b")
			d.back(t, before, "b", "c")
		})
	}
}
