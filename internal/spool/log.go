package spool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"carrel/internal/ownfile"
)

// minSize is the least that a log may be bounded to.
const minSize = 4096

// Log is a bounded log that one process writes. Its methods may be called at
// once.
type Log struct {
	dir  *os.File
	name string
	half int64 // bytes of one file, its first line included

	mu      sync.Mutex
	file    *os.File // NAME; nil while it could not be made
	start   int64    // the oldest offset kept
	base    int64    // the offset of file's first byte
	end     int64
	torn    bool  // the last byte is no newline
	lost    int64 // bytes since the last note
	why     error // they were lost
	changed chan struct{}
	closed  bool
}

// Create opens the log NAME in a directory, which the caller leaves open as long
// as the log. max bounds both of its files together, in bytes, 4096 or more. An
// older log of that name is continued; where it was made with a larger bound, it
// comes down to this one with the next two rotations. A file whose first line is
// damaged is given up. A full disk is no error: see [Log.Write].
func Create(dir *os.File, name string, max int64) (*Log, error) {
	if err := checkLog(dir, name); err != nil {
		return nil, err
	}
	if max < minSize {
		return nil, pathError("create", dir, name, fmt.Errorf("a bound of %d bytes, want %d or more", max, minSize))
	}
	l := &Log{dir: dir, name: name, half: max / 2}
	if err := l.resume(); err != nil {
		return nil, err
	}
	if l.file == nil {
		if err := l.begin(); err != nil && !noRoom(err) {
			return nil, err
		}
	}
	return l, nil
}

// resume finds out where an older log ends.
func (l *Log) resume() error {
	old, there, err := l.look(older(l.name), os.O_RDONLY)
	if err != nil {
		return err
	}
	if there {
		l.start, l.base, l.end = old.base, old.end, old.end
		l.readTail(old)
		defer old.file.Close()
	}
	now, ok, err := l.look(l.name, os.O_RDWR|os.O_APPEND)
	if err != nil || !ok {
		return err
	}
	if !there || old.end != now.base {
		l.start = now.base
	}
	l.file, l.base, l.end = now.file, now.base, now.end
	l.readTail(now)
	return nil
}

// look opens one of the log's files, if it is there and whole.
func (l *Log) look(name string, flag int) (part, bool, error) {
	f, err := ownfile.Open(l.dir, name, flag)
	if errors.Is(err, os.ErrNotExist) {
		return part{}, false, nil
	} else if err != nil {
		return part{}, false, err
	}
	p, ok, err := readPart(f)
	if err != nil || !ok {
		f.Close()
	}
	return p, ok && err == nil, err
}

// readTail looks whether the last line is whole.
func (l *Log) readTail(p part) {
	var b [1]byte
	if p.end > p.base {
		_, err := p.file.ReadAt(b[:], headerSize+p.end-p.base-1)
		l.torn = err != nil || b[0] != '\n'
	}
}

// begin makes NAME, whose first byte will have the offset end. What lies there
// is a file that a kill left without its first line.
func (l *Log) begin() error {
	if err := ownfile.Remove(l.dir, l.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return pathError("remove", l.dir, l.name, err)
	}
	f, err := ownfile.Open(l.dir, l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	if _, err := f.Write(header(l.end)); err != nil {
		f.Close()
		_ = ownfile.Remove(l.dir, l.name)
		return pathError("write", l.dir, l.name, err)
	}
	l.file, l.base = f, l.end
	return nil
}

// rotate makes NAME the older file. Renaming frees the room of the one before,
// so that a log on a full disk can go on.
func (l *Log) rotate() error {
	if err := ownfile.Rename(l.dir, l.name, older(l.name)); err != nil {
		return pathError("rename", l.dir, l.name, err)
	}
	l.file.Close()
	l.file, l.start, l.base = nil, l.base, l.end
	return l.begin()
}

// Write adds bytes: one write(2), unless a rotation comes or b is larger than
// half of the log. It does not fail for a full disk, an exceeded quota or a
// failing disk: those bytes are lost and have no offsets, and a later write that
// works first leaves a line in the log that says how many were. Other errors are
// returned, and their bytes are lost in the same way.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(b)
}

func (l *Log) write(b []byte) (int, error) {
	if l.closed {
		return 0, pathError("write", l.dir, l.name, os.ErrClosed)
	}
	end := l.end
	var n int
	err := l.note()
	if err == nil {
		n, err = l.put(b)
	}
	if err != nil {
		l.lost, l.why = l.lost+int64(len(b)-n), err
	}
	if l.changed != nil && l.end != end {
		close(l.changed)
		l.changed = nil
	}
	if err == nil || noRoom(err) {
		return len(b), nil
	}
	return n, err
}

// note leaves word of what was lost, on a line of its own.
func (l *Log) note() error {
	if l.lost == 0 {
		return nil
	}
	text := fmt.Appendf(nil, "[%d bytes were not kept: %v]\n", l.lost, cause(l.why))
	if l.torn {
		text = append([]byte{'\n'}, text...)
	}
	_, err := l.put(text)
	if err == nil {
		l.lost, l.why = 0, nil
	}
	return err
}

// cause leaves the path out: what is in a log may be shown to others.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// put writes bytes in pieces that fit into a file, and each in one file.
func (l *Log) put(b []byte) (n int, err error) {
	for n < len(b) {
		piece := b[n:min(len(b), n+int(l.half-headerSize))]
		switch used := headerSize + l.end - l.base; {
		case l.file == nil:
			err = l.begin()
		case used > headerSize && used+int64(len(piece)) > l.half:
			err = l.rotate()
		}
		if err != nil {
			return n, err
		}
		done, err := l.file.Write(piece)
		if done > 0 {
			l.end, l.torn = l.end+int64(done), piece[done-1] != '\n'
			n += done
		}
		if err != nil {
			return n, pathError("write", l.dir, l.name, err)
		}
	}
	return n, nil
}

// Start is the logical offset of the oldest byte that is kept.
func (l *Log) Start() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.start
}

// End is the logical offset after the last byte.
func (l *Log) End() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Wait returns nil as soon as there is something after off, that is End() > off;
// otherwise [os.ErrClosed] once the log is closed, or the error of a context that
// ended.
func (l *Log) Wait(ctx context.Context, off int64) error {
	for {
		l.mu.Lock()
		if l.end > off {
			l.mu.Unlock()
			return nil
		}
		if l.closed {
			l.mu.Unlock()
			return os.ErrClosed
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close ends writing and wakes who waits. What is kept stays.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
