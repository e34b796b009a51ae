package desktop

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// scripted is a server that says what it was told, whatever it is asked.
type scripted struct {
	net.Conn
	says io.Reader
}

func (s scripted) Read(p []byte) (int, error)  { return s.says.Read(p) }
func (s scripted) Write(p []byte) (int, error) { return len(p), nil }
func (s scripted) Close() error                { return nil }

func setupReply() []byte {
	b := make([]byte, 40)
	b[0] = 1
	binary.LittleEndian.PutUint16(b[2:], 11)
	binary.LittleEndian.PutUint16(b[6:], 8)
	return b
}

func message(kind byte, length uint32, more ...byte) []byte {
	b := make([]byte, 32)
	b[0] = kind
	binary.LittleEndian.PutUint32(b[4:], length)
	return append(b, more...)
}

// FuzzServer has a server say anything, from the greeting on. Nothing may
// panic, hang or take much memory.
func FuzzServer(f *testing.F) {
	f.Add(setupReply())
	f.Add([]byte{0, 255, 11, 0, 0, 0, 1, 0, 'n', 'o', '!', '!'})
	f.Add([]byte{2, 0, 11, 0, 0, 0, 0, 0})
	f.Add(append(setupReply(), message(1, 0xfffffff8)...))
	f.Add(append(setupReply(), message(1, 1, 1, 2, 3, 4)...))
	f.Add(append(setupReply(), message(0, 0)...))
	f.Add(append(setupReply(), message(35, 2, make([]byte, 40)...)...))
	f.Add(append(setupReply(), message(200, 2, make([]byte, 40)...)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if d, err := open(t.Context(), scripted{says: bytes.NewReader(b)}, nil); err == nil {
				d.Close()
			}
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Fatal("it hangs")
		}
	})
}

func TestWireReads(t *testing.T) {
	w, err := greet(scripted{says: bytes.NewReader(bytes.Join([][]byte{
		setupReply(),
		message(35, 2, make([]byte, 8)...), // dropped, with what follows it
		message(100, 0),                    // an event that nobody asked for
		answer(message(0, 0), 1),           // an error without a number
		answer(message(1, 1, 1, 2, 3, 4), 2),
		answer(message(1, 0), 3), // of which there was none
	}, nil))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	w.end = func() { ended = true }
	for range 3 { // the first is the greeting
		w.Write([]byte{43, 0, 1, 0})
	}
	got := make([]byte, 40+32+36)
	if _, err := io.ReadFull(w, got); err != nil {
		t.Fatal(err)
	}
	if e := got[40:]; e[0] != 0 || e[1] != 17 {
		t.Errorf("error %v", e[:2])
	}
	if r := got[72:]; r[0] != 1 || !bytes.Equal(r[32:], []byte{1, 2, 3, 4}) {
		t.Errorf("reply %v", r)
	}
	if _, err := w.Read(got); err == nil || err == io.EOF || !ended {
		t.Errorf("an answer to nothing: %v", err)
	}
}

// A reply that is larger than what was asked for is nobody's to keep.
func TestWireReplyLargerThanAsked(t *testing.T) {
	property := []byte{20, 0, 6, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0} // 8 bytes of it
	w, err := greet(scripted{says: bytes.NewReader(bytes.Join([][]byte{
		setupReply(),
		answer(message(1, 3, make([]byte, 12)...), 1),
		answer(message(1, 2, make([]byte, 8)...), 2),
		answer(message(1, 20<<10, make([]byte, 80<<10)...), 3),
		answer(message(1, 1, 1, 2, 3, 4), 4),
	}, nil))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.end = func() {}
	w.Write([]byte{1})
	w.Write(property)
	w.Write(property)
	w.Write([]byte{43, 0, 1, 0})
	w.Write([]byte{43, 0, 1, 0})
	got := make([]byte, 40+32+40+32+36)
	if _, err := io.ReadFull(w, got); err != nil {
		t.Fatal(err)
	}
	for at, kind := range map[int]byte{40: 0, 72: 1, 112: 0, 144: 1} {
		if got[at] != kind {
			t.Errorf("message at %d: kind %d, want %d", at, got[at], kind)
		}
	}
	if len(w.bounds) != 0 {
		t.Errorf("%d bounds are kept", len(w.bounds))
	}
}

func answer(b []byte, request uint16) []byte {
	binary.LittleEndian.PutUint16(b[2:], request)
	return b
}

func TestWireBounds(t *testing.T) {
	w, err := greet(scripted{says: bytes.NewReader(append(setupReply(), answer(message(1, 1<<30), 1)...))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.end = func() {}
	w.sent = 1
	got := make([]byte, 40)
	io.ReadFull(w, got)
	if _, err := w.Read(got); err == nil || err == io.EOF {
		t.Errorf("a reply of 4 GiB: %v", err)
	}
}
