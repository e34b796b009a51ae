package review

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEachKindOfChange: what an upper directory says is told, applied, and then no change any more.
func TestEachKindOfChange(t *testing.T) {
	tree := map[string]string{"a": "a", "d/x": "x", "d/sub/y": "y", "e/z": "z", "same": "same"}
	for name, tt := range map[string]struct {
		make func(l *layered)
		want []string
		then map[string]string
		gone []string
	}{
		"nothing": {make: func(l *layered) {}},
		"a file that is copied as it is": {make: func(l *layered) {
			st, err := os.Stat(l.tree + "/same")
			l.ok(err)
			l.upper(map[string]string{"same": "same"})
			l.ok(os.Chtimes(l.at("same"), st.ModTime(), st.ModTime()))
		}},
		"a new file": {func(l *layered) { l.upper(map[string]string{"n": "new", "d/n": "new"}) }, []string{"added d/n", "added n"},
			map[string]string{"n": "new", "d/n": "new", "d/x": "x"}, nil},
		"another content": {func(l *layered) { l.upper(map[string]string{"a": "b"}) }, []string{"modified a"}, map[string]string{"a": "b"}, nil},
		"a whiteout":      {func(l *layered) { l.whiteout("a") }, []string{"removed a"}, nil, []string{"a"}},
		"a whiteout of nothing": {make: func(l *layered) {
			l.whiteout("never")
		}},
		"a whiteout of a directory": {func(l *layered) { l.whiteout("d") }, []string{"removed d", "removed d/sub", "removed d/sub/y",
			"removed d/x"}, nil, []string{"d"}},
		"a directory made anew": {func(l *layered) {
			l.opaque("d", "y")
			l.upper(map[string]string{"d/x": "other", "d/new": "n"})
		}, []string{"added d/new", "removed d/sub", "removed d/sub/y", "modified d/x"}, map[string]string{"d/x": "other", "d/new": "n"},
			[]string{"d/sub"}},
		"a new directory below one that was made anew": {func(l *layered) {
			l.opaque("d", "y")
			l.upper(map[string]string{"d/sub/": ""})
		}, []string{"removed d/sub/y", "removed d/x"}, map[string]string{"d/sub": "d---------"}, []string{"d/x", "d/sub/y"}},
		"a whiteout as an attribute": {func(l *layered) {
			l.opaque("d", "x")
			l.upper(map[string]string{"d/x": ""})
			l.ok(unix.Lsetxattr(l.at("d/x"), whiteoutAttr, []byte("y"), 0))
		}, []string{"removed d/x"}, map[string]string{"d/sub/y": "y"}, []string{"d/x"}},
		"that attribute without the mark of the directory": {func(l *layered) {
			l.upper(map[string]string{"d/x": ""})
			l.ok(unix.Lsetxattr(l.at("d/x"), whiteoutAttr, []byte("y"), 0))
		}, []string{"modified d/x"}, map[string]string{"d/x": ""}, nil},
		"a file in place of a directory": {func(l *layered) { l.upper(map[string]string{"d": "file"}) },
			[]string{"modified d", "removed d/sub", "removed d/sub/y", "removed d/x"}, map[string]string{"d": "file"}, nil},
		"a directory in place of a file": {func(l *layered) {
			l.upper(map[string]string{"a/in": "in"})
			l.opaque("a", "y")
		}, []string{"modified a", "added a/in"}, map[string]string{"a/in": "in"}, nil},
		"a symlink": {func(l *layered) { l.ok(os.Symlink("../out", l.at("a"))) }, []string{"modified a"},
			map[string]string{"a": "-> ../out"}, nil},
		"a fifo": {func(l *layered) { l.ok(unix.Mkfifo(l.at("p"), 0o600)) }, []string{"added p"}, map[string]string{"p": "p---------"}, nil},
		"a mode": {func(l *layered) { l.upper(map[string]string{"a": "a"}); l.ok(os.Chmod(l.at("a"), 0o750)) }, []string{"mode a"}, nil, nil},
		"the mode of a directory": {func(l *layered) {
			l.upper(map[string]string{"d/": ""})
			l.ok(os.Chmod(l.at("d"), 0o700))
		}, []string{"mode d"}, nil, nil},
		"a time": {func(l *layered) {
			l.upper(map[string]string{"a": "a"})
			l.ok(os.Chtimes(l.at("a"), time.Unix(1, 2), time.Unix(1, 2)))
		}, []string{"time a"}, nil, nil},
		"any bytes": {func(l *layered) { l.upper(map[string]string{"\xff\n": "b", "d/-n": "c"}) }, []string{"added d/-n", "added \xff\n"},
			map[string]string{"\xff\n": "b"}, nil},
		"an empty directory": {func(l *layered) { l.upper(map[string]string{"empty/in/": ""}) }, []string{"added empty", "added empty/in"},
			map[string]string{"empty/in": "d---------"}, nil},
		"closed ones": {func(l *layered) {
			l.upper(map[string]string{"closed/f": "f"})
			l.ok(os.Chmod(l.at("closed/f"), 0), os.Chmod(l.at("closed"), 0))
			l.Cleanup(func() { _ = os.Chmod(l.at("closed"), 0o700); _ = os.Chmod(l.tree+"/closed", 0o700) })
		}, []string{"added closed", "added closed/f"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := over(t, tree)
			tt.make(l)
			l.want(tt.want...)
			l.applied()
			for name, text := range tt.then {
				l.holds(name, text)
			}
			l.missing(tt.gone...)
		})
	}
}

// TestSocketsAndDevicesAreRefused: they are told, and never applied.
func TestSocketsAndDevicesAreRefused(t *testing.T) {
	l := over(t, map[string]string{"a": "a"})
	conn, err := net.Listen("unix", l.at("sock"))
	l.ok(err)
	defer conn.Close()
	if os.Getuid() == 0 {
		l.ok(unix.Mknod(l.at("dev"), unix.S_IFCHR, int(unix.Mkdev(1, 3))))
		l.want("added dev, it is a device", "added sock, it is a socket")
	} else {
		l.want("added sock, it is a socket")
	}
	if ops := l.operations(all); len(ops) != 1 {
		t.Errorf("%+v", ops)
	}
}

// TestConflicts: what others have changed since the layer began is a conflict, and what they have
// changed in the same way is no change.
func TestConflicts(t *testing.T) {
	l := over(t, map[string]string{"a": "a", "b": "b", "c": "c", "d/in": "in", "e": "e", "f": "f"})
	l.upper(map[string]string{"a": "mine", "b": "mine", "new": "mine", "both": "equal", "e": "mine", "dir/f": "mine"})
	l.whiteout("c")
	l.whiteout("d")
	later()
	l.fill(l.tree, map[string]string{"a": "yours", "new": "yours", "both": "equal", "d/other": "yours", "c": "yours", "dir/": ""})
	l.ok(os.Remove(l.tree+"/b"), os.Chtimes(l.tree+"/e", time.Unix(5, 0), time.Unix(5, 0)))
	st, err := os.Stat(l.at("both"))
	l.ok(err)
	l.ok(os.Chtimes(l.tree+"/both", st.ModTime(), st.ModTime()))
	const changed, made = ", it was changed meanwhile", ", it was made meanwhile"
	l.want("modified a"+changed, "added b, it was removed meanwhile", "removed c"+changed, "removed d", "removed d/in", "removed d/other"+made,
		"added dir/f", "modified e"+changed, "modified new"+made)
	if r := l.apply(all); len(r.Failed) != 1 || string(r.Failed[0].Path) != "d" { // it is not empty
		t.Errorf("%+v", r.Failed)
	}
	l.holds("a", "yours")
	l.holds("c", "yours")
	l.holds("new", "yours")
	l.holds("d/other", "yours")
	l.holds("dir/f", "mine")
	l.missing("b", "d/in")
}

// TestForcedConflicts: a person may have them replaced.
func TestForcedConflicts(t *testing.T) {
	l := over(t, map[string]string{"a": "a", "c": "c"})
	l.upper(map[string]string{"a": "mine"})
	l.whiteout("c")
	later()
	l.fill(l.tree, map[string]string{"a": "yours", "c": "yours"})
	d := l.diff()
	if len(d.Selected(all)) != 0 {
		t.Error("conflicts are selected")
	}
	d.Force = true
	if len(d.Selected(all)) != 2 {
		t.Errorf("%d are selected", len(d.Selected(all)))
	}
}

// TestHardLinks: the names of a file stay those of one file, whatever the layer changes of it.
func TestHardLinks(t *testing.T) {
	dir := realTemp(t)
	start := func(t *testing.T) *layered {
		l := &layered{T: t, store: OpenStore(realTemp(t) + "/state"), tree: realTemp(t) + "/tree"}
		l.fill(l.tree, map[string]string{"a": "one", "x": "other", "sub/": ""})
		l.ok(os.Link(l.tree+"/a", l.tree+"/sub/b"), os.Link(l.tree+"/x", dir+"/"+strings.ReplaceAll(t.Name(), "/", "-")))
		l.begin()
		return l
	}
	if l := start(t); true { // they are copied with their links
		a, err := os.Stat(l.at("a"))
		l.ok(err)
		b, err := os.Stat(l.at("sub/b"))
		l.ok(err)
		if !os.SameFile(a, b) {
			t.Error("the layer has two files")
		}
		if _, err := os.Lstat(l.at("x")); err == nil {
			t.Error("a file that has one name in the tree is copied")
		}
		l.want()
	}
	for name, tt := range map[string]struct {
		make func(l *layered)
		want []string
		same [][]string
		then map[string]string
	}{
		"written in place": {func(l *layered) { l.upper(map[string]string{"a": "two"}) }, []string{"modified a", "modified sub/b"},
			[][]string{{"a", "sub/b"}}, map[string]string{"sub/b": "two"}},
		"one is replaced": {func(l *layered) { l.ok(os.Remove(l.at("a"))); l.upper(map[string]string{"a": "two"}) }, []string{"modified a"},
			nil, map[string]string{"a": "two", "sub/b": "one"}},
		"a further name": {func(l *layered) { l.ok(os.Link(l.at("a"), l.at("c"))) }, []string{"added c"}, [][]string{{"a", "c", "sub/b"}}, nil},
		"a further name and another content": {func(l *layered) {
			l.ok(os.Link(l.at("a"), l.at("c")))
			l.upper(map[string]string{"c": "two"})
		}, []string{"modified a", "added c", "modified sub/b"}, [][]string{{"a", "c", "sub/b"}}, map[string]string{"a": "two"}},
		"renamed": {func(l *layered) { l.ok(os.Rename(l.at("a"), l.at("c"))); l.whiteout("a") }, []string{"removed a", "added c"},
			[][]string{{"c", "sub/b"}}, nil},
		"all names are others": {func(l *layered) {
			l.ok(os.Rename(l.at("a"), l.at("c")), os.Rename(l.at("sub/b"), l.at("sub/d")))
			l.whiteout("a")
			l.whiteout("sub/b")
		}, []string{"removed a", "added c", "removed sub/b", "added sub/d"}, [][]string{{"c", "sub/d"}}, map[string]string{"c": "one"}},
		"the link is broken, and nothing else": {func(l *layered) {
			st, err := os.Stat(l.at("a"))
			l.ok(err, os.Remove(l.at("a")))
			l.upper(map[string]string{"a": "one"})
			l.ok(os.Chtimes(l.at("a"), st.ModTime(), st.ModTime()))
		}, []string{"modified a"}, nil, nil},
		"one is replaced, the others are changed": {func(l *layered) {
			l.ok(os.Link(l.at("a"), l.at("0")), os.Remove(l.at("sub/b")))
			l.upper(map[string]string{"a": "three", "sub/b": "one"})
		}, []string{"added 0", "modified a", "modified sub/b"}, [][]string{{"0", "a"}}, map[string]string{"a": "three", "sub/b": "one"}},
		"a name of another file": {func(l *layered) { l.ok(os.Link(l.at("a"), l.at("x"))) }, []string{"modified x"}, [][]string{{"a",
			"sub/b", "x"}}, nil},
		"a mode": {func(l *layered) { l.ok(os.Chmod(l.at("a"), 0o600)) }, []string{"mode a", "mode sub/b"},
			[][]string{{"a", "sub/b"}}, nil},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			l := start(t)
			tt.make(l)
			l.want(tt.want...)
			l.applied()
			for _, group := range tt.same {
				l.sameFile(group...)
			}
			for name, text := range tt.then {
				l.holds(name, text)
			}
		})
	}
}

// TestNumberUsedAgain: a file that got the number of a copy which is gone is not taken for that.
func TestNumberUsedAgain(t *testing.T) {
	l := over(t, map[string]string{"a": "a"})
	l.ok(os.Link(l.tree+"/a", l.tree+"/b"))
	l.layer.Close()
	l.begin()
	name := l.layer.part(0, "seeds")
	text, err := os.ReadFile(name)
	l.ok(err)
	words := strings.Fields(string(text))
	l.ok(os.WriteFile(name, []byte(words[0]+" 1 "+words[2]+"\n"), 0o600))
	l.upper(map[string]string{"a": "other"})
	l.want("modified a", "modified b")
	for _, c := range l.diff().Changes {
		if !c.replace {
			t.Errorf("%s is taken for the file below", c.Path)
		}
	}
}

// TestBecomesLinked: two files of the same content become one.
func TestBecomesLinked(t *testing.T) {
	l := over(t, map[string]string{"a": "same", "b": "same"})
	for _, name := range []string{"a", "b"} {
		l.ok(os.Chtimes(filepath.Join(l.tree, name), time.Unix(9, 0), time.Unix(9, 0)))
	}
	l.layer.Close()
	l.begin()
	l.upper(map[string]string{"a": "same"})
	l.ok(os.Chtimes(l.at("a"), time.Unix(9, 0), time.Unix(9, 0)), os.Link(l.at("a"), l.at("b")))
	l.want("linked b")
	l.applied()
	l.sameFile("a", "b")
}

// TestAttributes: the user's own are applied, those of the overlay are not seen.
func TestAttributes(t *testing.T) {
	l := over(t, map[string]string{"a": "a", "d/": ""})
	l.ok(unix.Lsetxattr(l.tree+"/a", "user.old", []byte("1"), 0))
	l.upper(map[string]string{"a": "a", "d/": ""})
	l.ok(unix.Lsetxattr(l.at("a"), "user.new", []byte("2"), 0), unix.Lsetxattr(l.at("a"), "user.overlay.origin", []byte("x"), 0),
		unix.Lsetxattr(l.at("d"), "user.new", nil, 0))
	l.want("mode a, it was changed meanwhile", "mode d") // the first attribute came after the index
	l.layer.Close()
	l.ok(unix.Lsetxattr(l.tree+"/d", "user.old", []byte("1"), 0))
	l.begin()
	l.upper(map[string]string{"a": "a", "d/": ""})
	l.ok(unix.Lsetxattr(l.at("a"), "user.new", []byte("2"), 0), unix.Lsetxattr(l.at("d"), "user.new", nil, 0))
	l.applied()
	for _, at := range []string{l.tree + "/a", l.tree + "/d"} {
		for _, name := range []string{"user.old", "user.overlay.origin"} {
			if _, err := unix.Lgetxattr(at, name, nil); err == nil {
				t.Errorf("%s has %s", at, name)
			}
		}
		if _, err := unix.Lgetxattr(at, "user.new", nil); err != nil {
			t.Errorf("%s: user.new: %v", at, err)
		}
	}
}
