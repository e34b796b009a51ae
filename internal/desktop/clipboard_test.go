package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

func (s *server) clipboard(t testing.TB) *Clipboard {
	t.Helper()
	c, err := OpenClipboard(t.Context(), s.dial, s.cookie)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// big is more than a property takes at once.
func big(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>11)
	}
	return b
}

func TestClipboardOut(t *testing.T) {
	s := xvfb(t)
	c := s.clipboard(t)
	long := strings.Repeat("Zwei MiB äöü ", 2<<20/16)
	for _, text := range []string{"--help Zürich 你好 🎉\n", "", "x", long} {
		for selection, tools := range map[Selection][][]string{
			Copied: {{"xclip", "-o", "-selection", "clipboard"}, {"xclip", "-o", "-selection", "clipboard", "-t", "UTF8_STRING"}, {"xsel", "-b", "-o"}},
			Marked: {{"xclip", "-o"}, {"xsel", "-p", "-o"}},
		} {
			if err := c.Set(t.Context(), selection, TextContent(text)); err != nil {
				t.Fatal(err)
			}
			for _, tool := range tools {
				if got := s.tool(t, tool[0], tool[1:]...); got != text {
					t.Errorf("%v: %d bytes, %.60q, want %d, %.60q", tool, len(got), got, len(text), text)
				}
			}
			if got, err := c.Text(t.Context(), selection); err != nil || got != text {
				t.Errorf("read by itself: %d bytes, %.60q, %v, want %d", len(got), got, err, len(text))
			}
		}
	}
	picture := big(2 << 20)
	if err := c.Set(t.Context(), Copied, Content{"image/png": picture}); err != nil {
		t.Fatal(err)
	}
	if got := s.tool(t, "xclip", "-o", "-selection", "clipboard", "-t", "image/png"); got != string(picture) {
		t.Errorf("xclip gets %d bytes of a picture of %d", len(got), len(picture))
	}
	if got := strings.Fields(s.tool(t, "xclip", "-o", "-selection", "clipboard", "-t", "TARGETS")); !slices.Contains(got, "image/png") || len(got) != 4 {
		t.Errorf("xclip sees the formats %q", got)
	}
	if !c.Owns(Copied) {
		t.Error("nobody else has set anything")
	}
}

func TestClipboardIn(t *testing.T) {
	s := xvfb(t)
	c := s.clipboard(t)
	if _, err := c.Text(t.Context(), Copied); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty clipboard: %v", err)
	}
	set := func(input []byte, name string, args ...string) {
		t.Helper()
		cmd := s.command(t, name, args...)
		cmd.Stdin = bytes.NewReader(input)
		if err := cmd.Run(); err != nil {
			t.Fatal(name, err)
		}
	}
	for _, n := range []int{1, 1000, 2 << 20} {
		text := strings.Repeat("Zürich 你好 🎉\n", n/20+1)
		for _, tool := range [][]string{{"xclip", "-selection", "clipboard"}, {"xsel", "-b", "-i"}} {
			set([]byte(text), tool[0], tool[1:]...)
			// The tools take the selection when they have gone to the background.
			eventually(t, tool[0], func() error {
				got, err := c.Text(t.Context(), Copied)
				if err == nil && got != text {
					err = fmt.Errorf("%d bytes, %.60q, want %d", len(got), got, len(text))
				}
				return err
			})
		}
	}
	set(big(3<<20), "xclip", "-selection", "clipboard", "-t", "image/png")
	eventually(t, "formats", func() error {
		got, err := c.Targets(t.Context(), Copied)
		if err == nil && !slices.Contains(got, "image/png") {
			err = fmt.Errorf("they are %q", got)
		}
		return err
	})
	if got, err := c.Data(t.Context(), Copied, "image/png"); err != nil || !bytes.Equal(got, big(3<<20)) {
		t.Errorf("a picture: %d bytes, %v", len(got), err)
	}
	if got, err := c.Text(t.Context(), Copied); err == nil {
		t.Errorf("a picture is no text: %.60q", got)
	}
	if err := c.Set(t.Context(), Marked, TextContent("ours")); err != nil {
		t.Fatal(err)
	}
	set([]byte("theirs"), "xsel", "-p", "-i")
	eventually(t, "losing the selection", func() error {
		if c.Owns(Marked) {
			return errors.New("still ours")
		}
		return nil
	})
	if err := c.Set(t.Context(), Copied, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Text(t.Context(), Copied); !errors.Is(err, ErrEmpty) {
		t.Errorf("emptied: %v", err)
	}
}

// TestClipboardOwnerIsSilent has an owner that never answers, and one that
// goes away.
func TestClipboardOwnerIsSilent(t *testing.T) {
	s := xvfb(t)
	c, silent := s.clipboard(t), s.open(t)
	w, err := (&Clipboard{d: silent.display}).newWindow()
	if err != nil {
		t.Fatal(err)
	}
	xproto.SetSelectionOwner(silent.x, w, c.atom["CLIPBOARD"], 0)
	silent.roundTrip()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := c.Data(ctx, Copied, "image/png"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an owner that says nothing: %v", err)
	}
	silent.Close()
	if _, err := c.Text(t.Context(), Copied); !errors.Is(err, ErrEmpty) {
		t.Errorf("an owner that went away: %v", err)
	}
	if err := c.Set(t.Context(), Copied, Content{"x": make([]byte, MaxClipboard+1)}); err == nil {
		t.Error("more than the clipboard holds is taken")
	}
	if err := c.Set(t.Context(), "SECONDARY", nil); err == nil {
		t.Error("a selection that is none is taken")
	}
}

// TestClipboardFlood has a client that asks without end: others still get
// answers afterwards.
func TestClipboardFlood(t *testing.T) {
	s := xvfb(t)
	c, rude := s.clipboard(t), s.open(t)
	if err := c.Set(t.Context(), Copied, TextContent(strings.Repeat("0123456789abcdef", 1<<16))); err != nil {
		t.Fatal(err)
	}
	w, err := (&Clipboard{d: rude.display}).newWindow()
	if err != nil {
		t.Fatal(err)
	}
	atoms, err := rude.internAll([]string{"UTF8_STRING", "A"})
	if err != nil {
		t.Fatal(err)
	}
	for range 20000 {
		xproto.ConvertSelection(rude.x, w, c.atom["CLIPBOARD"], atoms["UTF8_STRING"], atoms["A"], 0)
	}
	rude.roundTrip()
	eventually(t, "an answer after a flood", func() error {
		got, err := c.Text(t.Context(), Copied)
		if err == nil && len(got) < 1<<20 {
			err = errors.New("too short")
		}
		return err
	})
}

func FuzzToLatin1(f *testing.F) {
	f.Add("Zürich")
	f.Add("你\xff")
	f.Fuzz(func(t *testing.T, text string) {
		if b, ok := toLatin1(text); ok && fromLatin1(b) != text {
			t.Errorf("%q becomes %q", text, fromLatin1(b))
		}
	})
}
