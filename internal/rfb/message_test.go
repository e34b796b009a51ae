package rfb

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var usualFormat = []byte{setPixelFormat, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0}

func with(b []byte, at int, to ...byte) []byte {
	b = bytes.Clone(b)
	copy(b[at:], to)
	return b
}

func TestMessages(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		kind kind
		out  []byte
		err  string
	}{
		{"format", usualFormat, passes, usualFormat, ""},
		{"of 16 bits", with(usualFormat, 4, 16, 16, 0, 1, 0, 31, 0, 63, 0, 31, 11, 5, 0), passes, with(usualFormat, 4, 16, 16, 0, 1, 0, 31, 0, 63, 0, 31, 11, 5, 0), ""},
		{"of 24 bits", with(usualFormat, 4, 24), 0, nil, "24 bits"},
		{"with depth 0", with(usualFormat, 5, 0), 0, nil, "depth 0"},
		{"beyond its bits", with(usualFormat, 14, 31), 0, nil, "at bit 31"},
		{"with a hole", with(usualFormat, 8, 0, 5), 0, nil, "up to 5"},
		{"colours by a map", with(usualFormat, 4, 8, 8, 0, 0), passes, with(usualFormat, 4, 8, 8, 0, 0), ""},
		{"update", wanted, passes, wanted, ""},
		{"update of another kind", with(wanted, 1, 7), 0, nil, "incremental 7"},
		{"key", key(0xff0d, true), acts, key(0xff0d, true), ""},
		{"key half down", with(key(1, true), 1, 2), 0, nil, "down 2"},
		{"pointer", pointer(5, 10, 20), acts, pointer(5, 10, 20), ""},
		{"encodings", encodings(7, 16, -239, -312, -308, -1063131698, 1, -258), passes, encodings(7, 16, -239, 1), ""},
		{"no encodings", encodings(), passes, encodings(), ""},
		{"too many encodings", []byte{setEncodings, 0, 0xff, 0xff}, 0, nil, "65535 encodings"},
		{"cut text", append([]byte{cutText, 0, 0, 0, 0, 0, 0, 3}, "abc"...), dropped, nil, ""},
		{"extended cut text", append([]byte{cutText, 0, 0, 0, 0xff, 0xff, 0xff, 0xfd}, "abc"...), dropped, nil, ""},
		{"endless cut text", []byte{cutText, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, 0, nil, "2147483647 bytes"},
		{"the least number", []byte{cutText, 0, 0, 0, 0x80, 0, 0, 0}, 0, nil, "2147483648 bytes"},
		{"fence", append([]byte{fence, 0, 0, 0, 0, 0, 0, 0, 2}, "ab"...), dropped, nil, ""},
		{"a long fence", []byte{fence, 0, 0, 0, 0, 0, 0, 0, 65}, 0, nil, "65 bytes"},
		{"continuous updates", []byte{continuousUpdate, 1, 0, 0, 0, 0, 1, 1, 1, 1}, dropped, nil, ""},
		{"another size", append([]byte{setDesktopSize, 0, 4, 0, 3, 0, 1, 0}, make([]byte, 16)...), dropped, nil, ""},
		{"file transfer", []byte{7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 0, nil, "type 7"},
		{"keys of QEMU", []byte{255, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 0, nil, "type 255"},
		{"power off", []byte{250, 0, 1, 2}, 0, nil, "type 250"},
	} {
		r := bufio.NewReader(io.MultiReader(bytes.NewReader(c.in), strings.NewReader("!")))
		m, err := readMessage(r)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || m.kind != c.kind || !bytes.Equal(m.data, c.out) {
			t.Errorf("%s: %v %x, %v; want %v %x", c.name, m.kind, m.data, err, c.kind, c.out)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "!" {
			t.Errorf("%s: %q is left", c.name, rest)
		}
	}
}

// TestMessagesCut: whatever is cut short is an error, and one that tells of the end.
func TestMessagesCut(t *testing.T) {
	for _, whole := range [][]byte{usualFormat, wanted, key(1, true), pointer(0, 1, 1), encodings(1, 2, 7), append([]byte{cutText, 0, 0, 0, 0, 0, 0, 3}, "abc"...)} {
		for n := range len(whole) {
			if _, err := readMessage(bufio.NewReader(bytes.NewReader(whole[:n]))); wrong(err) != nil || err == nil {
				t.Errorf("%x: %v", whole[:n], err)
			}
		}
	}
}

// TestMessagesInRow: a row of messages is read as they were written, and nothing that
// acts is taken for something else.
func TestMessagesInRow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var in, want []byte
		for range rapid.IntRange(0, 30).Draw(t, "messages") {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				m := key(rapid.Uint32().Draw(t, "sym"), rapid.Bool().Draw(t, "down"))
				in, want = append(in, m...), append(want, m...)
			case 1:
				m := pointer(rapid.Byte().Draw(t, "buttons"), rapid.Uint16().Draw(t, "x"), rapid.Uint16().Draw(t, "y"))
				in, want = append(in, m...), append(want, m...)
			case 2:
				in = append(in, encodings(rapid.SliceOfN(rapid.Int32(), 0, 20).Draw(t, "encodings")...)...)
			case 3:
				text := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "text")
				in = append(append(in, cutText, 0, 0, 0, 0, 0, byte(len(text)>>8), byte(len(text))), text...)
			case 4:
				in = append(in, wanted...)
			}
		}
		r := bufio.NewReader(bytes.NewReader(in))
		var got []byte
		for {
			m, err := readMessage(r)
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.kind == acts {
				got = append(got, m.data...)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("acts %x, want %x", got, want)
		}
	})
}

// FuzzReadMessage: what a viewer sends never takes more than it sent, and what goes on
// is one of the messages that are known, of its length.
func FuzzReadMessage(f *testing.F) {
	for _, seed := range [][]byte{usualFormat, wanted, key(0x61, true), pointer(1, 5, 5), encodings(0, 7, -312), {cutText, 0, 0, 0, 0x80, 0, 0, 0}, {fence, 0, 0, 0, 0, 0, 0, 0, 0}, {setDesktopSize, 0, 1, 1, 1, 1, 0, 0}, {255}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		for {
			m, err := readMessage(r)
			if err != nil {
				return
			}
			if m.kind == dropped {
				continue
			}
			switch m.data[0] {
			case setPixelFormat, updateRequest, keyEvent, pointerEvent:
				if len(m.data) != sizes[m.data[0]] || (m.kind == acts) != (m.data[0] == keyEvent || m.data[0] == pointerEvent) {
					t.Fatalf("%v %x", m.kind, m.data)
				}
			case setEncodings:
				again, err := readMessage(bufio.NewReader(bytes.NewReader(m.data)))
				if err != nil || !bytes.Equal(again.data, m.data) || m.kind != passes {
					t.Fatalf("%x, and again %x, %v", m.data, again.data, err)
				}
			default:
				t.Fatalf("%x goes on", m.data)
			}
		}
	})
}
