package clipboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/inside"

	"pgregory.net/rapid"
)

// TestGestures: the key is seen however what is typed is cut, and nothing else is it.
func TestGestures(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := string(rapid.SampledFrom(pastings).Draw(t, "key"))
		typed := rapid.StringMatching(`([a-z\r]|\x1b\[[ABCD]|\x1b\[1;5[ABCD]){0,20}`).Draw(t, "typed")
		var g Gestures
		count := func(s string) (n int) {
			for len(s) > 0 {
				at := rapid.IntRange(1, len(s)).Draw(t, "cut")
				if g.In([]byte(s[:at])) {
					n++
				}
				s = s[at:]
			}
			return n
		}
		if n := count(typed); n != 0 {
			t.Fatalf("%q is %d Gestures", typed, n)
		}
		if n := count(key); n != 1 {
			t.Fatalf("%q is %d Gestures", key, n)
		}
		if n := count(typed); n != 0 {
			t.Fatalf("%q after one is %d Gestures", typed, n)
		}
	})
}

// fakeHost is a person's desktop.
type fakeHost struct {
	list []string
	data string
	err  error
}

func (h fakeHost) types(context.Context) ([]string, error) { return h.list, h.err }
func (h fakeHost) read(context.Context, string) ([]byte, error) {
	return []byte(h.data), h.err
}
func (h fakeHost) hold(context.Context, string, []byte, func()) error { return nil }
func (h fakeHost) close()                                             {}

// TestLent: without the key nothing is touched, with it a bounded number of times, and
// what goes wrong on the desktop leaves the workspace its own.
func TestLent(t *testing.T) {
	opened := 0
	person := fakeHost{list: inside.TextTypes(), data: "secret"}
	var events []string
	l := &lent{emit: func(e api.Event) { events = append(events, e.Kind+" "+e.Text) }, open: func(context.Context) (host, error) {
		opened++
		return person, nil
	}}
	c := &Clipboard{lent: l}
	ctx := context.Background()
	read := func() string {
		b, err := c.Read(ctx, "", "")
		if err != nil {
			return err.Error()
		}
		return string(b)
	}
	if err := c.Set(ctx, "", "", []byte("own")); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if got := read(); got != "own" || opened != 0 {
			t.Fatalf("without the key: %q, asked %d times", got, opened)
		}
	}
	l.gesture()
	if b, err := c.Read(ctx, inside.Primary, ""); !errors.Is(err, ErrEmpty) || opened != 0 {
		t.Errorf("what was marked: %q, %v", b, err)
	}
	for range 100 {
		read()
	}
	if opened != gestureReads || read() != "own" {
		t.Errorf("one key: asked %d times, then %q", opened, read())
	}
	l.gesture()
	if read() != "secret" {
		t.Error("the second key lends nothing")
	}
	person.err = errors.New("a desktop in trouble")
	l.gesture()
	if got := read(); got != "a desktop in trouble" {
		t.Errorf("%q", got)
	}
	person.err = ErrEmpty
	if got := read(); got != "own" {
		t.Errorf("an empty desktop: %q", got)
	}
	l.gesture()
	l.pressed = time.Now().Add(-gestureTime - time.Millisecond)
	if opened = 0; read() != "own" || opened != 0 {
		t.Error("the key is good for too long")
	}
	for _, e := range events {
		if strings.Contains(e, "secret") {
			t.Errorf("an event tells what was lent: %s", e)
		}
	}
}

// TestOwnClipboard: what is copied is pasted, in the formats that it has; all selections
// together are bounded.
func TestOwnClipboard(t *testing.T) {
	ctx := context.Background()
	c := &Clipboard{}
	for _, step := range []struct {
		selection, kind, ask string
		err                  error
	}{
		{"", "", "", nil}, {"clipboard", "UTF8_STRING", "text/plain", nil}, {"primary", "image/png", "image/png", nil},
		{"secondary", "image/png", "", ErrNoType}, {"", "text/html", "text/plain", nil}, {"", "text/html", "text/html", nil}, {"", "", "text/html", ErrNoType},
	} {
		want := fmt.Sprintf("%+v", step)
		if err := c.Set(ctx, step.selection, step.kind, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := c.Read(ctx, step.selection, step.ask); err != step.err || err == nil && string(got) != want {
			t.Errorf("%+v: %q, %v", step, got, err)
		}
	}
	for _, wrong := range [][2]string{{"other", ""}, {"", "a b"}, {"", "a\n"}, {"", strings.Repeat("x", maxKind+1)}} {
		if err := c.Set(ctx, wrong[0], wrong[1], nil); err == nil {
			t.Errorf("%q is taken", wrong)
		}
		if _, err := c.Read(ctx, wrong[0], wrong[1]); err == nil {
			t.Errorf("%q is read", wrong)
		}
	}
	large := make([]byte, maxBytes)
	if err := c.Set(ctx, "", "", large); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(ctx, "primary", "", large); err != nil || len(c.held) != 1 {
		t.Errorf("%v: %d selections of %d bytes are held", err, len(c.held), len(large))
	}
	if err := c.Set(ctx, "", "", append(large, 0)); err == nil {
		t.Error("one byte more is taken")
	}
	_ = c.Clear(ctx, "primary")
	if _, err := c.Types(ctx, "primary"); !errors.Is(err, ErrEmpty) {
		t.Errorf("%v", err)
	}
}
