package picture

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"runtime"
	"slices"
	"sync"
)

// PNG writes a frame as PNG (RFC 2083): eight bits for each of three
// colours, every row as the difference to the one above, which is mostly
// nothing on a screen. Strips of rows are compressed side by side, each as
// blocks of one zlib stream (RFC 1950) that end at a byte.
func PNG(f Frame) []byte {
	n := max(1, min(runtime.GOMAXPROCS(0), 8, f.H/64))
	strips := make([]strip, n)
	var wait sync.WaitGroup
	for i := range strips {
		from, to := i*f.H/n, (i+1)*f.H/n
		wait.Go(func() { strips[i] = squeeze(f, from, to, i == n-1) })
	}
	wait.Wait()

	out := []byte("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(nil, uint32(f.W))
	head = binary.BigEndian.AppendUint32(head, uint32(f.H))
	out = chunk(out, "IHDR", append(head, 8, 2, 0, 0, 0)) // eight bits, true colour
	size := len(out) + 64
	for _, s := range strips {
		size += len(s.data) + 12
	}
	out = slices.Grow(out, size)
	out = chunk(out, "IDAT", []byte{0x78, 0x01}) // deflate, a window of 32 KiB, fastest
	sum := uint32(1)
	for _, s := range strips {
		out = chunk(out, "IDAT", s.data)
		sum = joinAdler(sum, s.sum, s.size)
	}
	out = chunk(out, "IDAT", binary.BigEndian.AppendUint32(nil, sum))
	return chunk(out, "IEND", nil)
}

// strip is a part of the compressed rows.
type strip struct {
	data []byte
	sum  uint32 // Adler-32 of what was compressed, and its size
	size int
}

var writers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // no error with a valid level
	return w
}}

func squeeze(f Frame, from, to int, last bool) strip {
	var out bytes.Buffer
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(&out)
	const up = 2
	line := make([]byte, 1+3*f.W)
	above := make([]byte, 4*f.W)
	if from > 0 {
		copy(above, f.Row(from-1))
	}
	sum := adler32.New()
	for y := from; y < to; y++ {
		row := f.Row(y)
		line[0] = up
		difference(line[1:], row, above)
		above = row
		sum.Write(line)
		w.Write(line) // into memory: no errors
	}
	if last {
		w.Close()
	} else {
		w.Flush()
	}
	return strip{out.Bytes(), sum.Sum32(), (to - from) * (1 + 3*f.W)}
}

// difference gives a row less the one above, as red, green, blue.
func difference(dst, row, above []byte) {
	if bytes.Equal(row, above) {
		clear(dst)
		return
	}
	above = above[:len(row)]
	for i, o := 0, 0; i+4 <= len(row) && o+3 <= len(dst); i, o = i+4, o+3 {
		dst[o] = row[i+2] - above[i+2]
		dst[o+1] = row[i+1] - above[i+1]
		dst[o+2] = row[i] - above[i]
	}
}

func chunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}

// joinAdler gives the Adler-32 of two parts, the second of size n, from those
// of each (RFC 1950, section 9: A is one more than the sum of the bytes, B the
// sum of all A).
func joinAdler(first, second uint32, n int) uint32 {
	const base = 65521
	a1, b1 := uint64(first&0xffff), uint64(first>>16)
	a2, b2 := uint64(second&0xffff), uint64(second>>16)
	a := (a1 + a2 + base - 1) % base
	b := (b1 + b2 + uint64(n)%base*(a1+base-1)) % base
	return uint32(b<<16 | a)
}
