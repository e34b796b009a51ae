package history

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestConflictsAreOfContent: the same bytes are no conflict, however they came
// there; other bytes are one, whatever their size and times.
func TestConflictsAreOfContent(t *testing.T) {
	const left = "left by the step"
	write := func(at, text string) error { return os.WriteFile(at, []byte(text), 0o640) }
	replace := func(at, text string) error {
		return errors.Join(write(at+"~", text), os.Chmod(at+"~", 0o640), os.Rename(at+"~", at))
	}
	cases := []struct {
		name     string
		edit     func(at string) error
		conflict bool
	}{
		{"touched", func(at string) error { return os.Chtimes(at, time.Now(), time.Now()) }, false},
		{"written again", func(at string) error { return write(at, left) }, false},
		{"changed and back", func(at string) error { return errors.Join(write(at, "else"), write(at, left)) }, false},
		{"saved as editors do", func(at string) error { return replace(at, left) }, false},
		{"removed and made again", func(at string) error {
			return errors.Join(os.Remove(at), write(at, left), os.Chmod(at, 0o640))
		}, false},
		{"as long, and as old", func(at string) error {
			st, err := os.Stat(at)
			return errors.Join(err, write(at, "LEFT by the step"), os.Chtimes(at, st.ModTime(), st.ModTime()))
		}, true},
		{"another file, as long and as old", func(at string) error {
			st, err := os.Stat(at)
			return errors.Join(err, replace(at, "LEFT by the step"), os.Chtimes(at, st.ModTime(), st.ModTime()))
		}, true},
		{"another mode", func(at string) error { return os.Chmod(at, 0o600) }, false},
		{"a second name", func(at string) error { return errors.Join(replace(at, left), os.Link(at, at+"2")) }, true},
		{"an attribute", func(at string) error { return unix.Setxattr(at, "user.mine", []byte("x"), 0) }, false},
	}
	for _, c := range cases {
		for _, made := range []bool{false, true} {
			name := "a file that was changed, " + c.name
			if made {
				name = "a new file, " + c.name
			}
			t.Run(name, func(t *testing.T) {
				d := newDesk(t)
				d.fill(t)
				file := "a"
				if made {
					file = "made"
				}
				before := snapshot(t, d.root)
				d.begin(t)
				d.write(t, file, left)
				if err := os.Chmod(d.at(file), 0o640); err != nil {
					t.Fatal(err)
				}
				d.end(t)
				d.close(t)
				root, err := os.Stat(d.root)
				err = errors.Join(err, c.edit(d.at(file)), os.Chtimes(d.root, root.ModTime(), root.ModTime()))
				if err != nil {
					t.Fatal(err)
				}
				edited := snapshot(t, d.root)
				_, err = d.undo(t, Request{Steps: []uint64{1}})
				var refused *ConflictError
				if c.conflict != errors.As(err, &refused) || !c.conflict && err != nil {
					t.Fatalf("want a conflict: %v, got %v", c.conflict, err)
				}
				if st, err := os.Stat(d.at(file)); !made && c.name == "another mode" {
					if text, e := os.ReadFile(d.at(file)); e != nil || string(text) != "content of a" || st.Mode().Perm() != 0o600 {
						t.Errorf("the user's mode is not kept beside the content of before: %q %v %v", text, st, err)
					}
					return
				}
				if n, _ := unix.Getxattr(d.at(file), "user.mine", make([]byte, 1)); !made && c.name == "an attribute" {
					if n != 1 {
						t.Error("the user's attribute is gone")
					}
					return
				}
				want := before
				if c.conflict {
					want = edited
				}
				if got := snapshot(t, d.root); got != want {
					t.Errorf("after undo:\n%s", apart(got, want))
				}
				if c.conflict {
					return
				}
				if _, err := os.Stat(d.at(file)); made != os.IsNotExist(err) {
					t.Errorf("%q after undo: %v", file, err)
				}
				if _, err := d.undo(t, Request{Steps: []uint64{2}, Redo: true}); err != nil {
					t.Fatalf("redo: %v", err)
				}
				if got, err := os.ReadFile(d.at(file)); err != nil || !bytes.Equal(got, []byte(left)) {
					t.Errorf("%q after redo: %q, %v", file, got, err)
				}
			})
		}
	}
}

// TestTouchedBetweenSteps: the same content between two steps is in the way of
// neither, taken back one by one or together.
func TestTouchedBetweenSteps(t *testing.T) {
	for _, c := range []struct {
		text     string
		conflict bool
	}{{"first", false}, {"FIRST", true}} {
		for _, together := range []bool{false, true} {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			d.write(t, "a", "first")
			d.end(t)
			if err := os.WriteFile(d.at("a"), []byte(c.text), 0o640); err != nil {
				t.Fatal(err)
			}
			d.begin(t)
			d.write(t, "a", "second")
			d.end(t)
			d.close(t)
			var err error
			if together {
				_, err = d.undo(t, Request{Steps: []uint64{1, 2}})
			} else if _, err = d.undo(t, Request{Steps: []uint64{2}}); err == nil {
				_, err = d.undo(t, Request{Steps: []uint64{1}})
			}
			var refused *ConflictError
			if c.conflict != errors.As(err, &refused) || !c.conflict && err != nil {
				t.Errorf("%q between, together %v: want a conflict: %v, got %v", c.text, together, c.conflict, err)
			}
			if got := snapshot(t, d.root); !c.conflict && got != before {
				t.Errorf("%q between, together %v:\n%s", c.text, together, apart(got, before))
			}
		}
	}
}
