package history

import (
	"os"
	"testing"

	"carrel/internal/history/disk"

	"golang.org/x/sys/unix"
)

// failedCalls are calls that change nothing, by name.
var failedCalls = map[string]struct {
	op       Op
	from, to string
	made     func(from, to string) error // nil: it is refused
	exact    bool                        // the file is not even linked for a moment
}{
	"rename of a directory over a file":  {op: Rename, from: "d", to: "k", made: os.Rename},
	"rename of a file over a directory":  {op: Rename, from: "k", to: "d", made: os.Rename},
	"rename that must not replace":       {op: Rename, from: "k", to: "h1", made: renameWith(unix.RENAME_NOREPLACE), exact: true},
	"rename of one name to another":      {op: Rename, from: "h1", to: "h2", made: os.Rename, exact: true},
	"rename of a file with several":      {op: Rename, from: "d", to: "h1", made: os.Rename},
	"exchange":                           {op: Exchange, from: "k", to: "missing", made: renameWith(unix.RENAME_EXCHANGE), exact: true},
	"exchange of one file's names":       {op: Exchange, from: "h1", to: "h2", made: renameWith(unix.RENAME_EXCHANGE), exact: true},
	"link over a file":                   {op: Link, from: "k", to: "h1", made: os.Link, exact: true},
	"unlink":                             {op: Remove, from: "k"},
	"unlink of a file with several":      {op: Remove, from: "h1"},
	"unlink of a directory with entries": {op: Remove, from: "d", made: func(from, _ string) error { return os.Remove(from) }, exact: true},
	"mkdir":                              {op: Make, from: "new", exact: true},
	"open for writing":                   {op: Content, from: "k", exact: true},
	"open of a file with several":        {op: Content, from: "h1", exact: true},
	"chmod":                              {op: Meta, from: "k", exact: true},
}

func renameWith(flags uint) func(from, to string) error {
	return func(from, to string) error { return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, flags) }
}

// failedCall prepares a tree, changes it in one step, and has a call fail in the next.
func (d *desk) failedCall(t *testing.T, name string) {
	t.Helper()
	for _, at := range []string{"k", "h1", "d/x"} {
		if err := os.MkdirAll(d.at("d"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.at(at), []byte("old "+at), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(d.at("h1"), d.at("h2")); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	d.write(t, "k", "new")
	d.write(t, "h1", "new")
	d.write(t, "d/x", "new")
	d.end(t)
	d.begin(t)
	f := failedCalls[name]
	to := ""
	if f.to != "" {
		to = d.at(f.to)
	}
	c := Change{Op: f.op, Path: d.at(f.from), To: to, New: name == "rename that must not replace"}
	defer pinNames(&c)()
	if err := d.w.Before(&c); err != nil {
		t.Fatal(err)
	}
	err := error(unix.EPERM)
	if f.made != nil {
		err = f.made(c.Path, to)
	}
	d.w.After(&c, err)
}

// TestFailedCallChangesNothing shows that a step has no path that only failed calls
// touched: nothing is listed or kept, and the step before can be taken back.
func TestFailedCallChangesNothing(t *testing.T) {
	for name := range failedCalls {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.failedCall(t, name)
			d.end(t)
			d.close(t)
			d.changedNothing(t)
		})
	}
}

// TestFailedCallThenKilled shows the same of a step whose writer is killed afterwards.
// A file that was linked for a moment has another time of change then, and stays.
func TestFailedCallThenKilled(t *testing.T) {
	for name, f := range failedCalls {
		if !f.exact {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.failedCall(t, name)
			d.kill()
			d.recover(t)
			d.changedNothing(t)
		})
	}
}

func (d *desk) changedNothing(t *testing.T) {
	t.Helper()
	l := d.read(t)
	step := l.Steps[1]
	if pres, posts := step.Pres(), step.Posts(); len(pres)+len(posts) > 0 {
		t.Errorf("the step has\n%+v\n%+v", pres, posts)
	}
	if step.Net() {
		t.Errorf("it changed %+v", step.Changes())
	}
	if faults := d.verified(t); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Errorf("undo of the step before: %v", err)
	}
	for _, at := range []string{"k", "h1", "h2", "d/x"} {
		want := "old " + at
		if at == "h2" {
			want = "old h1"
		}
		if got, err := os.ReadFile(d.at(at)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", at, got, err)
		}
	}
}

// TestChangeAfterFailedCall shows that what a failed call has touched is kept for the
// change that comes next in the step, also after the step could not be ended.
func TestChangeAfterFailedCall(t *testing.T) {
	for ends := range 5 {
		for name, f := range failedCalls {
			t.Run(name, func(t *testing.T) {
				d := newDesk(t)
				d.failedCall(t, name)
				before := snapshot(t, d.root)
				for n := range ends { // each time it is withdrawn up to another record
					left := n
					disk.Trial = func(call string) error {
						if call != "record" {
							return nil
						}
						if left--; left < 0 {
							return unix.ENOSPC
						}
						return nil
					}
					open, _ := d.w.End(0, nil)
					if disk.Trial = nil; open == 0 {
						return // it came to an end
					}
				}
				for _, at := range []string{f.from, f.to} {
					if info, err := os.Lstat(d.at(at)); err == nil && at != "" && info.Mode().IsRegular() {
						d.write(t, at, "written later")
						d.remove(t, at)
					} else if err == nil && at != "" {
						d.removeAll(t, at)
					} else if at != "" {
						d.mkdir(t, at)
					}
				}
				d.end(t)
				d.close(t)
				if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
					t.Fatal(err)
				}
				if got := snapshot(t, d.root); got != before {
					t.Errorf("after undo:\n%s\nwant:\n%s", got, before)
				}
			})
		}
	}
}
