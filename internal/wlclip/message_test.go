package wlclip

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestMessages: what is built is read back, however it is cut.
func TestMessages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object, opcode := rapid.Uint32().Draw(t, "object"), rapid.Uint16().Draw(t, "opcode")
		number := rapid.Uint32().Draw(t, "number")
		text := rapid.StringMatching(`[a-z/;=-]{0,200}`).Draw(t, "text")
		b := request(object, opcode, number, text, number)
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		if _, rest, ok, err := next(b[:cut]); ok || err != nil || len(rest) != cut {
			t.Fatalf("a part of it: %v, %v", ok, err)
		}
		m, rest, ok, err := next(append(b, 1, 2, 3))
		if !ok || err != nil || !bytes.Equal(rest, []byte{1, 2, 3}) || m.object != object || m.opcode != opcode {
			t.Fatalf("%+v %v %v", m, ok, err)
		}
		a := &args{b: m.args}
		if one, two, three := a.uint(), a.text(), a.uint(); one != number || two != text || three != number || a.err != nil || len(a.b) != 0 {
			t.Fatalf("%d %q %d, %v", one, two, three, a.err)
		}
		if a.uint(); a.err == nil {
			t.Fatal("a number after the end")
		}
	})
}

func FuzzMessage(f *testing.F) {
	f.Add(request(1, 0, uint32(7), "wl_seat", uint32(1)))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 8, 0})
	f.Add([]byte{1, 0, 0, 0, 0, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			m, rest, ok, err := next(b)
			if !ok || err != nil {
				return
			}
			if len(rest) >= len(b) {
				t.Fatal("it does not end")
			}
			a := &args{b: m.args}
			for a.err == nil {
				if a.text(); a.err != nil {
					break
				}
				a.uint()
			}
			b = rest
		}
	})
}
