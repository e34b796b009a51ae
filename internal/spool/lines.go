package spool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// MaxLine bounds a line, in bytes.
const MaxLine = 64 << 10

// On disk a line is itself JSON: {"seq":12,"line":...}.
const (
	beforeSeq  = `{"seq":`
	beforeLine = `,"line":`
	afterLine  = "}\n"
	maxStored  = MaxLine + len(beforeSeq) + 20 + len(beforeLine) + len(afterLine)
)

// Lines is a log of JSON lines with sequence numbers, written by one process.
// Its methods may be called at once.
type Lines struct {
	log  *Log
	last uint64 // guarded by log.mu
	buf  []byte // guarded by log.mu
}

// CreateLines opens the lines NAME in a directory, bounded as by [Create], and
// reads what is kept to find the highest sequence number.
func CreateLines(dir *os.File, name string, bound int64) (*Lines, error) {
	log, err := Create(dir, name, bound)
	if err != nil {
		return nil, err
	}
	l := &Lines{log: log}
	err = ReadLines(dir, name, 0, func(seq uint64, _ []byte) error {
		l.last = max(l.last, seq)
		return nil
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) { // none on a full disk
		log.Close()
		return nil, err
	}
	return l, nil
}

// Append adds one JSON value without a newline, of at most [MaxLine] bytes.
// Numbers begin at 1 and should rise: readers ask for what comes after one. It is one write(2),
// and like [Log.Write] it does not fail for a full disk.
func (l *Lines) Append(seq uint64, line []byte) error {
	switch {
	case seq == 0:
		return fmt.Errorf("line 0 of %q: numbers begin at 1", l.log.name)
	case len(line) > MaxLine:
		return fmt.Errorf("line %d of %q has %d bytes, want at most %d", seq, l.log.name, len(line), MaxLine)
	case bytes.IndexByte(line, '\n') >= 0 || !json.Valid(line):
		return fmt.Errorf("line %d of %q: want one JSON value on one line", seq, l.log.name)
	}
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	b := l.buf[:0]
	if l.log.torn && l.log.lost == 0 { // what a killed writer left is no part of this line
		b = append(b, '\n')
	}
	b = append(append(b, beforeSeq...), strconv.FormatUint(seq, 10)...)
	b = append(append(append(b, beforeLine...), line...), afterLine...)
	l.buf = b
	if _, err := l.log.write(b); err != nil {
		return err
	}
	l.last = max(l.last, seq)
	return nil
}

// Last is the highest sequence number that was appended or found, 0 for none.
func (l *Lines) Last() uint64 {
	l.log.mu.Lock()
	defer l.log.mu.Unlock()
	return l.last
}

// Wait returns nil as soon as a line after since was appended; otherwise as
// [Log.Wait] does.
func (l *Lines) Wait(ctx context.Context, since uint64) error {
	for {
		end := l.log.End()
		if l.Last() > since {
			return nil
		}
		if err := l.log.Wait(ctx, end); err != nil {
			return err
		}
	}
}

// Close ends writing.
func (l *Lines) Close() error { return l.log.Close() }

// ReadLines calls each with every kept line after since, in the order in which
// they were appended, up to the end that the log has at the start of the call.
// Bytes that are no line of ours are passed over: a last line without its end, a
// note of lost bytes, garbage. The line is only good until each returns; an error
// of each ends the reading and is returned. [os.ErrNotExist] says that there are
// no such lines at all.
func ReadLines(dir *os.File, name string, since uint64, each func(seq uint64, line []byte) error) error {
	r, err := Open(dir, name)
	if err != nil {
		return err
	}
	s := splitter{each: func(stored []byte) error {
		if seq, line, ok := parseLine(stored); ok && seq > since {
			return each(seq, line)
		}
		return nil
	}}
	b := make([]byte, MaxLine)
	for off, end := r.Start(), r.End(); off < end; {
		n, next, err := r.ReadAt(b[:min(int64(len(b)), end-off)], off)
		if err != nil {
			return err
		}
		if next != off+int64(n) {
			s.forget() // the rest of the line that was begun is gone
		}
		if err := s.add(b[:n]); err != nil || n == 0 {
			return err
		}
		off = next
	}
	return nil
}

// parseLine takes a stored line apart, without its newline.
func parseLine(b []byte) (seq uint64, line []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(beforeSeq))
	digits, rest, found := bytes.Cut(b, []byte(beforeLine))
	rest, closed := bytes.CutSuffix(rest, []byte(afterLine[:1]))
	if !ok || !found || !closed || len(digits) > 20 || len(rest) > MaxLine {
		return 0, nil, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, rest, err == nil && json.Valid(rest)
}

// splitter cuts pieces into lines. A line that is too long is passed over, and
// takes no memory.
type splitter struct {
	each func(line []byte) error
	rest []byte // of a line whose end has not come
	long bool   // the line is too long
}

func (s *splitter) add(b []byte) error {
	for {
		line, after, whole := bytes.Cut(b, []byte{'\n'})
		if len(s.rest)+len(line) > maxStored {
			s.long = true
		}
		if s.long {
			line, s.rest = nil, s.rest[:0]
		}
		if !whole {
			s.rest = append(s.rest, line...)
			return nil
		}
		if len(s.rest) > 0 {
			s.rest = append(s.rest, line...)
			line = s.rest
		}
		if !s.long {
			if err := s.each(line); err != nil {
				return err
			}
		}
		s.forget()
		b = after
	}
}

func (s *splitter) forget() { s.rest, s.long = s.rest[:0], false }
