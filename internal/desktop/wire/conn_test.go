package wire

import (
	"bytes"
	"io"
	"testing"

	"carrel/internal/desktop/wiretest"
)

func TestWireReads(t *testing.T) {
	w, err := Greet(wiretest.Server{Says: bytes.NewReader(bytes.Join([][]byte{
		wiretest.Setup(),
		wiretest.Message(35, 2, make([]byte, 8)...), // dropped, with what follows it
		wiretest.Message(100, 0),                    // an event that was not asked for
		wiretest.Answer(wiretest.Message(0, 0), 1),  // an error without a number
		wiretest.Answer(wiretest.Message(1, 1, 1, 2, 3, 4), 2),
		wiretest.Answer(wiretest.Message(1, 0), 3), // of which there was none
	}, nil))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := false
	w.End = func() { ended = true }
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

// A reply that is larger than what was asked for is dropped.
func TestWireReplyLargerThanAsked(t *testing.T) {
	property := []byte{20, 0, 6, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0} // 8 bytes of it
	w, err := Greet(wiretest.Server{Says: bytes.NewReader(bytes.Join([][]byte{
		wiretest.Setup(),
		wiretest.Answer(wiretest.Message(1, 3, make([]byte, 12)...), 1),
		wiretest.Answer(wiretest.Message(1, 2, make([]byte, 8)...), 2),
		wiretest.Answer(wiretest.Message(1, 20<<10, make([]byte, 80<<10)...), 3),
		wiretest.Answer(wiretest.Message(1, 1, 1, 2, 3, 4), 4),
	}, nil))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.End = func() {}
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

func TestWireBounds(t *testing.T) {
	w, err := Greet(wiretest.Server{Says: bytes.NewReader(append(wiretest.Setup(), wiretest.Answer(wiretest.Message(1, 1<<30), 1)...))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.End = func() {}
	w.sent = 1
	got := make([]byte, 40)
	io.ReadFull(w, got)
	if _, err := w.Read(got); err == nil || err == io.EOF {
		t.Errorf("a reply of 4 GiB: %v", err)
	}
}
