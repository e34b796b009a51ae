package desktop

import (
	"context"
	"fmt"
	"image"
	"slices"
	"strings"
	"unicode/utf8"

	"carrel/internal/keysym"
)

// Text types a text, whatever characters it has. A newline is Return, a tab is
// Tab; other control characters have no key and are an error, as are bytes
// that are not UTF-8. A program may do something of its own with what is
// typed: complete, indent, or send at Return.
type Text struct{ Text string }

// MaxText bounds the text of one step, in bytes.
const MaxText = 1 << 20

func (t Text) check(image.Point) error {
	if len(t.Text) > MaxText {
		return fmt.Errorf("a text of %d bytes: at most %d are typed at once", len(t.Text), MaxText)
	}
	_, err := t.keysyms()
	return err
}

func (t Text) keysyms() ([]keysym.Sym, error) {
	if i := invalidAt(t.Text); i >= 0 {
		return nil, fmt.Errorf("a text that is not UTF-8, at byte %d", i)
	}
	text := strings.ReplaceAll(t.Text, "\r\n", "\n")
	out := make([]keysym.Sym, 0, len(text))
	for i, r := range text {
		sym, ok := keysym.OfRune(r)
		if !ok {
			return nil, fmt.Errorf("a text with the control character %U at byte %d: no key types it; keys as Escape go by name", r, i)
		}
		out = append(out, sym)
	}
	return out, nil
}

func invalidAt(s string) int {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// stretch is how many characters are sent before the server is waited for.
const stretch = 1000

func (t Text) run(ctx context.Context, s *hands) error {
	syms, err := t.keysyms()
	if err != nil {
		return err
	}
	if err := s.d.do(ctx, "looking at the keyboard", func() error { return firstError(s.ready(), s.mute()) }); err != nil {
		return err
	}
	for len(syms) > 0 {
		n := s.d.keys.reach(syms[:min(len(syms), stretch)])
		if n == 0 {
			return fmt.Errorf("the keyboard of this X server has no free key for the character %U", rune(syms[0]&^keysym.Unicode))
		}
		if err := s.show(ctx, syms[:n]); err != nil {
			return err
		}
		if err := s.act(ctx, "typing", func() error { return s.strikeAll(ctx, syms[:n]) }); err != nil {
			return err
		}
		syms = syms[n:]
	}
	return nil
}

// reach is how many of the keysyms can be on keys at the same time.
func (k *keymap) reach(syms []keysym.Sym) int {
	here := make(map[keysym.Sym]bool)
	for i, sym := range syms {
		at, there := k.at[sym]
		if there && !slices.Contains(k.spare, at.code) || here[sym] {
			continue
		}
		if len(here) == len(k.spare) {
			return i
		}
		here[sym] = true
	}
	return len(syms)
}

// show sees to it that there is a key for each of the keysyms.
func (s *hands) show(ctx context.Context, syms []keysym.Sym) error {
	k := s.d.keys
	missing := k.missing(syms)
	if len(missing) == 0 {
		return nil
	}
	codes, unread := k.choose(syms, missing)
	if len(codes) < len(missing) {
		return fmt.Errorf("the keyboard of this X server has %d free keys; %d characters need one", len(k.spare), len(missing))
	}
	if unread {
		if err := s.d.settle(ctx); err != nil {
			return err
		}
		clear(k.unread)
	}
	return s.act(ctx, "giving characters to free keys", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			s.d.give(k, codes, missing)
		}
		return nil
	})
}

// strikeAll types keysyms that have keys. Shift stays down for neighbours that
// need it.
func (s *hands) strikeAll(ctx context.Context, syms []keysym.Sym) error {
	k := s.d.keys
	shifted := false
	for _, sym := range syms {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		at := k.at[sym]
		if at.shift != shifted {
			kind := byte(keyRelease)
			if shifted = at.shift; shifted {
				kind = keyPress
			}
			s.fake(kind, k.shift, image.Point{})
		}
		s.mu.Lock()
		if !s.ended {
			s.strike(at.code)
			k.used(at.code)
		}
		s.mu.Unlock()
	}
	if shifted {
		s.fake(keyRelease, k.shift, image.Point{})
	}
	return nil
}
