package xfilter

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// bare is a connection without anybody at its ends: what the deciding takes.
func bare(o order, active bool) *conn {
	f := New(Config{})
	f.active.Store(active)
	end, _ := net.Pipe() // closed by what ends a connection
	c := &conn{filter: f, inside: end, order: o, root: 0x50d, facts: &facts{events: map[string]byte{"XKEYBOARD": 85, "XInputExtension": 66}, bigOp: 133, inputOp: 131, vncAtoms: []uint32{300, 301}}}
	c.client = Client{Base: 0x400000, Mask: 0x1fffff}
	f.byBase[0x400000], f.mask = c, 0x1fffff
	f.byBase[0x600000] = &conn{}
	for op, name := range map[byte]string{129: "SHAPE", 131: "XInputExtension", 132: "XTEST", 133: "BIG-REQUESTS", 134: "SYNC", 135: "XKEYBOARD", 140: "RANDR", 142: "Composite"} {
		c.facts.ext[op-128] = extensions[name]
	}
	c.requests = requests{order: o, rule: c.rule, decide: c.decide, bigOp: c.facts.bigOp}
	return c
}

// walk gives a stream to the requests in pieces and collects what goes on.
func walk(c *conn, stream []byte, cuts []int) ([]byte, error) {
	var out, buf []byte
	last := 0
	for _, cut := range append(slices.Clone(cuts), len(stream)) {
		buf = append(buf, stream[last:cut]...)
		last = cut
		n, err := c.requests.pass(buf)
		out = append(out, buf[:n]...)
		buf = slices.Clone(buf[n:])
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// drawCuts draws where a stream of n bytes is cut.
func drawCuts(t *rapid.T, n int) []int {
	cuts := rapid.SliceOfN(rapid.IntRange(0, n), 0, 20).Draw(t, "cuts")
	slices.Sort(cuts)
	return cuts
}

// drawRequests draws a stream of requests of all kinds, most of them well-formed.
func drawRequests(t *rapid.T, o order) []byte {
	var s []byte
	majors := []byte{0, 1, 2, 4, 7, 16, 18, 24, 25, 31, 36, 39, 41, 42, 44, 98, 112, 113, 114, 115, 127, 129, 131, 132, 133, 134, 135, 140, 142, 200}
	for range rapid.IntRange(1, 30).Draw(t, "requests") {
		major := rapid.SampledFrom(majors).Draw(t, "major")
		minor := byte(rapid.IntRange(0, 60).Draw(t, "minor"))
		words := rapid.IntRange(1, 40).Draw(t, "words")
		if major == 133 {
			minor, words = 0, 1
		}
		b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 4, 0x40, 0x60, 'V', 'N', 'C', 255}), 4*words, 4*words).Draw(t, "bytes")
		b[0], b[1] = major, minor
		o.put16(b[2:], uint16(words))
		if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
			o.put16(b[2:], 0)
			long := make([]byte, 4)
			o.put32(long, uint32(words+1))
			b = slices.Insert(b, 4, long...)
		}
		s = append(s, b...)
	}
	return s
}

// TestAnyCutDecidesTheSame: how a stream is cut into reads changes nothing.
func TestAnyCutDecidesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, active := order(rapid.Bool().Draw(t, "big endian")), rapid.Bool().Draw(t, "active")
		stream := drawRequests(t, o)
		a, b := bare(o, active), bare(o, active)
		whole, errWhole := walk(a, stream, nil)
		cut, errCut := walk(b, stream, drawCuts(t, len(stream)))
		if !bytes.Equal(whole, cut) || (errWhole == nil) != (errCut == nil) || a.requests.seq != b.requests.seq {
			t.Fatalf("one piece: % x, %v, %d\ncut: % x, %v, %d", whole, errWhole, a.requests.seq, cut, errCut, b.requests.seq)
		}
		if !slices.Equal(a.answers.list, b.answers.list) {
			t.Fatalf("awaited: %v and %v", a.answers.list, b.answers.list)
		}
	})
}

// drawMessages draws a stream of what servers send.
func drawMessages(t *rapid.T, o order) []byte {
	var s []byte
	for range rapid.IntRange(1, 30).Draw(t, "messages") {
		m := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 14, 0x40}), 32, 32).Draw(t, "bytes")
		m[0] = rapid.SampledFrom([]byte{0, 1, 1, 2, 4, 6, 11, 12, 35, 66, 67, 85, 0x82}).Draw(t, "kind")
		m[1] = rapid.SampledFrom([]byte{0, 1, 2, 9, 131}).Draw(t, "detail")
		words := 0
		if m[0] == msgReply || m[0] == msgGeneric {
			words = rapid.IntRange(0, 20).Draw(t, "words")
			o.put32(m[4:], uint32(words))
		}
		if m[0] == msgGeneric {
			o.put16(m[8:], uint16(rapid.IntRange(0, 30).Draw(t, "xi")))
		}
		s = append(append(s, m...), bytes.Repeat([]byte{7}, 4*words)...)
	}
	return s
}

func TestAnyCutOfMessagesIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := order(rapid.Bool().Draw(t, "big endian"))
		stream := drawMessages(t, o)
		run := func(cuts []int) (out []byte) {
			c := bare(o, false)
			c.answers.expect(answer{seq: 0x0101, quiet: true})
			m := messages{order: o, look: c.message}
			var buf []byte
			last := 0
			for _, cut := range append(slices.Clone(cuts), len(stream)) {
				buf = append(buf, stream[last:cut]...)
				last = cut
				kept, used := m.pass(buf)
				out = append(out, buf[:kept]...)
				buf = slices.Clone(buf[used:])
			}
			return out
		}
		if whole, cut := run(nil), run(drawCuts(t, len(stream))); !bytes.Equal(whole, cut) {
			t.Fatalf("one piece: % x\ncut: % x", whole, cut)
		}
	})
}

// FuzzRequests: no bytes make the cutting fail, or more or fewer bytes than came.
func FuzzRequests(f *testing.F) {
	f.Add([]byte{133, 0, 1, 0, 16, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'V', 'N', 'C', 0}, false, true)
	f.Add([]byte{16, 0, 0, 4, 0, 9, 0, 0, 'X', '1', '1', 'V', 'N', 'C', '_', 'R'}, true, false)
	f.Add([]byte{2, 0, 5, 0, 1, 0, 0x60, 0, 0, 8, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, false, false)
	f.Add([]byte{131, 46, 5, 0, 1, 0, 0x60, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0xff, 0, 0, 0}, false, true)
	f.Add([]byte{25, 1, 11, 0}, false, false)
	f.Fuzz(func(t *testing.T, stream []byte, big, active bool) {
		o := order(big)
		c := bare(o, active)
		out, err := walk(c, slices.Clone(stream), nil)
		if len(out) > len(stream) {
			t.Fatalf("%d bytes became %d", len(stream), len(out))
		}
		if err != nil {
			return
		}
		// What goes on is cut the same way by somebody who knows nothing of rules,
		// and has nothing in it that would be refused again.
		again := bare(o, active)
		once := slices.Clone(out)
		twice, err := walk(again, slices.Clone(out), nil)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("what passed is changed again: %v\n% x\n% x", err, once, twice)
		}
	})
}

func FuzzMessages(f *testing.F) {
	f.Add(append([]byte{1, 0, 1, 0, 2, 0, 0, 0}, make([]byte, 32)...), false)
	f.Add(append([]byte{35, 131, 0, 1, 0, 0, 0, 1, 0, 14}, make([]byte, 26)...), true)
	f.Add(append([]byte{0, 1, 5, 0}, make([]byte, 28)...), false)
	f.Fuzz(func(t *testing.T, stream []byte, big bool) {
		c := bare(order(big), false)
		c.answers.expect(answer{seq: 5, major: 36})
		m := messages{order: order(big), look: c.message}
		kept, used := m.pass(slices.Clone(stream))
		if kept > used || used > len(stream) || used-kept < 0 {
			t.Fatalf("kept %d, used %d of %d", kept, used, len(stream))
		}
	})
}

func FuzzOffer(f *testing.F) {
	f.Add(offer{name: cookieName, data: make([]byte, 16)}.request())
	f.Add(offer{order: true}.request())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := readOffer(bytes.NewReader(b))
		if err != nil {
			return
		}
		back, err := readOffer(bytes.NewReader(o.request()))
		if err != nil || back.name != o.name || !bytes.Equal(back.data, o.data) || back.order != o.order {
			t.Fatalf("%+v came back as %+v, %v", o, back, err)
		}
	})
}

func FuzzWelcome(f *testing.F) {
	b := make([]byte, 8+32+40)
	b[0] = setupSuccess
	binary.LittleEndian.PutUint16(b[6:], uint16(len(b)-8)/4)
	binary.LittleEndian.PutUint32(b[12:], 0x400000)
	binary.LittleEndian.PutUint32(b[16:], 0x1fffff)
	b[28] = 1
	b[40] = 9
	f.Add(b, false)
	f.Add(refusal(true, "no"), true)
	f.Fuzz(func(t *testing.T, b []byte, big bool) {
		w, _, err := readWelcome(bytes.NewReader(b), order(big))
		if err == nil && (w.mask == 0 || w.base&w.mask != 0) {
			t.Fatalf("%+v", w)
		}
	})
}

// TestLongForm: what two readers could cut in two ways ends the connection.
func TestLongForm(t *testing.T) {
	long := func(n uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{127, 0, 0, 0}, n) }
	on := []byte{133, 0, 1, 0}
	for _, tt := range []struct {
		name   string
		stream []byte
		want   error
	}{
		{"not asked for", long(2), errLongForm},
		{"asked for in a way that servers refuse", append([]byte{133, 0, 2, 0, 0, 0, 0, 0}, long(2)...), errLongForm},
		{"another request of the extension", append([]byte{133, 1, 1, 0}, long(2)...), errLongForm},
		{"no words", append(on, long(0)...), errShortLong},
		{"one word", append(on, long(1)...), errShortLong},
		{"two words", append(on, long(2)...), nil},
	} {
		if _, err := walk(bare(false, true), tt.stream, nil); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := walk(bare(false, true), append(on, long(maxWords+1)...), nil); err == nil {
		t.Error("a request longer than any server takes was let pass")
	}
}

// TestAnswersAreFound: numbers go around, and errors come without being awaited.
func TestAnswersAreFound(t *testing.T) {
	var a answers
	for _, seq := range []uint16{0xfff0, 0xfffe, 1} {
		a.expect(answer{seq: seq})
	}
	for _, tt := range []struct {
		seq  uint16
		want bool
	}{{0xffef, false}, {0xfff0, true}, {0xfff1, false}, {0, false}, {1, true}, {1, false}} {
		if _, ok := a.take(tt.seq); ok != tt.want {
			t.Errorf("take(%#x) = %v, want %v", tt.seq, ok, tt.want)
		}
	}
	for i := range maxAnswers {
		if err := a.expect(answer{seq: uint16(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.expect(answer{}); err != errAnswers {
		t.Errorf("one too many: %v", err)
	}
}

// TestListOfExtensions: however a reply to ListExtensions is cut, the names that
// QueryExtension denies are not in it; a list that is too long or broken has no more.
func TestListOfExtensions(t *testing.T) {
	names := func(list ...string) (b []byte) {
		for _, n := range list {
			b = append(append(b, byte(len(n))), n...)
		}
		return append(b, make([]byte, padded(len(b))-len(b))...)
	}
	reply := func(n byte, rest []byte) []byte {
		m := make([]byte, messageSize, messageSize+len(rest))
		m[0], m[1] = msgReply, n
		order(false).put32(m[4:], uint32(len(rest)/4))
		return append(m, rest...)
	}
	event := append([]byte{2}, make([]byte, messageSize-1)...)
	for _, tt := range []struct {
		name       string
		sent, want []byte
	}{
		{"hidden ones", reply(4, names("MIT-SHM", "RENDER", "RECORD", "SHAPE")), reply(2, append(names("RENDER", "SHAPE"), make([]byte, 12)...))},
		{"beyond the end", reply(9, names("SHAPE", "RENDER")), reply(2, names("SHAPE", "RENDER"))},
		{"too long", reply(255, bytes.Repeat(names("XTEST  "), 1+maxList/8)), reply(0, make([]byte, maxList+8))},
	} {
		for _, cut := range []int{1, 31, 33, 50, len(tt.sent)} {
			m := messages{look: func(m []byte) fate {
				if m[0] == msgReply {
					return list
				}
				return keep
			}}
			var got, buf []byte
			in := slices.Concat(tt.sent, event)
			for len(in) > 0 {
				n := min(cut, len(in))
				buf, in = append(buf, in[:n]...), in[n:]
				kept, used := m.pass(buf)
				got = append(got, buf[:kept]...)
				buf = buf[used:]
			}
			if !bytes.Equal(got, slices.Concat(tt.want, event)) {
				t.Errorf("%s, cut at %d: got %q", tt.name, cut, got)
			}
		}
	}
}
