package history

import (
	"os"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// oldTime is the modification time of every file in an npm package.
var oldTime = []unix.Timespec{{Sec: 499162500}, {Sec: 499162500}}

// TestReplacedLinkIsModified shows that a name of a file with several names counts as
// modified when another file of the same length and modification time takes its place.
func TestReplacedLinkIsModified(t *testing.T) {
	for name, replace := range map[string]func(d *desk){
		"rename": func(d *desk) { d.rename(t, "new", "i.js") },
		"unlink and link": func(d *desk) {
			d.remove(t, "i.js")
			d.act(t, Link, d.at("v2"), d.at("i.js"), func() error { return os.Link(d.at("v2"), d.at("i.js")) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			for file, text := range map[string]string{"v1": "version1", "v2": "VERSION2"} {
				if err := os.WriteFile(d.at(file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := unix.UtimesNanoAt(unix.AT_FDCWD, d.at(file), oldTime, 0); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(d.at("v1"), d.at("i.js")); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, d.root)
			d.begin(t)
			d.act(t, Link, d.at("v2"), d.at("new"), func() error { return os.Link(d.at("v2"), d.at("new")) })
			replace(d)
			if name != "rename" {
				d.remove(t, "new")
			}
			d.end(t)
			d.close(t)
			step := d.read(t).Steps[0]
			want := []steplog.PathChange{{Path: d.at("i.js"), What: steplog.Modified, Kind: journal.File, Bytes: 8}}
			if got := step.Changes(); !reflect.DeepEqual(got, want) {
				t.Errorf("changes are %+v", got)
			}
			if !step.Net() {
				t.Error("the step counts as one that changed nothing")
			}
			if _, err := d.undo(t, Request{Steps: []uint64{step.Number}}); err != nil {
				t.Fatal(err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Errorf("after undo:\n%s\nwant:\n%s", got, before)
			}
		})
	}
}
