package review

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
)

// The index of a tree is a sequence of records, each of numbers as in encoding/binary:
//
//	length of the path, path, kind, mode, size, mtime, ctime, inode, links, length of the sum, sum
//
// Only an index of git has a sum, of what a `git status` does not change in it.
// A record without a path ends it, with the number of records and the CRC-32 of all before.

const (
	indexMagic  = "carrel review index 1\n"
	maxPathSize = 1 << 20 // bytes of a path; a tree may be deeper than PATH_MAX
)

var errIndex = errors.New("the index of the layer is damaged")

// indexWriter writes one.
type indexWriter struct {
	out *bufio.Writer
	sum hash.Hash32
	buf []byte
	n   uint64
}

func newIndexWriter(f *os.File) *indexWriter {
	w := &indexWriter{sum: crc32.NewIEEE()}
	w.out = bufio.NewWriterSize(io.MultiWriter(f, w.sum), 1<<18)
	_, _ = w.out.WriteString(indexMagic)
	return w
}

func (w *indexWriter) add(path string, s *Stat, sum []byte) error {
	w.n++
	b := binary.AppendUvarint(w.buf[:0], uint64(len(path)))
	b = append(b, path...)
	b = append(b, byte(s.Kind))
	for _, v := range []uint64{uint64(s.Perm), uint64(s.Size), uint64(s.Mtime), uint64(s.Ctime), s.Ino, s.Nlink} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(binary.AppendUvarint(b, uint64(len(sum))), sum...)
	w.buf = b
	_, err := w.out.Write(b)
	return err
}

// end closes the index. The sum is not part of itself.
func (w *indexWriter) end(f *os.File) error {
	b := binary.AppendUvarint(nil, 0)
	b = binary.AppendUvarint(b, w.n)
	if _, err := w.out.Write(b); err != nil {
		return err
	}
	if err := w.out.Flush(); err != nil {
		return err
	}
	if _, err := f.Write(binary.BigEndian.AppendUint32(nil, w.sum.Sum32())); err != nil {
		return err
	}
	return f.Sync()
}

// readIndex gives each record of an index, and an error where it is not whole.
func readIndex(from io.Reader, each func(path string, r record)) error {
	sum := crc32.NewIEEE()
	in := &summing{in: bufio.NewReaderSize(from, 1<<18), sum: sum}
	magic := make([]byte, len(indexMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != indexMagic {
		return errIndex
	}
	var path []byte
	for n := uint64(0); ; n++ {
		size, err := binary.ReadUvarint(in)
		if err != nil || size > maxPathSize {
			return errIndex
		}
		if size == 0 {
			return endOfIndex(in, n)
		}
		if uint64(cap(path)) < size {
			path = make([]byte, size)
		}
		path = path[:size]
		if _, err := io.ReadFull(in, path); err != nil {
			return errIndex
		}
		kind, err := in.ReadByte()
		if err != nil {
			return errIndex
		}
		var v [6]uint64
		for i := range v {
			if v[i], err = binary.ReadUvarint(in); err != nil {
				return errIndex
			}
		}
		r := record{Stat: Stat{Kind: Kind(kind), Perm: uint32(v[0]), Size: int64(v[1]), Mtime: int64(v[2]), Ctime: int64(v[3]), Ino: v[4],
			Nlink: v[5]}}
		if r.sum, err = readSum(in); err != nil {
			return err
		}
		each(string(path), r)
	}
}

// record is what an index has of a path.
type record struct {
	Stat
	sum []byte
}

func readSum(in *summing) ([]byte, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil || n > sha256.Size {
		return nil, errIndex
	}
	if n == 0 {
		return nil, nil
	}
	sum := make([]byte, n)
	if _, err := io.ReadFull(in, sum); err != nil {
		return nil, errIndex
	}
	return sum, nil
}

func endOfIndex(in *summing, n uint64) error {
	count, err := binary.ReadUvarint(in)
	if err != nil || count != n {
		return errIndex
	}
	want := in.sum.Sum32()
	var sum [4]byte
	if _, err := io.ReadFull(in.in, sum[:]); err != nil || binary.BigEndian.Uint32(sum[:]) != want {
		return fmt.Errorf("%w: its sum is another one", errIndex)
	}
	return nil
}

// summing adds what is read to a sum.
type summing struct {
	in  *bufio.Reader
	sum hash.Hash32
	one [1]byte
}

func (s *summing) Read(b []byte) (int, error) {
	n, err := s.in.Read(b)
	_, _ = s.sum.Write(b[:n])
	return n, err
}

func (s *summing) ReadByte() (byte, error) {
	b, err := s.in.ReadByte()
	if err == nil {
		s.one[0] = b
		_, _ = s.sum.Write(s.one[:])
	}
	return b, err
}

// readAtMost reads a file that is not longer than a bound.
func readAtMost(f io.Reader, most int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return b, err
}
