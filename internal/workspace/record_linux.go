package workspace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/advice"
	"carrel/internal/broker"
	"carrel/internal/history"

	"golang.org/x/sys/unix"
)

// record writes down every path that a run changes, at its first change and
// before it happens: one line with the operation and the quoted path (bytes,
// not UTF-8), and for renames and links the other one.
type record struct {
	mu      sync.Mutex
	path    string             // of its file; "" where nothing is written down
	log     *history.AppendLog // nil before the first change
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

func (p *Prepared) openRecord(id string) (*record, error) {
	r := &record{touched: make(map[string]struct{}), most: usualBudget}
	dir := p.recordsAt()
	if dir == "" {
		p.note("changes are not recorded: there is no state directory")
		return r, nil
	}
	err := makeDirs(dir)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		return nil, noRecord(err)
	}
	r.path, r.goesOn = dir+"/"+id+".log", p.req.Stays
	return r, nil
}

// turnOver goes on in another log; the lock is held.
func (r *record) turnOver() error {
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
func (r *record) Before(ch *broker.Change) error {
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
func (r *record) write() (err error) {
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

func (r *record) close() {
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

// ownUmask reads the umask that the first command inherits from us.
func ownUmask() int {
	text, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "Umask:"); ok {
				if n, err := strconv.ParseUint(strings.TrimSpace(rest), 8, 16); err == nil {
					return int(n)
				}
			}
		}
	}
	return 0o022
}

func noRecord(err error) error {
	return &advice.Error{Err: fmt.Errorf("keeping a record of changes: %w", err),
		Hint: "make that place writable, or set XDG_STATE_HOME to one that is; `--history off` runs without a record"}
}
