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
