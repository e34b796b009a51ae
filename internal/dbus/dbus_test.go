package dbus

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	wire "github.com/godbus/dbus/v5"
	"pgregory.net/rapid"
)

// reply writes an answer as a bus sends it.
func reply(sender string, serial uint32, body ...any) []byte {
	m := wire.Message{Type: wire.TypeMethodReply, Body: body, Headers: map[wire.HeaderField]wire.Variant{
		wire.FieldSender:      wire.MakeVariant(sender),
		wire.FieldReplySerial: wire.MakeVariant(serial),
	}}
	if len(body) > 0 {
		m.Headers[wire.FieldSignature] = wire.MakeVariant(wire.SignatureOf(body...))
	}
	var b bytes.Buffer
	if err := m.EncodeTo(&b, binary.LittleEndian); err != nil {
		panic(err)
	}
	binary.LittleEndian.PutUint32(b.Bytes()[8:], 1)
	return b.Bytes()
}

// FuzzFrame: whatever a bus sends, reading it ends, takes no memory that it did
// not send, and decoding it does not end the program.
func FuzzFrame(f *testing.F) {
	type pair struct {
		Bus  string
		Path wire.ObjectPath
	}
	const items = "a((so)(so)(so)iiassusau)"
	f.Add(reply(":1.5", 7, "text"), "s")
	f.Add(reply(":1.5", 7, wire.MakeVariant("text")), "v")
	f.Add(reply(":1.5", 7, []pair{{":1.5", "/a"}}), "a(so)")
	f.Add(reply(":1.5", 7, []uint32{1, 2}), "au")
	f.Add(reply(":1.5", 7, uint32(7)), "u")
	f.Add(reply(":1.5", 7, []struct {
		R, A, P pair
		I, N    int32
		F       []string
		Name    string
		Role    uint32
		D       string
		S       []uint32
	}{{R: pair{":1.5", "/a"}, A: pair{":1.5", "/a"}, P: pair{":1.5", "/a"}, S: []uint32{1, 2}}}), items)
	f.Add([]byte("l\x02\x00\x01\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00"), "")
	f.Add([]byte("l\x02\x00\x01\x04\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00"), "u")
	f.Add([]byte("B\x03\x00\x01\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x07"), "u")
	f.Add([]byte("l\x02\x00\x01\xff\xff\xff\xff\x01\x00\x00\x00\xff\xff\xff\xff"), "u")
	f.Fuzz(func(t *testing.T, b []byte, sig string) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			m, err := readFrame(r)
			if errors.Is(err, errFrame) {
				continue
			}
			if err != nil {
				return
			}
			for _, want := range []string{sig, m.signature, items} {
				_, _ = m.values(want, "s")
			}
		}
	})
}

func FuzzAddress(f *testing.F) {
	for _, s := range []string{
		"unix:path=/run/user/0/at-spi/bus,guid=5a85", "unix:abstract=/tmp/x", "unix:guid=1,path=/a%20b", "tcp:host=a;unix:path=/x",
		"unix:path=/a/../b", "unix:path=a", "unix:path=/a%", "unix:path=/a%zz", "",
	} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, s string, abstract bool) {
		p, err := Socket(s, abstract)
		if err == nil && (!strings.HasPrefix(p, "/") && !(abstract && strings.HasPrefix(p, "@")) || strings.Contains(p, "\x00")) {
			t.Errorf("%q gives the socket %q", s, p)
		}
	})
}

func TestAddressesAreEscapedAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := "/" + rapid.StringMatching(`[^/\x00.][^/\x00]{0,20}`).Draw(t, "name")
		if got, err := Socket("unix:path="+EscapeAddress(p)+",guid=1", false); err != nil || got != p {
			t.Errorf("%q comes back as %q, %v", p, got, err)
		}
	})
}

func TestClipping(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		n := rapid.IntRange(0, 40).Draw(t, "n")
		got := Clip(s, n)
		if !utf8.ValidString(got) || len(got) > 3*n+len("…") {
			t.Errorf("%q in %d bytes is %q", s, n, got)
		}
	})
}
