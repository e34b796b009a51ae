package journal

import (
	"bytes"
	"io"
	"testing"
)

// counted tells how large the buffers were that something was read into.
type counted struct {
	io.Reader
	most int
}

func (c *counted) Read(p []byte) (int, error) {
	c.most = max(c.most, len(p))
	return c.Reader.Read(p)
}

// TestReadAheadIsBounded: a short journal is read into a short buffer, and a journal that
// has grown since it was opened is read to its end.
func TestReadAheadIsBounded(t *testing.T) {
	var data []byte
	var err error
	const records = 40
	for n := range uint64(records) {
		if data, err = Encode(data, &Record{Stamp: n + 1, Step: 1, End: &End{}}); err != nil {
			t.Fatal(err)
		}
	}
	size := int64(len(data))
	for _, c := range []struct {
		name string
		left int64
		most int
	}{
		{"of its length", size, len(data) + 1},
		{"longer by now", size / 2, readAhead},
		{"cut short by now", 10 * size, 10*len(data) + 1},
		{"of unknown length", 0, readAhead},
		{"longer than what is read ahead", 8 * readAhead, readAhead},
	} {
		from := &counted{Reader: bytes.NewReader(data)}
		j := NewReader(from, c.left)
		got := 0
		for {
			r, skipped, err := j.Next()
			if err != nil || skipped {
				t.Fatalf("%s: skipped %v, %v", c.name, skipped, err)
			}
			if r == nil {
				break
			}
			if got++; r.Stamp != uint64(got) {
				t.Fatalf("%s: record %d has stamp %d", c.name, got, r.Stamp)
			}
		}
		if got != records || from.most > c.most || from.most > readAhead {
			t.Errorf("%s: %d records, want %d; read into %d bytes, want at most %d", c.name, got, records, from.most, c.most)
		}
	}
}
