package egress

import (
	"io"
	"sync"
)

const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// transferAny copies between what the kernel cannot join.
func transferAny(dst io.Writer, src io.Reader, limit int64) (n int64, read, write error) {
	b := make([]byte, 32<<10)
	for n != limit {
		part := b
		if limit >= 0 {
			part = b[:min(limit-n, int64(len(b)))]
		}
		got, err := src.Read(part)
		if got > 0 {
			if _, write = dst.Write(part[:got]); write != nil {
				return n, nil, write
			}
			n += int64(got)
		}
		if err == io.EOF {
			return n, nil, nil
		}
		if err != nil {
			return n, err, nil
		}
	}
	return n, nil, nil
}
