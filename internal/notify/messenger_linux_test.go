package notify

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestMessenger: what comes from inside is text under the workspace's name, and its
// numbers lead to nobody else's notifications.
func TestMessenger(t *testing.T) {
	address := newBus(t)
	s := service(t, address)
	m := NewMessenger("d\x1besk", address)
	ctx := context.Background()
	id, err := m.Show(ctx, Message{Title: "carrel: desk waits for you\n", Body: "<b>x</b>\x1b[2J & y\r\nz", Replaces: 7})
	if err != nil || id != 1 {
		t.Fatal(id, err)
	}
	if got := s.all()[0]; got != [2]string{"inside d?esk: carrel: desk waits for you?", "&lt;b&gt;x&lt;/b&gt;?[2J &amp; y\nz"} {
		t.Errorf("%q", got)
	}
	if s.rest[1] != uint32(0) { // 7 is the service's number, and none of ours
		t.Errorf("it replaces %v", s.rest[1])
	}
	if again, err := m.Show(ctx, Message{Title: "x", Replaces: id, Low: true, Expires: time.Hour, Transient: true}); err != nil || again != id || s.rest[1] != uint32(7) || s.rest[4] != 2 || s.rest[5] != int32(60_000) {
		t.Errorf("%d, %v: %v", again, err, s.rest)
	}
	for about, msg := range map[string]Message{
		"nothing": {}, "a long title": {Title: strings.Repeat("x", MaxText+1)}, "a long body": {Title: "x", Body: strings.Repeat("x", MaxText+1)}, "bytes": {Title: "\xff"},
	} {
		if _, err := m.Show(ctx, msg); err == nil || errors.Is(err, ErrTooMany) {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// TestMessengerIsBounded: so many at once, then one after the other as time goes by; and
// nobody there is an answer, not a mistake.
func TestMessengerIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	sent := 0
	m := NewMessenger("x", "unix:path=/nonexistent/bus")
	m.now = func() time.Time { return now }
	if _, err := m.Show(context.Background(), Message{Title: "x"}); !errors.Is(err, ErrNoDesktop) {
		t.Errorf("%v", err)
	}
	m.show = func(context.Context, shown) (uint32, error) { sent++; return uint32(sent), nil }
	for range 20 {
		_, _ = m.Show(context.Background(), Message{Title: "x"})
	}
	if sent != burst-1 {
		t.Errorf("%d at once", sent)
	}
	for range 5 {
		now = now.Add(refill)
		for range 5 {
			_, _ = m.Show(context.Background(), Message{Title: "x"})
		}
	}
	if sent != burst+4 {
		t.Errorf("%d after a while", sent)
	}
	for range 200 {
		now = now.Add(refill)
		if _, err := m.Show(context.Background(), Message{Title: "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.host) > maxReplaced {
		t.Errorf("%d numbers are kept", len(m.host))
	}
	var none *Messenger
	if _, err := none.Show(context.Background(), Message{Title: "x"}); !errors.Is(err, ErrNoDesktop) {
		t.Errorf("%v", err)
	}
}

// TestMessengerText: whatever a program wants shown, the heading is the workspace's and
// the body has no markup and no control character.
func TestMessengerText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got shown
		m := NewMessenger("desk", "unix:path=/x")
		m.show = func(_ context.Context, n shown) (uint32, error) { got = n; return 1, nil }
		msg := Message{Title: rapid.String().Draw(t, "title"), Body: rapid.String().Draw(t, "body")}
		if _, err := m.Show(context.Background(), msg); err != nil {
			return
		}
		if !strings.HasPrefix(got.summary, "inside desk: ") || strings.ContainsAny(got.body, "<>\x1b\r\t\u202e") || strings.ContainsAny(got.summary, "\n\x1b") || !utf8.ValidString(got.body+got.summary) || strings.Count(got.body, "\n") > maxLines {
			t.Fatalf("%q %q", got.summary, got.body)
		}
	})
}
