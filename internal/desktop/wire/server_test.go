package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"carrel/internal/desktop/wiretest"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/damage"
)

// TestGreetingsThatAreRefused: an error says what the server said, and what was expected.
func TestGreetingsThatAreRefused(t *testing.T) {
	other, short := wiretest.Setup(), wiretest.Setup()[:16]
	other[2] = 12
	binary.LittleEndian.PutUint16(short[6:], 2)
	for want, says := range map[string][]byte{
		"hung up at the greeting":           wiretest.Setup()[:39],
		`refused the connection: "no\x1b!"`: {0, 4, 11, 0, 0, 0, 1, 0, 'n', 'o', 27, '!'},
		`refused the connection: ""`:        {0, 255, 11, 0, 0, 0, 0, 0}, // a reason that is shorter than it says
		"another kind of authentication":    {2, 0, 11, 0, 0, 0, 0, 0},
		"version 12 of its protocol":        other,
		"in 16 bytes":                       short,
	} {
		if w, err := Greet(wiretest.Server{Says: bytes.NewReader(says)}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", w, err, want)
		}
	}
	if _, err := Greet(wiretest.Server{}, make([]byte, 3)); err == nil || !strings.Contains(err.Error(), "has 16 bytes, not 3") {
		t.Errorf("a cookie of 3 bytes: %v", err)
	}
}

// kept is a connection that keeps each write.
type kept struct {
	wiretest.Server
	writes *[]string
}

func (k kept) Write(p []byte) (int, error) {
	*k.writes = append(*k.writes, string(p))
	return len(p), nil
}

// TestRequestsTogether: what is held goes with one write, at the latest when an answer is
// waited for or when it is much.
func TestRequestsTogether(t *testing.T) {
	var writes []string
	w, err := Greet(kept{wiretest.Server{Says: bytes.NewReader(wiretest.Setup())}, &writes}, bytes.Repeat([]byte{7}, 16))
	if err != nil {
		t.Fatal(err)
	}
	if len(writes) != 1 || !strings.HasPrefix(writes[0], "l\x00\x0b\x00") || !strings.HasSuffix(writes[0], strings.Repeat("\x07", 16)) {
		t.Errorf("greeted with %q", writes)
	}
	writes = nil
	say := func(text string) {
		if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	say("the library's greeting")
	say("one_")
	outer, inner := w.Hold(), w.Hold()
	say("two_")
	inner()
	say("tre_")
	if !slices.Equal(writes, []string{"one_"}) {
		t.Errorf("%q before the end", writes)
	}
	outer()
	again := w.Hold()
	say("four")
	say("+\x00\x01\x00") // GetInputFocus
	say(strings.Repeat("x", maxHeld))
	again()
	want := []string{"one_", "two_tre_", "four+\x00\x01\x00", strings.Repeat("x", maxHeld)}
	if !slices.Equal(writes, want) {
		t.Errorf("%.100q, want %.100q", writes, want)
	}
}

// TestDescriptorGoesWithItsRequest: the descriptor goes with the request that is recognised,
// behind all that was held, and once.
func TestDescriptorGoesWithItsRequest(t *testing.T) {
	server, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.TempDir() + "/x"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	near, err := net.Dial("unix", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := server.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	go far.Write(wiretest.Setup())
	w, err := Greet(near, nil)
	if err != nil || !w.Passes() {
		t.Fatal(err)
	}
	w.Write(nil)
	flush := w.Hold()
	w.HandOver(os.Stdin, func(request []byte) bool { return request[0] == 'a' })
	for _, request := range []string{"before__", "attach__", "attach2_"} {
		w.Write([]byte(request))
	}
	flush()
	got, with := "", []string{} // what a descriptor came with; what was sent before it may stand there too
	for len(got) < 12+3*8 {
		b, oob := make([]byte, 100), make([]byte, 100)
		n, oobn, _, _, err := far.ReadMsgUnix(b, oob)
		if err != nil {
			t.Fatal(err)
		}
		got += string(b[:n])
		if oobn > 0 {
			with = append(with, got)
		}
	}
	if got[12:] != "before__attach__attach2_" || len(with) != 1 || !strings.HasSuffix(with[0], "attach__") {
		t.Errorf("%q, with descriptors %q", got[12:], with)
	}
	if w := (&Conn{Conn: wiretest.Server{}}); w.Passes() {
		t.Error("a descriptor goes over what is no Unix socket")
	}
}

// TestNumbersOfExtensions: events and errors get the numbers that are the same for all
// servers, and those that are not known are dropped or count as a failure of the server.
func TestNumbersOfExtensions(t *testing.T) {
	i := slices.IndexFunc(Extensions, func(e Extension) bool { return e.Name == "DAMAGE" })
	says := bytes.Join([][]byte{wiretest.Setup(), wiretest.Message(91, 0), wiretest.Message(91|0x80, 0), wiretest.Message(92, 0),
		wiretest.Answer([]byte{0, 170, 31: 0}, 1), wiretest.Answer([]byte{0, 171, 31: 0}, 2)}, nil)
	for _, in := range []io.Reader{bytes.NewReader(says), iotest.OneByteReader(bytes.NewReader(says))} {
		w, err := Greet(wiretest.Server{Says: in}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.End = func() {}
		w.Number(Extensions[i], 143, 91, 170)
		w.sent = 2
		got, err := io.ReadAll(w)
		if err != nil || len(got) != 40+4*32 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
		ours := Extensions[i].events
		if codes := []byte{got[40], got[72], got[105], got[137]}; !slices.Equal(codes, []byte{ours, ours | 0x80, Extensions[i].errors, 17}) {
			t.Errorf("%v", codes)
		}
	}
	tables()
	if xgb.NewEventFuncs[int(Extensions[i].events)+damage.Notify] == nil {
		t.Error("the library knows no event of our number")
	}
}

// TestBoundsOfReplies: a property is bounded by what was asked for, and pixels by what goes
// over the socket.
func TestBoundsOfReplies(t *testing.T) {
	property := func(words uint32) []byte { return binary.LittleEndian.AppendUint32([]byte{20, 19: 0}, words) }
	for want, request := range map[int][]byte{
		8: property(2), maxReply: property(1 << 31), 0: property(0), MaxImage: {73, 2}, usualReply: {43, 0}, 4 << 20: {200, 4},
	} {
		if got := replyBound(request); got != want {
			t.Errorf("request %d: %d bytes, want %d", request[0], got, want)
		}
	}
	if got := replyBound([]byte{20, 0}); got != usualReply {
		t.Errorf("half a request: %d bytes", got)
	}
}

// FuzzConn has a server say anything after the greeting. What is read is whole messages,
// each reply is one that was asked for, and no more is kept than the bound.
func FuzzConn(f *testing.F) {
	f.Add(wiretest.Answer(wiretest.Message(1, 1, 1, 2, 3, 4), 1))
	f.Add(wiretest.Answer(wiretest.Message(1, 0xfffffff8), 1))
	f.Add(append(wiretest.Message(35, 1, 0, 0, 0, 0), wiretest.Answer(wiretest.Message(0, 0), 2)...))
	f.Add(wiretest.Message(12, 0))
	f.Fuzz(func(t *testing.T, says []byte) {
		w, err := Greet(wiretest.Server{Says: io.MultiReader(bytes.NewReader(wiretest.Setup()), bytes.NewReader(says))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		w.End = func() { ends++ }
		for range 3 {
			w.Write([]byte{43, 0, 1, 0}) // the first is the library's greeting
		}
		if _, err := io.CopyN(io.Discard, w, 40); err != nil {
			t.Fatal(err)
		}
		for replies := 0; ; {
			var head [32]byte
			if _, err := io.ReadFull(w, head[:]); err != nil {
				if ends == 0 {
					t.Errorf("%v, and reading goes on", err)
				}
				return
			}
			size := int64(0)
			if head[0] == 1 {
				replies, size = replies+1, 4*int64(binary.LittleEndian.Uint32(head[4:]))
			}
			if replies > 2 || size > usualReply {
				t.Errorf("reply %d has %d bytes", replies, size)
			}
			if n, err := io.CopyN(io.Discard, w, size); err != nil && ends == 0 {
				t.Errorf("%d of %d bytes, and reading goes on: %v", n, size, err)
			}
		}
	})
}
