package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/api"
	"carrel/internal/ownfile"
)

// tailRead is how much of a file's end is read to find its last record, in bytes:
// one, and what may stand behind it.
const tailRead = 4 * MaxLine

// resume finds out where an earlier log ends, and puts down how it did.
func (l *Log) resume() error {
	last, err := l.look()
	if err != nil {
		return err
	}
	if l.seq == 0 { // nothing yet, or nothing that is a record
		return l.anew()
	}
	if last == api.AuditClosed && l.torn == nil {
		return l.room()
	}
	err = l.room() // with a torn line, that is told here
	if err == nil {
		err = l.add(own(api.AuditKilled, "the log was not closed before it: its supervisor was killed"), nil)
	}
	return err
}

// look finds the end of the newest file that has a record.
func (l *Log) look() (kind string, err error) {
	f, err := ownfile.There(ownfile.Open(l.dir, Name, os.O_RDWR|os.O_APPEND))
	if f == nil {
		if err == nil {
			kind, err = l.older()
		}
		return kind, err
	}
	if kind, err = l.tail(f); err == nil && l.seq == 0 {
		begun, size := l.torn, l.size
		if kind, err = l.older(); l.seq == 0 || err == nil && unfinished(begun, l.seq+1) { // a kill left it without a record
			f.Close()
			if err == nil && l.seq > 0 {
				err = removed(l.dir, Name)
			}
			return kind, err
		}
		l.torn, l.size = begun, size // no work of ours: what comes now stands behind it, and does not hold
	}
	if err != nil {
		f.Close()
		return "", err
	}
	l.file = f
	return kind, nil
}

// older finds the end of the older file.
func (l *Log) older() (kind string, err error) {
	f, err := ownfile.There(ownfile.Open(l.dir, Older, os.O_RDWR|os.O_APPEND))
	if f == nil {
		return "", err
	}
	defer f.Close()
	kind, err = l.tail(f)
	l.torn, l.size = nil, 0
	return kind, err
}

// removed takes a file away that may not be there.
func removed(dir *os.File, name string) error {
	if err := ownfile.Remove(dir, name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// anew begins a log where there is none that could be gone on from. What lies there
// is kept as the older file, which does not hold, unless a kill left it.
func (l *Log) anew() error {
	l.torn, l.size = nil, 0
	f, err := ownfile.Open(l.dir, Name, os.O_RDONLY)
	if err == nil {
		b, readErr := io.ReadAll(io.LimitReader(f, MaxLine+1))
		f.Close()
		if readErr != nil {
			return readErr
		}
		if unfinished(b, 1) {
			err = removed(l.dir, Name)
		} else {
			err = ownfile.Rename(l.dir, Name, Older)
		}
		if err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.room()
}

// tail reads the end of a file: the last record, and what stands behind it.
func (l *Log) tail(f *os.File) (kind string, err error) {
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	l.size = info.Size()
	from := max(0, l.size-tailRead)
	b := make([]byte, l.size-from)
	if n, err := f.ReadAt(b, from); err != nil && err != io.EOF || n < len(b) {
		return "", fmt.Errorf("%q: read %d bytes of %d: %w", f.Name(), n, len(b), err)
	}
	end := bytes.LastIndexByte(b, '\n') + 1
	if r, hash, err := decode(append(bytes.Clone(b[end:]), '\n')); err == nil { // all of it was written but its newline
		if n, err := f.Write([]byte{'\n'}); err != nil || n != 1 {
			return "", fmt.Errorf("%q: ending its last line: %w", f.Name(), err)
		}
		l.seq, l.head, l.size = r.Seq, hash, l.size+1
		return r.Kind, nil
	}
	for ; end > 0; end = bytes.LastIndexByte(b[:end-1], '\n') + 1 {
		start := bytes.LastIndexByte(b[:end-1], '\n') + 1
		if r, hash, err := decode(b[start:end]); err == nil {
			l.seq, l.head, kind = r.Seq, hash, r.Kind
			break
		}
	}
	if len(b) > end {
		l.torn = bytes.Clone(b[end:])
	}
	return kind, nil
}
