package history

import (
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/history/journal"
)

// inside is a snapshot without the root itself, whose time is new where only some
// names in it are back.
func inside(t fataler, d *desk) string {
	_, lines, _ := strings.Cut(snapshot(t, d.root), "\n")
	return lines
}

// TestRenamesStayWhole: an undo that is about one name of a rename, or must leave
// the other alone, never takes a thing from one place and puts it nowhere.
func TestRenamesStayWhole(t *testing.T) {
	for _, c := range []struct {
		name, from, to, mine string
		req                  Request
		back                 bool
		content              string // of other/f, where only that comes back
	}{
		{name: "its new name is asked for", from: "a", to: "b", req: Request{Paths: []string{"b"}}, back: true},
		{name: "its former name is asked for", from: "a", to: "b", req: Request{Paths: []string{"a"}}, back: true},
		{name: "the directory that it came to is asked for", from: "a", to: "dir/a", req: Request{Paths: []string{"dir"}}, back: true},
		{name: "a directory", from: "dir", to: "other", req: Request{Paths: []string{"other"}}, back: true},
		{name: "a file in a directory that moved", from: "dir", to: "other", req: Request{Paths: []string{"other/f"}}, content: "f"},
		{name: "its former name is somebody's", from: "a", to: "b", mine: "a", req: Request{Mode: journal.Skip}},
		{name: "that of a directory", from: "dir", to: "other", mine: "dir", req: Request{Mode: journal.Skip}, content: "f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			before := inside(t, d)
			d.begin(t)
			if c.from == "dir" {
				d.write(t, "dir/f", "changed")
			}
			d.rename(t, c.from, c.to)
			d.end(t)
			d.close(t)
			if c.mine != "" {
				if err := os.WriteFile(d.at(c.mine), []byte("mine"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			now := inside(t, d)
			for i := range c.req.Paths {
				c.req.Paths[i] = d.at(c.req.Paths[i])
			}
			c.req.Steps = []uint64{1}
			v, err := d.undo(t, c.req)
			if err != nil {
				t.Fatal(err)
			}
			if got := inside(t, d); c.back && got != before {
				t.Errorf("it is not back:\n%s", apart(got, before))
			} else if text, _ := os.ReadFile(d.at("other/f")); c.content != "" && string(text) != c.content {
				t.Errorf("other/f is %q, want %q", text, c.content)
			} else if !c.back && c.content == "" && got != now {
				t.Errorf("something was moved:\n%s", apart(got, now))
			}
			if told := len(v.Conflicts) > 0; told != (c.mine != "") {
				t.Errorf("conflicts: %+v", v.Conflicts)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{2}, Redo: true}); err != nil {
				t.Fatal(err)
			}
			if got := inside(t, d); got != now {
				t.Errorf("made again:\n%s", apart(got, now))
			}
		})
	}
}

// TestSkipTakesNothingAway: what was there before a step, and is there before an undo
// that leaves some paths alone, is there after it.
func TestSkipTakesNothingAway(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		d.begin(rt)
		for range rapid.IntRange(1, 8).Draw(rt, "changes") {
			d.random(rt)
		}
		d.end(rt)
		d.close(rt)
		if !d.read(rt).Steps[0].Net() {
			return
		}
		req := Request{Steps: []uint64{1}, Mode: journal.Skip}
		if rapid.Bool().Draw(rt, "paths") {
			names := []string{"a", "b", "dir", "dir/f", "dir/sub", "dir/sub/g", "b/x", "b/f", "b/sub", "empty"}
			for range rapid.IntRange(1, 2).Draw(rt, "n") {
				req.Paths = append(req.Paths, d.at(rapid.SampledFrom(names).Draw(rt, "path")))
			}
		}
		if rapid.Bool().Draw(rt, "edit") {
			d.edit(rt, "by the user")
		}
		now := snapshot(rt, d.root)
		kept := func() (out []string) {
			for _, text := range []string{"content of a", "ggggggggg", "linked", "by the user"} {
				if holds(t, d.root, text) {
					out = append(out, text)
				}
			}
			return out
		}
		before := kept()
		if _, err := d.undo(rt, req); err != nil {
			if got := snapshot(rt, d.root); got != now {
				rt.Fatalf("%v, and changed:\n%s", err, apart(got, now))
			}
			rt.Logf("refused: %v", err)
			return
		}
		after := kept()
		for _, text := range before {
			if !slices.Contains(after, text) {
				rt.Fatalf("%q is gone", text)
			}
		}
	})
}
