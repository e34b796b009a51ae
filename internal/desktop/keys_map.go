package desktop

import (
	"encoding/binary"
	"fmt"
	"slices"

	"carrel/internal/keysym"

	"github.com/jezek/xgb/xproto"
)

// keymap is what the server's keys show, and which of them may show something
// else.
//
// Text has characters that no key shows. They are given to keys that are free,
// for a time. Clients ask for the map when they are told of a change, and take
// it as it is then: one that is behind reads an old key press with the new map.
// So a free key keeps its character until another needs it, least recently
// used first, and it is not given away before the clients have read what was
// typed with it (settle).
type keymap struct {
	first  byte
	per    int // keysyms of a key
	syms   []keysym.Sym
	at     map[keysym.Sym]spot
	spare  []byte          // keys that may be given away, least recently used first
	mods   map[byte]uint16 // what the modifier keys do, as a mask
	caps   byte            // Caps Lock's key
	shift  byte            // Shift's
	unread map[byte]bool   // spare keys that were pressed since the last settling
}

// spot is how a keysym is typed.
type spot struct {
	code  byte
	shift bool
}

// harmless are XF86 keys that may be given away too, as no toolkit and no
// browser does anything on their position alone. (A browser goes back when the
// Back key is pressed, whatever character it shows.)
var harmless = []byte{155, 159, 161, 162, 177, 191, 192, 193, 194, 195, 196, 212, 220, 224, 227, 228, 229, 236, 237, 238, 244, 245, 246, 247, 249, 250, 251, 252, 253, 254, 255}

// learnKeys reads the map from the server. It is asked each time: programs
// inside, and a viewer, may change it too. What is known of the spare keys stays.
func (d *inputDevice) learnKeys(old *keymap) (*keymap, error) {
	first, last := byte(d.setup.MinKeycode), byte(d.setup.MaxKeycode)
	if first < 8 || last < first {
		return nil, fmt.Errorf("asking for the keys: the X server has none, or from %d to %d", first, last)
	}
	keys := d.ask(getKeyboardMapping(first, last-first+1))
	mods := d.ask([]byte{119, 0, 1, 0}) // GetModifierMapping
	k := &keymap{first: first, at: make(map[keysym.Sym]spot), mods: make(map[byte]uint16), unread: make(map[byte]bool)}
	b, err := keys.Reply()
	if err != nil {
		return nil, fmt.Errorf("asking for the keys: %w", err)
	}
	if err := k.readSyms(b, int(last-first)+1); err != nil {
		return nil, err
	}
	if b, err = mods.Reply(); err != nil {
		return nil, fmt.Errorf("asking for the modifiers: %w", err)
	}
	if err := k.readModifiers(b); err != nil {
		return nil, err
	}
	k.findSpare(old)
	k.index()
	return k, nil
}

func getKeyboardMapping(first, count byte) []byte { return []byte{101, 0, 2, 0, first, count, 0, 0} }

// readSyms reads the reply to GetKeyboardMapping.
func (k *keymap) readSyms(b []byte, count int) error {
	k.per = int(b[1])
	if len(b) < 32+4*count*k.per || k.per == 0 {
		return fmt.Errorf("asking for the keys: %d keys with %d keysyms each in %d bytes", count, k.per, len(b))
	}
	k.syms = make([]keysym.Sym, count*k.per)
	for i := range k.syms {
		k.syms[i] = keysym.Sym(binary.LittleEndian.Uint32(b[32+4*i:]))
	}
	return nil
}

// readModifiers reads the reply to GetModifierMapping: eight lists of keys.
func (k *keymap) readModifiers(b []byte) error {
	n := int(b[1])
	if len(b) < 32+8*n {
		return fmt.Errorf("asking for the modifiers: 8 times %d keys in %d bytes", n, len(b))
	}
	for i, code := range b[32 : 32+8*n] {
		if code >= k.first {
			k.mods[code] |= 1 << (i / n)
		}
	}
	return nil
}

// of gives the keysyms of a key.
func (k *keymap) of(code byte) []keysym.Sym {
	i := int(code-k.first) * k.per
	return k.syms[i : i+k.per]
}

func (k *keymap) codes(f func(code byte)) {
	for i := range len(k.syms) / k.per {
		f(k.first + byte(i))
	}
}

// isSpare says whether a key may be given away: it shows nothing, or what we
// gave it, maybe in an earlier life: one character on both levels, as no
// layout has it.
func (k *keymap) isSpare(code byte) bool {
	if k.mods[code] != 0 {
		return false
	}
	syms := k.of(code)
	if slices.Max(syms) == 0 {
		return true
	}
	if min := slices.Min(syms[:min(2, len(syms))]); min == syms[0] && min >= 0x21 && (min <= 0xff || min >= keysym.Unicode && min < 0x02000000) {
		return k.per > 1 && syms[1] == syms[0]
	}
	vendor := func(s keysym.Sym) bool { return s == 0 || s>>16 == 0x1008 }
	return slices.Contains(harmless, code) && !slices.ContainsFunc(syms, func(s keysym.Sym) bool { return !vendor(s) })
}

// findSpare keeps the order in which the spare keys of the old map were used,
// and what clients have not read yet.
func (k *keymap) findSpare(old *keymap) {
	k.codes(func(code byte) {
		if k.isSpare(code) {
			k.spare = append(k.spare, code)
		}
	})
	if old == nil {
		// A new connection does not know what an earlier one has typed.
		for _, code := range k.spare {
			k.unread[code] = slices.Max(k.of(code)) != 0
		}
		return
	}
	rank := make(map[byte]int)
	for i, code := range old.spare {
		rank[code] = i
	}
	slices.SortStableFunc(k.spare, func(a, b byte) int { return rank[a] - rank[b] })
	k.unread = old.unread
}

// index finds out how each keysym is typed: without Shift if possible, on the
// key with the lowest number. Vendors' keysyms count on their own keys only.
func (k *keymap) index() {
	clear(k.at)
	k.shift, k.caps = 0, 0
	for level := range min(2, k.per) {
		k.codes(func(code byte) {
			sym := k.of(code)[level]
			if _, there := k.at[sym]; !there && sym != 0 {
				k.at[sym] = spot{code, level == 1}
			}
		})
	}
	// A key with one letter shows the capital too.
	k.codes(func(code byte) {
		s := k.of(code)
		if s[0] >= 'a' && s[0] <= 'z' && (k.per == 1 || s[1] == 0) {
			if _, there := k.at[s[0]-32]; !there {
				k.at[s[0]-32] = spot{code, true}
			}
		}
	})
	k.shift, k.caps = k.at[keysym.Shift].code, k.at[keysym.CapsLock].code
}

// missing gives those of the keysyms that no key shows, each once.
func (k *keymap) missing(syms []keysym.Sym) []keysym.Sym {
	var out []keysym.Sym
	for _, sym := range syms {
		if _, ok := k.at[sym]; !ok && !slices.Contains(out, sym) {
			out = append(out, sym)
		}
	}
	return out
}

// used moves a spare key to the end of the order.
func (k *keymap) used(code byte) {
	if i := slices.Index(k.spare, code); i >= 0 {
		k.spare = append(slices.Delete(k.spare, i, i+1), code)
		k.unread[code] = true
	}
}

// choose picks spare keys for the missing ones of some keysyms: none that
// shows one of them, the least recently used first. It says whether one of the
// keys was pressed and may be unread.
func (k *keymap) choose(syms, missing []keysym.Sym) (codes []byte, unread bool) {
	for _, code := range k.spare {
		if len(codes) == len(missing) {
			break
		}
		if s := k.of(code)[0]; s != 0 && slices.Contains(syms, s) {
			continue
		}
		codes = append(codes, code)
		unread = unread || k.unread[code]
	}
	slices.Sort(codes)
	return codes, unread
}

// give lets keys show characters. Each request makes every client ask for the
// whole map, so keys between two of them are written along as they are, if
// nothing of theirs can be lost. Both levels of a key show the same: neither
// Shift nor Caps Lock makes a difference.
func (d *inputDevice) give(k *keymap, codes []byte, syms []keysym.Sym) {
	for i, code := range codes {
		s := k.of(code)
		clear(s)
		s[0] = syms[i]
		if k.per > 1 {
			s[1] = syms[i]
		}
	}
	for i := 0; i < len(codes); {
		last := i
		for last+1 < len(codes) && k.plainBetween(codes[last], codes[last+1]) {
			last++
		}
		var list []xproto.Keysym
		for code := int(codes[i]); code <= int(codes[last]); code++ {
			s := k.of(byte(code))
			list = append(list, xproto.Keysym(s[0]), xproto.Keysym(s[min(1, k.per-1)]))
		}
		xproto.ChangeKeyboardMapping(d.x, byte(len(list)/2), xproto.Keycode(codes[i]), 2, list)
		i = last + 1
	}
	k.index()
}

// plainBetween says whether the keys between two others do no more than to
// show at most one keysym.
func (k *keymap) plainBetween(a, b byte) bool {
	for code := a + 1; code < b; code++ {
		s := k.of(code)
		other := func(x keysym.Sym) bool { return x != 0 && x != s[0] }
		if k.mods[code] != 0 || slices.ContainsFunc(s, other) {
			return false
		}
	}
	return true
}
