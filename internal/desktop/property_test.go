package desktop

import (
	"encoding/binary"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/picture"

	"carrel/internal/desktop/ctext"
)

func reply(width byte, n uint32, value string) []byte {
	b := make([]byte, 32)
	b[0], b[1] = 1, width
	binary.LittleEndian.PutUint32(b[8:], 31)
	binary.LittleEndian.PutUint32(b[16:], n)
	return append(b, value...)
}

func FuzzProperty(f *testing.F) {
	f.Add(reply(8, 5, "hello"))
	f.Add(reply(32, 1<<30, "hello"))
	f.Add(reply(0, 0, ""))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readProperty(b)
		if err != nil {
			return
		}
		if len(p.value) > len(b) {
			t.Fatal("more than there was")
		}
		p.numbers()
		if s := line(p.value); !utf8.ValidString(s) || len(s) > 2*maxText || strings.ContainsAny(s, "\n\x1b\x00") {
			t.Fatalf("text %q", s)
		}
	})
}

func FuzzCompound(f *testing.F) {
	for _, s := range []string{"Z\xfcrich \x1b$(ADc\x1b$(B9%", "\x1b%G你好\x1b%@ da", "\x1b", "\x1b$(", "\x1b-Fabc\xe1"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := line([]byte(ctext.Decode(b))); !utf8.ValidString(s) || strings.Contains(s, "\x1b") {
			t.Fatalf("%q gives %q", b, s)
		}
	})
}

func TestCompound(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"Z\xfcrich":                         "Zürich",
		"\xfc \x1b$(ADc\x1b$(B9%\x1b(B end": "ü ?? end",
		"\x1b%G你好\x1b%@ da":                 "你好 da",
		"\x1b-Fab\xe1":                      "ab?",
	} {
		if got := ctext.Decode([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzCursor(f *testing.F) {
	b := make([]byte, 32+4*4)
	b[12], b[14], b[8], b[10] = 2, 2, 3, 3
	f.Add(b)
	f.Add(make([]byte, 31))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := readCursor(b)
		if err != nil {
			return
		}
		fr := picture.Frame{W: 8, H: 8, Pix: make([]byte, 8*8*4)}
		c.over(fr, image.Rect(0, 0, 8, 8))
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"Zürich 你好":                     "Zürich 你好",
		"caf\xe9":                       "café",
		"a\x1b[31mb\nc":                 "a [31mb c",
		"  x ":                          "x",
		strings.Repeat("é", 2000):       strings.Repeat("é", 512),
		strings.Repeat("a", 1023) + "é": strings.Repeat("a", 1023),
	} {
		if got := line([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestPropertiesAreReadHere: the library makes room for as many bytes as a reply
// announces, which may be more than there is memory, and that is no panic.
func TestPropertiesAreReadHere(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(file, "_test.go") && strings.Contains(string(text), "xproto.GetProperty(") {
			t.Errorf("%s reads a property by the library", file)
		}
	}
}
