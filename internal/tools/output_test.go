package tools

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestOutput: whatever the pieces, the beginning and the end are kept, and what is
// between them is counted.
func TestOutput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(2, 40).Draw(t, "most")
		o, all := newOutput(most), []byte(nil)
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 60)).Draw(t, "pieces") {
			o.add(piece)
			all = append(all, piece...)
		}
		o.close()
		if int64(len(all)) != int64(len(o.Bytes()))+o.Left || len(o.Bytes()) > most || !bytes.HasPrefix(all, o.Head) || !bytes.HasSuffix(all, o.Tail) || len(all) <= most && o.Left > 0 {
			t.Fatalf("%q with %d: %q %q, %d left out", all, most, o.Head, o.Tail, o.Left)
		}
	})
	o := newOutput(10)
	o.add([]byte(strings.Repeat("é", 50)))
	if got := o.close().String(); got != "éé\n... 92 bytes are left out here ...\néé" {
		t.Errorf("%q", got)
	}
	o = newOutput(100)
	o.add([]byte("a"))
	o.lose(7)
	o.add([]byte("b"))
	if got := o.close().String(); got != "a\n... 7 bytes are left out here ...\nb" {
		t.Errorf("%q", got)
	}
}
