package jsonapi

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
)

// TestUndoneIsTold: each path is told once, no list is null, and what a forced undo could not
// remove is told as such and not as removed.
func TestUndoneIsTold(t *testing.T) {
	text, err := json.Marshal(undone{}.told(0))
	if err != nil || strings.Contains(string(text), "null") {
		t.Errorf("nothing is told as %s, %v", text, err)
	}
	at := t.TempDir()
	there, gone := filepath.Join(at, "there"), filepath.Join(at, "gone")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	raw := func(paths ...string) (list []json.RawMessage) {
		for _, path := range paths {
			list = append(list, encoded(path))
		}
		return list
	}
	bytes := json.RawMessage(`{"base64":"/w=="}`) // a name that cannot be looked at by its text
	u := undone{Steps: []uint64{4, 3}, Restored: raw("a", "b", "a"), Removed: append(raw(there, gone, gone), bytes)}
	u.leaves(api.LeftOut{Paths: 1, Why: "hidden"})
	u.leaves(api.LeftOut{Paths: 2, Why: "hidden"})
	u.kept()
	got := u.told(2)
	if got.Steps != 2 || got.Crossed != 2 || len(got.Restored) != 2 || len(got.Removed) != 2 || got.LeftOut.Paths != 3 ||
		len(got.Unrestored) != 1 || got.Unrestored[0]["path"] != there || !slices.EqualFunc(got.Removed[1:], []json.RawMessage{bytes}, same) {
		t.Errorf("%+v", got)
	}
}

func same(a, b json.RawMessage) bool { return string(a) == string(b) }

// TestDirectoryNames: a directory is named by a number or by a text, and by nothing else.
func TestDirectoryNames(t *testing.T) {
	for text, want := range map[string]string{`0`: "0", `"src"`: "src", `-1`: "-1", `"7"`: "7", `1.5`: "!", `true`: "!", `["a"]`: "!"} {
		var d directoryName
		if err := json.Unmarshal([]byte(text), &d); (err != nil) != (want == "!") || err == nil && d.text != want {
			t.Errorf("%s is %q, %v", text, d.text, err)
		}
	}
}
