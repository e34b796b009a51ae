package spool

import (
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/ownfile"
)

// Reader reads a log by logical offsets. It keeps no file open, so there is
// nothing to close; the directory stays open as long as it is used. Its methods
// may be called at once.
type Reader struct {
	dir  *os.File
	name string
}

// Open finds the log NAME in a directory; [os.ErrNotExist] says that there is
// none.
func Open(dir *os.File, name string) (*Reader, error) {
	if err := checkLog(dir, name); err != nil {
		return nil, err
	}
	r := &Reader{dir, name}
	v, err := r.view()
	if err != nil {
		return nil, err
	}
	v.close()
	return r, nil
}

// ReadAt reads bytes that are kept, from off on or after it:
//
//   - b[:n] are the bytes with the offsets next-n to next-1, and next is where to
//     go on. They may be fewer than asked for, though there are more.
//   - Usually next is off+n. Where off is gone, because the log was rotated, they
//     begin at the oldest byte that is kept, and next-n-off is how many are
//     missing. Where off is beyond the end, as in a log that began anew after a
//     power failure, n is 0 and next is the end, which is then less than off.
//   - n is 0 without an error when there is nothing after off yet.
//
// It fails for a negative off, for a log that is no longer there, and with what
// the disk says.
func (r *Reader) ReadAt(b []byte, off int64) (n int, next int64, err error) {
	if off < 0 {
		return 0, off, pathError("read", r.dir, r.name, fmt.Errorf("offset %d, want 0 or more", off))
	}
	v, err := r.view()
	if err != nil {
		return 0, off, err
	}
	defer v.close()
	for _, p := range v.parts {
		if off >= p.end {
			continue
		}
		off = max(off, p.base)
		b = b[:min(int64(len(b)), p.end-off)]
		if n, err = p.file.ReadAt(b, headerSize+off-p.base); err == io.EOF {
			err = nil
		}
		if err != nil {
			err = pathError("read", r.dir, r.name, err)
		}
		return n, off + int64(n), err
	}
	return 0, min(off, v.end()), nil
}

// Start is the offset of the oldest byte that is kept, 0 where the log cannot
// be read.
func (r *Reader) Start() int64 {
	v, err := r.view()
	if err != nil {
		return 0
	}
	defer v.close()
	return v.parts[0].base
}

// End is the offset after the last byte, 0 where the log cannot be read.
func (r *Reader) End() int64 {
	v, err := r.view()
	if err != nil {
		return 0
	}
	defer v.close()
	return v.end()
}

// view is a log at one moment: one or two parts, older first.
type view struct{ parts []part }

func (v view) end() int64 { return v.parts[len(v.parts)-1].end }

func (v view) close() {
	for _, p := range v.parts {
		p.file.Close()
	}
}

// maxLooks bounds how often a log is looked at again. Two rotations within
// three opens are rare; a hundred times in a row they do not happen.
const maxLooks = 100

// view opens both files of one moment. Where NAME.1 is the same file before and
// after NAME was opened, no rotation came in between: a file that is held open
// cannot give its inode to another one.
func (r *Reader) view() (view, error) {
	for range maxLooks {
		old, err := r.open(older(r.name))
		if err != nil {
			return view{}, err
		}
		now, err := r.open(r.name)
		if err != nil {
			ownfile.Close(old)
			return view{}, err
		}
		again, err := r.open(older(r.name))
		if err == nil && ownfile.Same(old, again) {
			ownfile.Close(again)
			return r.join(old, now)
		}
		ownfile.Close(old, now, again)
		if err != nil {
			return view{}, err
		}
	}
	return view{}, pathError("read", r.dir, r.name, errors.New("rotates faster than it can be read"))
}

// join orders the parts of a log. An older one that does not end where the
// newer begins, or before, is of another log and left out.
func (r *Reader) join(old, now *os.File) (v view, err error) {
	for _, f := range []*os.File{old, now} {
		if f == nil {
			continue
		}
		p, ok, bad := readPart(f)
		if bad != nil {
			err = pathError("read", r.dir, r.name, bad)
		}
		if !ok {
			f.Close()
			continue
		}
		if len(v.parts) > 0 && v.end() > p.base {
			v.close()
			v.parts = nil
		}
		v.parts = append(v.parts, p)
	}
	if err == nil && len(v.parts) == 0 {
		err = pathError("open", r.dir, r.name, os.ErrNotExist)
	}
	if err != nil {
		v.close()
		return view{}, err
	}
	return v, nil
}

// open gives nil for a file that is not there.
func (r *Reader) open(name string) (*os.File, error) {
	return ownfile.There(ownfile.Open(r.dir, name, os.O_RDONLY))
}
