package capped

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBound: whatever the pieces, the first bytes are kept, and Over is called once when
// there are more.
func TestBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, calls, all := rapid.IntRange(0, 40).Draw(t, "most"), 0, ""
		b := &Buffer{Most: most, Over: func() { calls++ }}
		for _, piece := range rapid.SliceOf(rapid.String()).Draw(t, "pieces") {
			if n, err := b.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatalf("%d of %d bytes, %v", n, len(piece), err)
			}
			all += piece
		}
		if got, want := string(b.Bytes()), all[:min(len(all), most)]; got != want {
			t.Errorf("kept %q, want %q", got, want)
		}
		if over := len(all) > most; b.Full() != over || (calls == 1) != over {
			t.Errorf("full %t, %d calls, of %d bytes with a bound of %d", b.Full(), calls, len(all), most)
		}
	})
}

// TestBoundOfACopy: io.Copy, by which package os/exec fills a writer, keeps to the bound.
func TestBoundOfACopy(t *testing.T) {
	b := &Buffer{Most: 10}
	if _, err := io.Copy(b, io.LimitReader(strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20)); err != nil || len(b.Bytes()) != 10 || !b.Full() {
		t.Errorf("%d bytes, %v", len(b.Bytes()), err)
	}
}
