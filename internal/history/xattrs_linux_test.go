package history

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/steplog"
)

// accessList is an access control list as the kernel takes it: the owner may do all,
// the group and a user of the number 4711 may read.
var accessList = []byte{2, 0, 0, 0,
	1, 0, 7, 0, 255, 255, 255, 255, 2, 0, 4, 0, 103, 18, 0, 0, 4, 0, 4, 0, 255, 255, 255, 255,
	16, 0, 4, 0, 255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255}

const accessXattr = "system.posix_acl_access"

func (d *desk) setXattr(t fataler, name, key, value string) {
	d.act(t, Meta, d.at(name), "", func() error { return unix.Lsetxattr(d.at(name), key, []byte(value), 0) })
}

func (d *desk) xattr(name, key string) string {
	value := make([]byte, 200)
	n, err := unix.Lgetxattr(d.at(name), key, value)
	if err != nil {
		return err.Error()
	}
	return string(value[:n])
}

// TestXattrsOfTheRoot shows that attributes of the project's own directory are a change,
// listed and taken back as its mode is.
func TestXattrsOfTheRoot(t *testing.T) {
	d := newDesk(t)
	for key, value := range map[string]string{"user.was": "old", "user.x": "before"} {
		if err := unix.Setxattr(d.root, key, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	for key, value := range map[string]string{"user.new": "1", "user.x": "after", accessXattr: string(accessList)} {
		d.act(t, Meta, d.root, "", func() error { return unix.Setxattr(d.root, key, []byte(value), 0) })
	}
	d.act(t, Meta, d.root, "", func() error { return unix.Removexattr(d.root, "user.was") })
	d.end(t)
	d.close(t)
	if got := d.read(t).Steps[0].Changes(); len(got) != 1 || got[0].Path != d.root || got[0].What != steplog.Changed {
		t.Errorf("changes are %+v", got)
	}
	for _, back := range []bool{true, false} {
		want := map[string]string{"user.was": "old", "user.x": "before", "user.new": "no data available", accessXattr: "no data available"}
		req := Request{Steps: []uint64{1}}
		if !back {
			want = map[string]string{"user.was": "no data available", "user.x": "after", "user.new": "1", accessXattr: string(accessList)}
			req = Request{Steps: []uint64{2}, Redo: true}
		}
		did, err := d.undo(t, req)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(did.Restored, []string{d.root}) {
			t.Errorf("restored are %q", did.Restored)
		}
		for key, value := range want {
			if got := d.xattr("", key); got != value {
				t.Errorf("%s is %q, want %q", key, got, value)
			}
		}
	}
}

// TestAccessListsOfPipesAndSockets shows that a pipe and a socket get their access
// control lists back, when a step has changed them and when it has removed them.
func TestAccessListsOfPipesAndSockets(t *testing.T) {
	for name, mode := range map[string]uint32{"pipe": unix.S_IFIFO, "socket": unix.S_IFSOCK} {
		for _, removed := range []bool{false, true} {
			d := newDesk(t)
			if err := unix.Mknod(d.at(name), mode|0o600, 0); err != nil {
				t.Fatal(err)
			}
			if err := unix.Setxattr(d.at(name), accessXattr, accessList, 0); err != nil {
				t.Fatal(err)
			}
			d.begin(t)
			if removed {
				d.remove(t, name)
			} else {
				d.act(t, Meta, d.at(name), "", func() error { return unix.Removexattr(d.at(name), accessXattr) })
				d.chmod(t, name, 0o640)
			}
			d.end(t)
			d.close(t)
			if got := d.read(t).Steps[0].Changes(); len(got) != 1 {
				t.Errorf("%s: changes are %+v", name, got)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatal(err)
			}
			if got := d.xattr(name, accessXattr); got != string(accessList) {
				t.Errorf("%s, removed %v: its list is %q", name, removed, got)
			}
		}
	}
}

// hide takes all permissions away, as the broker tells of it.
func (d *desk) hide(t fataler, name string, mode uint32) {
	c := Change{Op: Meta, Path: d.at(name), Hides: mode&0o400 == 0}
	if err := d.w.Before(&c); err != nil {
		t.Fatalf("before: %v", err)
	}
	d.w.After(&c, unix.Chmod(d.at(name), mode))
}

// seeXattr reads the attribute user.x of what nobody may read, and its mode.
func (d *desk) seeXattr(t fataler, name string) string {
	var st unix.Stat_t
	if err := unix.Lstat(d.at(name), &st); err != nil {
		return err.Error()
	}
	mode := st.Mode & 0o7777
	if err := unix.Chmod(d.at(name), 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	defer unix.Chmod(d.at(name), mode)
	return fmt.Sprintf("%o %s", mode, d.xattr(name, "user.x"))
}

// TestXattrsThatMayNotBeRead shows that attributes of a file or a directory whose mode
// keeps its owner from reading them are neither lost nor a conflict.
func TestXattrsThatMayNotBeRead(t *testing.T) {
	asUser(t, "TestXattrsThatMayNotBeRead")
	for _, c := range []struct {
		name  string
		mode  uint32
		steps []func(t fataler, d *desk, at string)
		left  string
		kept  bool // redo knows what the step had set
	}{
		{"mode 0", 0o640, []func(fataler, *desk, string){
			func(t fataler, d *desk, at string) { d.hide(t, at, 0) },
		}, "0 old", true},
		{"set, then mode 0", 0o640, []func(fataler, *desk, string){
			func(t fataler, d *desk, at string) { d.setXattr(t, at, "user.x", "new"); d.hide(t, at, 0) },
		}, "0 new", false},
		{"mode 0, then removed", 0o640, []func(fataler, *desk, string){
			func(t fataler, d *desk, at string) { d.hide(t, at, 0) },
			func(t fataler, d *desk, at string) { d.remove(t, at) },
		}, "no such file or directory", true},
		{"mode 0 before", 0, []func(fataler, *desk, string){
			func(t fataler, d *desk, at string) { d.hide(t, at, 0o200) },
			func(t fataler, d *desk, at string) { d.remove(t, at) },
		}, "no such file or directory", true},
		{"read-only again", 0o440, []func(fataler, *desk, string){
			func(t fataler, d *desk, at string) {
				d.hide(t, at, 0o640)
				d.setXattr(t, at, "user.x", "new")
				d.hide(t, at, 0o440)
			},
		}, "440 new", true},
	} {
		for _, at := range []string{"file", "dir"} {
			if c.mode == 0 && at == "dir" {
				continue // nobody can know them, and what is made again has none
			}
			for _, way := range []string{"undo", "undo and redo", "there and back, one by one"} {
				if c.name == "mode 0, then removed" && at == "dir" && way == "there and back, one by one" {
					continue // a redo looks at it when nobody can know them
				}
				t.Run(c.name+"/"+at+"/"+way, func(t *testing.T) {
					d := newDesk(t)
					d.unreadable(t, at, c.mode)
					for _, step := range c.steps {
						d.begin(t)
						step(t, d, at)
						d.end(t)
					}
					d.close(t)
					if post, _ := d.read(t).Steps[0].PostOf(d.at(at)); c.mode != 0 && post.State.Unread {
						t.Error("the step does not know what it hid")
					}
					n := uint64(len(c.steps))
					undo := func(redo bool, steps ...uint64) {
						if _, err := d.undo(t, Request{Steps: steps, Redo: redo}); err != nil {
							t.Fatalf("%v: %v", steps, err)
						}
					}
					want := fmt.Sprintf("%o old", c.mode)
					switch way {
					case "undo":
						undo(false, all(1, n)...)
					case "undo and redo":
						undo(false, all(1, n)...)
						undo(true, all(n+1, n)...)
						if want = c.left; !c.kept {
							return
						}
					default:
						for i := n; i > 0; i-- {
							undo(false, i)
						}
						for i := 2 * n; i > n; i-- {
							undo(true, i)
						}
						undo(false, all(1, n)...)
					}
					if got := d.seeXattr(t, at); got != want {
						t.Errorf("it is %q, want %q", got, want)
					}
				})
			}
		}
	}
}

// all are some numbers of steps, from the first on.
func all(first, count uint64) (out []uint64) {
	for i := range count {
		out = append(out, first+i)
	}
	return out
}

// unreadable makes a file and a directory, and gives one of them an attribute and a mode.
func (d *desk) unreadable(t *testing.T, at string, mode uint32) {
	t.Helper()
	err := os.WriteFile(d.at("file"), []byte("text"), 0o600)
	if err == nil {
		err = os.Mkdir(d.at("dir"), 0o700)
	}
	if err == nil {
		err = unix.Setxattr(d.at(at), "user.x", []byte("old"), 0)
	}
	if err == nil {
		err = unix.Chmod(d.at(at), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}
