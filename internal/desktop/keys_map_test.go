package desktop

import (
	"testing"

	"carrel/internal/keysym"
)

// FuzzKeymap reads what a server says of its keys.
func FuzzKeymap(f *testing.F) {
	reply := func(n byte, body ...byte) []byte {
		return append(append([]byte{1, n}, make([]byte, 30)...), body...)
	}
	f.Add(reply(2, 'a', 0, 0, 0, 'A', 0, 0, 0, 0xe1, 0xff, 0, 0, 0, 0, 0, 0), reply(1, 9, 0, 0, 0, 0, 0, 0, 0))
	f.Add(reply(255), reply(255))
	f.Add(reply(0), reply(0))
	f.Fuzz(func(t *testing.T, syms, mods []byte) {
		if len(syms) < 32 || len(mods) < 32 {
			return // the connection has no shorter ones
		}
		const first, count = 8, 2
		k := &keymap{first: first, at: make(map[keysym.Sym]spot), mods: make(map[byte]uint16), unread: make(map[byte]bool)}
		if k.readSyms(syms, count) != nil || k.readModifiers(mods) != nil {
			return
		}
		k.findSpare(nil)
		k.index()
		k.findSpare(k)
		k.plainBetween(first, first+count-1)
		for sym, at := range k.at {
			if at.code < first || at.code >= first+count || sym == 0 {
				t.Fatalf("keysym %#x is on key %d", sym, at.code)
			}
		}
		if n := k.reach([]keysym.Sym{'x', 'y', 'z', 'x'}); n > 4 {
			t.Fatalf("%d of 4 keysyms can be typed at once", n)
		}
	})
}
