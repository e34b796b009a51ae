package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// TestFollowedMoves: what the step has moved, made or changed and another program then gives
// another name is followed there, and whatever the step does to it comes back.
func TestFollowedMoves(t *testing.T) {
	type way struct {
		name string
		do   func(d *desk)
	}
	type hand struct {
		name string
		do   func(d *desk) error
	}
	swap := func(a, b string) func(d *desk) error {
		return func(d *desk) error {
			return unix.Renameat2(unix.AT_FDCWD, d.at(a), unix.AT_FDCWD, d.at(b), unix.RENAME_EXCHANGE)
		}
	}
	mv := func(a, b string) func(d *desk) error {
		return func(d *desk) error { return unix.Renameat(unix.AT_FDCWD, d.at(a), unix.AT_FDCWD, d.at(b)) }
	}
	steps := []way{
		{"moves", func(d *desk) { d.rename(t, "f", "g") }},
		{"makes a file", func(d *desk) { d.put(t, "d/n", "step") }},
		{"chmods", func(d *desk) { d.chmod(t, "f", 0o600); d.chmod(t, "d/a", 0o600) }},
		{"into a new directory", func(d *desk) { d.mkdir(t, "g"); d.rename(t, "f", "g/f") }},
		{"into a deep directory", func(d *desk) { d.mkdir(t, "g"); d.mkdir(t, "g/h"); d.rename(t, "f", "g/h/f") }},
		{"moves a directory", func(d *desk) { d.rename(t, "d", "g") }},
		{"swaps", func(d *desk) { d.rename(t, "f", "t"); d.rename(t, "e", "f"); d.rename(t, "t", "e") }},
		{"rewrites", func(d *desk) { d.put(t, "f", "step"); d.put(t, "d/a", "step"); d.quiet(t) }},
	}
	people := []hand{
		{"moves back", mv("g", "f")},
		{"moves on", mv("g", "h")},
		{"moves the directory back", mv("g", "d")},
		{"moves f on", mv("f", "h")},
		{"moves f over e", mv("f", "e")},
		{"moves d on", mv("d", "x")},
		{"swaps e and f", swap("e", "f")},
		{"swaps d and f", swap("d", "f")},
		{"puts a directory in place of f", func(d *desk) error {
			if err := os.Remove(d.at("f")); err != nil {
				return err
			}
			if err := os.Mkdir(d.at("f"), 0o755); err != nil {
				return err
			}
			return os.WriteFile(d.at("f/a"), []byte("edit"), 0o644)
		}},
		{"moves f on and puts a directory there", func(d *desk) error {
			if err := mv("f", "h")(d); err != nil {
				return err
			}
			return mv("d", "f")(d)
		}},
		{"edits and moves on", func(d *desk) error {
			for _, name := range []string{"f", "g", "g/f", "g/a"} {
				if st, err := os.Stat(d.at(name)); err == nil && st.Mode().IsRegular() {
					if err := os.WriteFile(d.at(name), []byte("edit"), 0o644); err != nil {
						return err
					}
				}
			}
			if _, err := os.Lstat(d.at("g")); err != nil {
				return os.Rename(d.at("f"), d.at("h"))
			}
			return os.Rename(d.at("g"), d.at("h"))
		}},
	}
	all := []string{"e", "f", "g", "h", "d", "x"}
	ends := []way{
		{"removes", func(d *desk) {
			for _, name := range all {
				if _, err := os.Lstat(d.at(name)); err == nil {
					d.removeAll(t, name)
				}
			}
		}},
		{"chmods what is deeper, and removes all", func(d *desk) {
			for _, name := range all {
				if _, err := os.Lstat(d.at(name + "/s/b")); err == nil {
					d.chmod(t, name+"/s/b", 0o600)
				}
				if _, err := os.Lstat(d.at(name)); err == nil {
					d.removeAll(t, name)
				}
			}
		}},
		{"removes what is deeper", func(d *desk) {
			for _, name := range all {
				if _, err := os.Lstat(d.at(name + "/s")); err == nil {
					d.removeAll(t, name+"/s")
				}
			}
		}},
		{"rewrites", func(d *desk) {
			for _, name := range append(all, "h/f", "g/f", "f/a", "h/a", "d/a", "g/h/f", "h/h/f", "x/a") {
				if st, err := os.Lstat(d.at(name)); err == nil && st.Mode().IsRegular() {
					d.put(t, name, "end")
				}
			}
			d.quiet(t)
		}},
		{"moves", func(d *desk) {
			for _, name := range all {
				if _, err := os.Lstat(d.at(name)); err == nil {
					d.rename(t, name, name+name)
				}
			}
		}},
		{"moves over", func(d *desk) {
			for _, name := range all {
				if st, err := os.Lstat(d.at(name)); err == nil && st.Mode().IsRegular() {
					d.put(t, "new", "new")
					d.rename(t, "new", name)
				}
			}
			d.quiet(t)
		}},
		{"swaps", func(d *desk) {
			d.put(t, "new", "new")
			for _, name := range all {
				if _, err := os.Lstat(d.at(name)); err == nil {
					d.act(t, Exchange, d.at("new"), d.at(name), func() error {
						return unix.Renameat2(unix.AT_FDCWD, d.at("new"), unix.AT_FDCWD, d.at(name), unix.RENAME_EXCHANGE)
					})
				}
			}
			d.quiet(t)
		}},
	}
	for _, a := range steps {
		for _, b := range people {
			for _, c := range ends {
				name := fmt.Sprintf("%s, %s, %s", a.name, b.name, c.name)
				t.Run(name, func(t *testing.T) { followed(t, a.do, b.do, c.do) })
			}
		}
	}
}

// followed lets the step, another program and the step again do something, and looks for
// every byte that was not the step's after an undo.
func followed(t *testing.T, a func(d *desk), b func(d *desk) error, c func(d *desk)) {
	d := newDesk(t)
	if err := os.MkdirAll(d.at("d/s"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"e": "text of e", "f": "text of f", "d/a": "text of a", "d/s/b": "text of b"} {
		if err := os.WriteFile(d.at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	a(d)
	d.quiet(t)
	before := texts(t, d.root)
	if err := b(d); errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOTEMPTY) {
		return // it has nothing to do here
	} else if err != nil {
		t.Fatal(err)
	}
	given := texts(t, d.root)
	c(d)
	s := d.over(t)
	for range 2 { // what has no directory any more comes back into one that is made for it
		v, err := d.undo(t, Request{Steps: []uint64{s.Number}, Mode: journal.KeepBoth})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range v.Unrestorable {
			t.Logf("cannot be restored: %+v", u)
			_ = os.MkdirAll(filepath.Dir(u.Path), 0o755)
		}
		if len(v.Unrestorable) == 0 {
			break
		}
	}
	now := texts(t, d.root)
	for text := range given {
		if text != "step" && !strings.Contains(text, "step") && now[text] == "" {
			t.Errorf("%q was at %s and is nowhere; there is %q", text, given[text], now)
		}
	}
	for _, text := range []string{"text of e", "text of f", "text of a", "text of b"} {
		if now[text] == "" && (given[text] != "" || before[text] == "") {
			t.Errorf("%q is nowhere; there is %q", text, now)
		}
	}
}

// texts gives the names of all files in a directory by what is in them.
func texts(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(p)
		out[string(text)] += strings.TrimPrefix(p, dir+"/") + " "
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
