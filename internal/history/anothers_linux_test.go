package history

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestAnothersDirectory: where an ordinary user may write in a directory of another user,
// but not set its time, all else of a step there comes back, and is made again.
func TestAnothersDirectory(t *testing.T) {
	const env = "CARREL_TEST_ANOTHERS"
	if os.Getuid() == 0 {
		dir := t.TempDir()
		by(t, os.Mkdir(dir+"/shared", 0o777), os.Chmod(dir+"/shared", 0o777), os.Chmod(dir, 0o777))
		t.Setenv(env, dir+"/shared")
		asUser(t, "TestAnothersDirectory")
		return
	}
	shared := os.Getenv(env)
	if shared == "" {
		t.Skip("another user's directory takes root to make")
	}
	d := newDesk(t)
	d.fill(t)
	by(t, os.Rename(shared, d.at("shared")), os.WriteFile(d.at("shared/f"), []byte("f"), 0o600), os.WriteFile(d.at("shared/g"), []byte("g"), 0o600))
	others := func() string { // all but the directory itself: its time stays
		return strings.Join(slices.DeleteFunc(strings.Split(inside(t, d), "\n"), func(line string) bool {
			return strings.HasPrefix(line, `"/shared" 40777 0:0 `)
		}), "\n")
	}
	before := others()
	d.begin(t)
	d.put(t, "shared/f", "changed")
	d.rename(t, "shared/g", "shared/h")
	d.mkdir(t, "shared/sub")
	d.end(t)
	d.close(t)
	after := others()
	for n := range uint64(4) {
		req, want := Request{Steps: []uint64{1}}, before
		if n%2 == 1 {
			req, want = Request{Steps: []uint64{n + 1}, Redo: true}, after
		}
		if _, err := d.undo(t, req); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if got := others(); got != want {
			t.Errorf("after %d:\n%s", n, apart(got, want))
		}
	}
}

// TestAnothersFiles: an ordinary user's step writes to files that are another user's, or
// lie in a directory of another user. What may be written may be taken back, and made again.
func TestAnothersFiles(t *testing.T) {
	const env = "CARREL_TEST_ANOTHERS"
	const uid = 4243
	if os.Getuid() == 0 {
		dir := t.TempDir()
		by(t, os.Mkdir(dir+"/all", 0o777), os.Chmod(dir+"/all", 0o777), os.Chmod(dir, 0o777))
		for name, mode := range map[string]os.FileMode{"open": 0o777, "shared": 0o777 | os.ModeSticky, "closed": 0o755} {
			at := dir + "/all/" + name
			by(t, os.Mkdir(at, 0o777), os.WriteFile(at+"/theirs", []byte("found"), 0o600), os.WriteFile(at+"/mine", []byte("found"), 0o600))
			by(t, os.WriteFile(at+"/two", []byte("found"), 0o600), os.Link(at+"/two", at+"/names"))
			by(t, os.Chmod(at+"/theirs", 0o666), os.Chmod(at+"/two", 0o666))
			by(t, os.Chown(at+"/theirs", uid, uid), os.Chown(at+"/two", uid, uid), os.Chown(at+"/mine", 4242, 4242), os.Chmod(at, mode))
		}
		t.Setenv(env, dir)
		asUser(t, "TestAnothersFiles")
		return
	}
	dir := os.Getenv(env)
	if dir == "" {
		t.Skip("another user's files take root to make")
	}
	d := newDesk(t)
	by(t, os.Rename(dir+"/all", d.at("all")))
	t.Cleanup(func() { by(t, os.Rename(d.at("all"), dir+"/all")) }) // only root can remove it
	texts := func() (all string) {
		for _, name := range []string{"all/open", "all/shared", "all/closed"} {
			for _, file := range []string{"theirs", "mine", "two", "names"} {
				text, err := os.ReadFile(d.at(name + "/" + file))
				by(t, err)
				all += name + "/" + file + ": " + string(text) + "\n"
			}
		}
		return all
	}
	was := []string{texts()}
	for _, text := range []string{"changed", "changed again"} {
		d.begin(t)
		for _, name := range []string{"all/open", "all/shared", "all/closed"} {
			for _, file := range []string{"theirs", "mine", "two"} {
				d.write(t, name+"/"+file, text)
			}
		}
		d.end(t)
		was = append(was, texts())
	}
	d.close(t)
	for _, c := range []struct {
		req  Request
		left int
	}{
		{Request{Steps: []uint64{2}}, 1}, {Request{Steps: []uint64{1}}, 0},
		{Request{Steps: []uint64{4}, Redo: true}, 1}, {Request{Steps: []uint64{3}, Redo: true}, 2},
		{Request{Steps: []uint64{1, 2}}, 0}, {Request{Steps: []uint64{7, 8}, Redo: true}, 2},
	} {
		if _, err := d.undo(t, c.req); err != nil {
			t.Fatalf("%v: %v", c.req.Steps, err)
		}
		if got := texts(); got != was[c.left] {
			t.Fatalf("%v:\n%s", c.req.Steps, apart(got, was[c.left]))
		}
	}
	if v := d.verified(t); len(v) > 0 {
		t.Errorf("%+v", v)
	}
}
