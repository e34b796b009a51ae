package journal

import (
	"errors"
	"io"
)

// Reader reads the records of one segment. Something unreadable at its end is
// what a crash left, or zeros that a writer has mapped; what can be read again
// after it is damage.
type Reader struct {
	from   io.Reader
	left   int64 // bytes that from had when it was opened and that are not read; it may have more by now
	buf    []byte
	at     int64 // of buf in the file
	eof    bool
	sought int // bytes whose checksums were tried
}

const (
	readAhead = 1 << 20
	// maxSought bounds what looking for the next record costs, in bytes: whoever
	// makes a segment of lengths alone is not searched to its end.
	maxSought = 256 << 20
)

// NewReader reads a segment that has so many bytes, as far as is known.
func NewReader(from io.Reader, left int64) *Reader { return &Reader{from: from, left: left} }

// Offset is where the next record begins.
func (j *Reader) Offset() int64 { return j.at }

// Next gives the next record, nil at the end. skipped says that something
// unreadable lay before it.
func (j *Reader) Next() (r *Record, skipped bool, err error) {
	for first := true; ; first = false {
		if err := j.fill(); err != nil {
			return nil, skipped, err
		}
		if len(j.buf) < FrameBytes || j.sought > maxSought {
			return nil, false, nil
		}
		if first || j.plausible() {
			r, n := Decode(j.buf)
			if n > 0 {
				j.skip(n)
				return r, skipped, nil
			}
			j.sought += int(min(getLE32(j.buf), maxRecord))
		}
		skipped = true
		j.skip(j.zeros())
	}
}

// plausible says whether a record could begin here.
func (j *Reader) plausible() bool {
	n := getLE32(j.buf)
	return n > 0 && n <= maxRecord && int(n) <= len(j.buf)-FrameBytes && j.buf[FrameBytes]&0xe0 == 0xa0 // a map of CBOR
}

// zeros gives how many bytes no record can begin in, at least one.
func (j *Reader) zeros() int {
	n := 1
	for n < len(j.buf)-FrameBytes && j.buf[n] == 0 && j.buf[n+1] == 0 && j.buf[n+2] == 0 && j.buf[n+3] == 0 {
		n++
	}
	return n
}

func (j *Reader) skip(n int) {
	j.buf, j.at = j.buf[n:], j.at+int64(n)
}

// fill sees to it that the longest record is in buf, where the file goes on so far.
// Most files are shorter than readAhead: no more memory than they need is allocated.
func (j *Reader) fill() error {
	for !j.eof && len(j.buf) < FrameBytes+maxRecord {
		ahead := int64(readAhead)
		if j.left >= 0 {
			ahead = min(ahead, j.left+1) // one byte more finds the end
		}
		more := make([]byte, len(j.buf), int64(len(j.buf))+ahead)
		copy(more, j.buf)
		n, err := io.ReadFull(j.from, more[len(j.buf):cap(more)])
		j.buf, j.left = more[:len(j.buf)+n], j.left-int64(n)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			j.eof = true
		case err != nil:
			return err
		}
	}
	return nil
}
