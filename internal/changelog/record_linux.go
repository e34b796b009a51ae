// Package changelog writes down every path that one run changes, at its first change
// and before it happens. What cannot be written down does not happen. Memory and file
// are bounded. Files are removed with the steps of their runs; those of runs that go
// on are locked and stay. It is not the history: it keeps names, and no content.
package changelog

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/advice"
	"carrel/internal/broker"
	"carrel/internal/history/disk"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// Log writes down every path that a run changes, at its first change and
// before it happens: one line with the operation and the quoted path (bytes,
// not UTF-8), and for renames and links the other one.
type Log struct {
	mu      sync.Mutex
	path    string          // of its file; "" where nothing is written down
	log     *disk.AppendLog // nil before the first change
	touched map[string]struct{}
	lost    error
	held    int   // bytes of names in touched
	written int64 // bytes in log
	most    budget
	line    []byte
	goesOn  bool // in another file when one is full; else nothing is changed any more then
}

// budget bounds one run's record: in memory, beyond which paths are written each
// time, and in its file, beyond which nothing is changed any more.
type budget struct {
	touched int   // paths
	held    int   // bytes of them
	written int64 // bytes in the file
}

var usualBudget = budget{touched: 500_000, held: 64 << 20, written: 1 << 30}

var errFull = errors.New("the record of this run is full")

// Open prepares the record of one run, in a directory; "" writes nothing down. Its
// file is made with the first change. goesOn is for a workspace that stays, of which
// a full file is followed by another one.
func Open(dir, id string, goesOn bool) (*Log, error) {
	r := &Log{touched: make(map[string]struct{}), most: usualBudget}
	if dir == "" {
		return r, nil
	}
	err := statedir.MakeDirs(dir)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return nil, NotKept(err)
	}
	r.path, r.goesOn = dir+"/"+id+".log", goesOn
	return r, nil
}

// turnOver goes on in another log; the lock is held.
func (r *Log) turnOver() error {
	next, err := nextRecord(r.path)
	if err != nil {
		return err
	}
	_ = r.log.Close()
	r.log, r.written, r.held = next, int64(len(r.line)), 0
	clear(r.touched)
	return nil
}

// touches gives what has to be known for a change to need no line: its paths,
// and for a directory that gets another name the pair, as what is in it goes
// along.
func touches(ch *broker.Change) (names [3]string, n int) {
	switch {
	case ch.To == "":
		return [3]string{ch.Path}, 1
	case (ch.Op == broker.OpRename || ch.Op == broker.OpExchange) && (ch.Kind == broker.KindDir || ch.Over == broker.KindDir):
		return [3]string{ch.Path, ch.To, ch.Path + "\x00" + ch.To}, 3
	}
	return [3]string{ch.Path, ch.To}, 2
}

// Before is that of [broker.Recorder]. What cannot be recorded does not happen.
func (r *Log) Before(ch *broker.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, n := touches(ch)
	names := all[:n]
	if !slices.ContainsFunc(names, func(n string) bool { _, known := r.touched[n]; return !known }) {
		return nil
	}
	for _, n := range names {
		if len(r.touched) < r.most.touched && r.held+len(n) <= r.most.held {
			r.held += len(n)
			r.touched[strings.Clone(n)] = struct{}{}
		}
	}
	if r.path == "" {
		return nil
	}
	line := append(append(r.line[:0], ch.Op...), ' ')
	line = strconv.AppendQuoteToASCII(line, ch.Path)
	if ch.To != "" {
		line = strconv.AppendQuoteToASCII(append(line, ' '), ch.To)
	}
	r.line = append(line, '\n')
	if err := r.write(); err != nil {
		r.lost = err
		for _, n := range names {
			delete(r.touched, n)
		}
		return unix.EDQUOT
	}
	return nil
}

// write writes line, and makes the file with the first one; the lock is held.
func (r *Log) write() (err error) {
	if r.log == nil {
		if r.log, err = beginRecord(r.path); err != nil {
			return err
		}
	}
	if r.written += int64(len(r.line)); r.written > r.most.written && r.goesOn {
		if err := r.turnOver(); err != nil {
			r.lost = err
		}
	}
	if r.written > r.most.written {
		return errFull
	}
	return r.log.Append(r.line)
}

// Lost says what could not be written down, nil where nothing was lost.
func (r *Log) Lost() error { return r.lost }

// Close ends the record; it may be called on nil.
func (r *Log) Close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path = ""
	if r.log == nil {
		return
	}
	if err := r.log.Close(); r.lost == nil {
		r.lost = err
	}
	r.log = nil
}

// NotKept is the error of a place where changes cannot be written down.
func NotKept(err error) error {
	return &advice.Error{Err: fmt.Errorf("keeping a record of changes: %w", err),
		Hint: "make that place writable, or set XDG_STATE_HOME to one that is; `--history off` runs without a record"}
}
