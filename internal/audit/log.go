package audit

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/ownfile"
)

// Name is the log's file in the directory of a workspace; Older is the one before it,
// and Lock is held by who writes.
const (
	Name  = "audit.jsonl"
	Older = Name + ".1"
	Lock  = "audit.lock"
)

// ErrTaken means that another process writes the log.
var ErrTaken = errors.New("another process writes it")

// Bounds of a log.
const (
	minSize  = 4 * MaxLine
	queued   = 1024                   // records that wait for the disk
	patience = 100 * time.Millisecond // for which a record waits for a place among them
)

// Log is the audit log of one workspace, written by one process. Its methods may be
// called at once, and on nil, where nothing is kept.
type Log struct {
	dir     *os.File
	half    int64
	lock    *os.File
	trouble func(error)
	records chan *api.AuditRecord
	done    chan struct{}

	ending sync.RWMutex // written while records is closed
	closed bool

	mu      sync.Mutex
	bad     error // why the last record could not be written; nil where it was
	dropped int   // records that found no place in the queue

	// Of the goroutine that writes:
	file *os.File // Name; nil while it could not be made
	size int64
	seq  uint64
	head string
	torn []byte // the end of the file, which is no record
	lost int    // records, since one was written
	why  error  // they were lost

	write func(*os.File, []byte) (int, error)
}

// Create opens the log in a directory, which the caller leaves open as long as it. max
// bounds both of its files together, in bytes. Another process that writes it is an
// error. What an earlier one left is gone on from; records say what it left undone.
// trouble is called, from another goroutine, when records begin to be lost.
func Create(dir *os.File, max int64, trouble func(error)) (*Log, error) {
	if max < minSize {
		return nil, fmt.Errorf("an audit log of %d bytes, want %d or more", max, minSize)
	}
	l := &Log{dir: dir, half: max / 2, trouble: trouble, head: noHash, records: make(chan *api.AuditRecord, queued), done: make(chan struct{}),
		write: func(f *os.File, b []byte) (int, error) { return f.Write(b) }}
	var err error
	if l.lock, err = ownfile.Open(dir, Lock, os.O_RDWR|os.O_CREATE); err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	got, err := ownfile.TryLock(l.lock)
	if err == nil && !got {
		err = ErrTaken
	}
	if err == nil {
		err = l.resume()
	}
	if err != nil {
		l.lock.Close()
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	go l.run()
	return l, nil
}

// Append adds a record; its time is now where it has none, its number and the hash
// before it are put in. It waits for no disk: a record that finds no place for a tenth
// of a second is counted as lost.
func (l *Log) Append(r api.AuditRecord) {
	if l == nil {
		return
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.ending.RLock()
	defer l.ending.RUnlock()
	if l.closed {
		return
	}
	select {
	case l.records <- &r:
		return
	default:
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case l.records <- &r:
	case <-wait.C:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dropped++
	}
}

// Err says why records are being lost, nil where they are not. It is told of the last
// record that was tried.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// Close writes what waits and a record that says so, and lets go of the log.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.ending.Lock()
	if !l.closed {
		l.closed = true
		close(l.records)
	}
	l.ending.Unlock()
	<-l.done
}

// run writes what comes.
func (l *Log) run() {
	defer close(l.done)
	defer l.lock.Close()
	for r := range l.records {
		l.keep(*r)
	}
	l.keep(own(api.AuditClosed, ""))
	if l.file != nil {
		l.file.Close()
	}
}

// keep writes one record, after word of those that were lost.
func (l *Log) keep(r api.AuditRecord) {
	l.mu.Lock()
	fine, slow := l.bad == nil, l.dropped > 0
	if slow {
		l.lost, l.dropped, l.why = l.lost+l.dropped, 0, errors.New("they came faster than they could be written")
	}
	l.mu.Unlock()
	var err error
	if l.lost > 0 {
		if err = l.put(own(api.AuditLost, fmt.Sprintf("%d records before it could not be written: %v", l.lost, cause(l.why)))); err == nil {
			l.lost, l.why = 0, nil
		}
	}
	if err == nil {
		err = l.put(r)
	}
	if err != nil {
		l.lost, l.why = l.lost+1, err
	}
	l.mu.Lock()
	l.bad = err
	l.mu.Unlock()
	if err == nil && slow {
		err = errors.New("records came faster than they could be written")
	}
	if err != nil && fine && l.trouble != nil {
		l.trouble(fmt.Errorf("the audit log is not complete: %w", err))
	}
}

// put writes one record at the end of the chain.
func (l *Log) put(r api.AuditRecord) error {
	if err := l.room(); err != nil {
		return err
	}
	return l.add(r, nil)
}

// room sees to it that there is a file that takes another record.
func (l *Log) room() error {
	if l.torn != nil {
		return l.mend()
	}
	if l.file != nil && l.size+MaxLine <= l.half {
		return nil
	}
	if l.file != nil {
		if err := ownfile.Rename(l.dir, Name, Older); err != nil {
			return err
		}
		l.file.Close()
		l.file = nil
	}
	f, err := ownfile.Open(l.dir, Name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	l.file, l.size = f, 0
	first := own(api.AuditRotated, fmt.Sprintf("the file before ends with record %d", l.seq))
	if l.seq == 0 {
		first = own(api.AuditBegin, "")
	}
	if err = l.add(first, nil); err != nil { // an empty file is no log
		f.Close()
		l.file, l.torn = nil, nil
		_ = ownfile.Remove(l.dir, Name)
	}
	return err
}

// mend ends a line that is no record, and tells of it.
func (l *Log) mend() error {
	r := own(api.AuditTornOff, fmt.Sprintf("%d bytes before it are of a record that was not written to its end", len(l.torn)))
	r.Torn = &api.AuditTorn{Bytes: len(l.torn), Hash: sum(l.torn)}
	return l.add(r, []byte{'\n'})
}

// add writes a record as the next one of the chain, behind some bytes. What could be
// written of it only in part is taken back, or else stays as a torn line.
func (l *Log) add(r api.AuditRecord, before []byte) error {
	r.Seq, r.Prev, r.Time = l.seq+1, l.head, r.Time.UTC()
	line, hash, err := encode(r)
	if err != nil {
		return err
	}
	whole := append(before, line...)
	n, err := l.write(l.file, whole)
	if err != nil {
		if n > 0 && l.file.Truncate(l.size) != nil {
			l.size += int64(n)
			l.torn = append(l.torn, whole[:n]...)
		}
		return err
	}
	l.size += int64(n)
	l.seq, l.head, l.torn = r.Seq, hash, nil
	return nil
}

// own is a record that the log makes itself.
func own(kind, detail string) api.AuditRecord {
	return api.AuditRecord{Time: time.Now(), Kind: kind, Who: api.AuditWho{Kind: api.WhoSupervisor}, Detail: detail}
}

// cause leaves the path out: what is in a log may be shown to others.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
