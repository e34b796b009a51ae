package broker

import (
	"path"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ in, dir, name string }{
		{"a", "", "a"}, {"a/", "", "a/"}, {"a/b", "a", "b"}, {"a/b//", "a", "b//"}, {"/a", "/", "a"}, {"/a/b", "/a", "b"},
		{"/", "/", "."}, {"///", "/", "."}, {"a//b", "a/", "b"}, {"..", "", ".."}, {"a/..", "a", ".."}, {"./a", ".", "a"},
	} {
		if dir, name := split(c.in); dir != c.dir || name != c.name {
			t.Errorf("split(%q) = %q, %q, want %q, %q", c.in, dir, name, c.dir, c.name)
		}
	}
}

// TestSplitJoin: for a path without dots, what split takes apart join puts
// together again.
func TestSplitJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := "/" + strings.Join(rapid.SliceOfN(rapid.StringMatching(`[a-c\xff ]{1,3}`), 1, 5).Draw(t, "parts"), "/")
		dir, name := split(p + strings.Repeat("/", rapid.IntRange(0, 2).Draw(t, "slashes")))
		if got := join(path.Clean(dir), strings.TrimRight(name, "/")); got != p {
			t.Fatalf("%q came back as %q", p, got)
		}
	})
}

func TestPlain(t *testing.T) {
	for _, c := range []struct {
		in, names string
		count     int
	}{
		{"a", "a", 1}, {"a/b", "a/b", 2}, {"/a/b/c/", "a/b/c", 3}, {"//a//b", "a/b", 2}, {"a/../b", "", 0}, {"./a", "", 0}, {"a/.", "", 0},
		{"..", "", 0}, {"a/..b/.c", "a/..b/.c", 3}, {"/", "", 0}, {"", "", 0}, {"a/\xff\x80/b", "a/\xff\x80/b", 3},
	} {
		if names, count := plain(c.in); names != c.names || count != c.count {
			t.Errorf("plain(%q) = %q, %d, want %q, %d", c.in, names, count, c.names, c.count)
		}
	}
}

// TestTable: every call that the tables of groups speak of has a handler.
func TestTable(t *testing.T) {
	table := handlers()
	moving, anybody := groups()
	for _, g := range []map[int32]bool{moving, anybody} {
		for nr := range g {
			if table[nr] == nil {
				t.Errorf("call %d is in a group and has no handler", nr)
			}
		}
	}
	for _, nr := range reading() {
		if table[nr] == nil {
			t.Errorf("call %d is one of reading and has no handler", nr)
		}
	}
}

// TestTurnIsPassedOn: a worker that is long at one call loses the turn, and
// gets it back only when it is free.
func TestTurnIsPassedOn(t *testing.T) {
	turn := newTurn()
	go turn.watch()
	defer turn.end()
	slow, next := &worker{}, &worker{}
	if !turn.take(slow) {
		t.Fatal("no turn")
	}
	turn.busy(slow)
	taken := make(chan bool)
	go func() { taken <- turn.take(next) }()
	select {
	case ok := <-taken:
		if !ok {
			t.Fatal("the turn ended")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nobody took over from a worker that is stuck")
	}
	if turn.done(slow) {
		t.Error("two workers think that it is their turn")
	}
	turn.busy(next)
	if !turn.done(next) {
		t.Error("a short call lost the turn")
	}
}

// TestHoldHoldsAndLetsGo: while shut, nobody passes the gate.
func TestHoldHoldsAndLetsGo(t *testing.T) {
	var g gate
	g.init()
	g.wait()
	g.open(false)
	passed := make(chan bool, 1)
	go func() { g.wait(); passed <- true }()
	select {
	case <-passed:
		t.Fatal("passed a shut gate")
	case <-time.After(20 * time.Millisecond):
	}
	g.open(true)
	<-passed
}
