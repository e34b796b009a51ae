package a11y

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"carrel/internal/dbus"

	wire "github.com/godbus/dbus/v5"
)

// node answers as a plain program would that has no cache: a root with two buttons.
func node(to, path, member string, args []any) []any {
	switch member {
	case "GetRole":
		return []any{uint32(43)}
	case "GetState":
		return []any{[]uint32{1<<25 | 1<<30 | 1<<8, 0}}
	case "GetInterfaces":
		return []any{[]string{accessibleFace, componentFace, actionFace}}
	case "GetExtents":
		return []any{struct{ X, Y, W, H int32 }{1, 2, 30, 40}}
	case "GetActions":
		return []any{[]struct{ A, B, C string }{{"click", "", ""}}}
	case "Get":
		return []any{wire.MakeVariant(args[1].(string) + " of " + path)}
	case "GetChildren":
		if path == rootPath {
			return []any{[]pair{{to, objects + "1"}, {to, objects + "2"}}}
		}
		return []any{[]pair{}}
	}
	return []any{"what is that"} // a type that nobody asked for
}

func app(bus string) []any { return []any{bus, rootPath} }

func tree(t *testing.T, b *Bus, o Options) *Tree {
	t.Helper()
	got, err := b.Tree(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOneHostileProgramCostsOnlyItself(t *testing.T) {
	var made atomic.Int64
	for _, tc := range []struct {
		name    string
		answer  func(to, path, member string, args []any) []any
		problem string // of the hostile one
		nodes   int    // how many it may have at most
	}{
		{"never answers", func(string, string, string, []any) []any { return nil }, "within", 0},
		{"answers until its children are asked for", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				return nil
			}
			return node(to, path, member, args)
		}, "within", 1},
		{"is endless in depth", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				return []any{[]pair{{to, wire.ObjectPath(objects + strconv.FormatInt(made.Add(1), 10))}}}
			}
			return node(to, path, member, args)
		}, "levels", 21},
		{"is endless in breadth", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				var out []pair
				for range 30 {
					out = append(out, pair{to, wire.ObjectPath(objects + strconv.FormatInt(made.Add(1), 10))})
				}
				return []any{out}
			}
			return node(to, path, member, args)
		}, "nodes", 300},
		{"loops", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				return []any{[]pair{{to, rootPath}, {to, wire.ObjectPath(path)}, {to, objects + "9"}}}
			}
			return node(to, path, member, args)
		}, "", 2},
		{"shows another's nodes as its own", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				return []any{[]pair{{":1.20", objects + "1"}, {":1.20", rootPath}}}
			}
			return node(to, path, member, args)
		}, "", 1},
		{"names what cannot be sent", func(to, path, member string, args []any) []any {
			if member == "GetChildren" {
				return []any{[]pair{{"org.freedesktop.DBus", objects + "1"}, {to, "/"}, {":1.x", objects + "1"}, {"", nullPath}}}
			}
			return node(to, path, member, args)
		}, "", 1},
		{"answers with other types", func(to, path, member string, args []any) []any {
			return []any{map[string]wire.Variant{"a": wire.MakeVariant([]string{"b"})}}
		}, "type", 1},
		{"talks without end", func(to, path, member string, args []any) []any {
			if member == "Get" {
				return []any{wire.MakeVariant(strings.Repeat("ä", 1<<19))}
			}
			return node(to, path, member, args)
		}, "", 3},
		{"answers more than there may be", func(to, path, member string, args []any) []any {
			if member == "Get" {
				return []any{wire.MakeVariant(strings.Repeat("x", dbus.MaxBody+1))}
			}
			return node(to, path, member, args)
		}, "larger", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeBus{t: t, apps: [][]any{app(":1.66"), app(":1.20")}, answer: func(to, path, member string, args []any) []any {
				if to == ":1.66" {
					return tc.answer(to, path, member, args)
				}
				return node(to, path, member, args)
			}}
			start := time.Now()
			got := tree(t, f.open(), Options{Depth: 20, Nodes: 300, Bytes: 100_000, Time: time.Second})
			if d := time.Since(start); d > 4*time.Second {
				t.Errorf("took %v", d)
			}
			if len(got.Apps) != 2 {
				t.Fatalf("%d programs, want 2", len(got.Apps))
			}
			bad, good := got.Apps[0], got.Apps[1]
			if good.Problem != "" || good.Nodes != 3 {
				t.Errorf("the other program: %d nodes, problem %q", good.Nodes, good.Problem)
			}
			if tc.problem == "" && bad.Problem != "" || !strings.Contains(bad.Problem, tc.problem) {
				t.Errorf("problem %q, want one with %q", bad.Problem, tc.problem)
			}
			if bad.Nodes > tc.nodes {
				t.Errorf("%d nodes, want %d at most", bad.Nodes, tc.nodes)
			}
			bytes := 0
			for n := range bad.All {
				bytes += len(n.Name) + len(n.Description) + len(n.Text)
			}
			if bytes > 110_000 {
				t.Errorf("%d bytes of text", bytes)
			}
			if err := json.NewEncoder(&strings.Builder{}).Encode(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnswersOfOthersAreNotTaken: on the accessibility bus everybody may send an
// answer to anything.
func TestAnswersOfOthersAreNotTaken(t *testing.T) {
	f := &fakeBus{t: t, apps: [][]any{app(":1.20")}, answer: node, from: ":1.66"}
	got := tree(t, f.open(), Options{Time: 200 * time.Millisecond})
	if len(got.Apps) != 1 || got.Apps[0].Name != "" || !strings.Contains(got.Apps[0].Problem, "within") {
		t.Errorf("the program is %+v, want one that did not answer", got.Apps[0])
	}
}

func TestMessagesThatNobodyWaitsFor(t *testing.T) {
	f := &fakeBus{t: t, apps: [][]any{app(":1.20")}, answer: node}
	f.raw = append(f.raw, encodeReply(":1.66", 999_999, "an answer to nothing")...)
	f.raw = append(f.raw, encodeReply(":1.66", 0)...)
	call := encodeReply(":1.66", 1)
	call[1] = byte(wire.TypeMethodCall) // without a path, which a call must have
	f.raw = append(f.raw, call...)
	lost := encodeReply("org.freedesktop.DBus", 1) // a signal with nothing in it
	lost[1] = byte(wire.TypeSignal)
	f.raw = append(f.raw, lost...)
	got := tree(t, f.open(), Options{})
	if got.Apps[0].Problem != "" || got.Apps[0].Nodes != 3 {
		t.Errorf("%d nodes, problem %q", got.Apps[0].Nodes, got.Apps[0].Problem)
	}
}

func TestABusThatTalksNonsenseEndsTheConnection(t *testing.T) {
	f := &fakeBus{t: t, apps: [][]any{app(":1.20")}, answer: node, raw: []byte("nonsense, and more than sixteen bytes of it")}
	b := f.open()
	got, err := b.Tree(t.Context(), Options{Time: time.Second})
	if err == nil && got.Apps[0].Problem == "" {
		t.Errorf("no error and no problem: %+v", got)
	}
	if _, err := b.Tree(t.Context(), Options{}); err == nil {
		t.Error("a connection that has ended is asked again without an error")
	}
}

// Who has taken the name of the bus or of the registry, or the socket of the session
// bus, and never answers, is not waited for without end.
func TestNamesThatAreTakenAndSilent(t *testing.T) {
	for _, mute := range []string{"Hello", "StartServiceByName", "GetNameOwner", "GetAddress", "Set", "GetChildren"} {
		t.Run(mute, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeBus{t: t, mute: mute}
				began := time.Now()
				b, err := Open(t.Context(), f.pipe(), func(context.Context, string) (net.Conn, error) { return f.pipe(), nil })
				if err == nil {
					defer b.Close()
					_, err = b.Tree(t.Context(), Options{})
				}
				if took := time.Since(began); err == nil || took > time.Minute {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

func TestManyPrograms(t *testing.T) {
	f := &fakeBus{t: t, answer: node}
	for i := range 3 * maxApps {
		f.apps = append(f.apps, app(":1."+strconv.Itoa(100+i)))
	}
	got := tree(t, f.open(), Options{})
	if len(got.Apps) != maxApps || got.Problem == "" {
		t.Errorf("%d programs and the problem %q", len(got.Apps), got.Problem)
	}
}

func TestActing(t *testing.T) {
	f := &fakeBus{t: t, apps: [][]any{app(":1.20")}, answer: func(to, path, member string, args []any) []any {
		switch member {
		case "DoAction":
			return []any{args[0] == int32(1)}
		case "GetActions":
			return []any{[]struct{ A, B, C string }{{"press", "", ""}, {"open", "", ""}}}
		case "GetInterfaces":
			return []any{[]string{accessibleFace}}
		}
		return nil
	}}
	b := f.open()
	r := Ref{":1.20", objects + "1"}
	if name, err := b.Invoke(t.Context(), r, "OPEN"); name != "open" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if _, err := b.Invoke(t.Context(), r, ""); err == nil || !strings.Contains(err.Error(), "did not") {
		t.Errorf("an action that was not done: %v", err)
	}
	if _, err := b.Invoke(t.Context(), r, "close"); err == nil || !strings.Contains(err.Error(), `["press" "open"]`) {
		t.Errorf("an action that is not there: %v", err)
	}
	if err := b.SetText(t.Context(), r, "x"); !errors.Is(err, ErrNotEditable) {
		t.Errorf("text of a button: %v", err)
	}
	if _, err := b.SetValue(t.Context(), r, math.NaN()); err == nil {
		t.Error("no number is a value")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Focus(ctx, r); !errors.Is(err, errUncertain) {
		t.Errorf("a program that does not answer: %v", err)
	}
	for _, bad := range []string{"a\x00b", "\xff"} {
		if _, err := b.conn.Ask(t.Context(), r.ask(editableFace, "SetTextContents", "b", bad)); err == nil {
			t.Errorf("%q is sent", bad)
		}
	}
}

func TestWaiting(t *testing.T) {
	var shown atomic.Bool
	f := &fakeBus{t: t, apps: [][]any{app(":1.20")}, answer: func(to, path, member string, args []any) []any {
		if member == "GetChildren" && !shown.Load() {
			return []any{[]pair{}}
		}
		return node(to, path, member, args)
	}}
	b := f.open()
	q := Query{Name: regexp.MustCompile("accessible/2$"), Role: "push button"}
	time.AfterFunc(100*time.Millisecond, func() { shown.Store(true) })
	got, err := b.Wait(t.Context(), q, false)
	if err != nil || len(got.Nodes) != 1 || got.Nodes[0].Ref.String() != ":1.20:2" {
		t.Fatalf("%+v, %v", got, err)
	}
	time.AfterFunc(100*time.Millisecond, func() { shown.Store(false) })
	if got, err = b.Wait(t.Context(), q, true); err != nil || len(got.Nodes) != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err = b.Wait(ctx, q, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the end of waiting is %v", err)
	}
}
