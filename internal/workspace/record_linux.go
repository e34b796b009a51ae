package workspace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/broker"

	"golang.org/x/sys/unix"
)

// record writes down every path that a run changes, at its first change and
// before it happens: one line with the operation and the quoted path (bytes,
// not UTF-8), and for renames and links the other one.
type record struct {
	mu      sync.Mutex
	log     *appendLog
	touched map[string]struct{}
	lost    error
	held    int   // bytes of names in touched
	written int64 // bytes in log
	line    []byte
}

// maxTouched bounds the memory of one run's record; beyond it, paths are
// written each time.
const (
	maxTouched = 500_000
	maxHeld    = 64 << 20 // bytes
	maxRecord  = 1 << 30  // bytes; beyond it nothing is changed any more
)

var errFull = errors.New("the record of this run is full")

func (p *Prepared) openRecord(id string) (*record, error) {
	r := &record{touched: make(map[string]struct{})}
	if p.state == nil {
		p.note("changes are not recorded: there is no state directory")
		return r, nil
	}
	dir := p.state.project(p.place.project) + "/changes"
	if err := makeDirs(dir); err != nil {
		return nil, fmt.Errorf("keeping a record of changes: %w", err)
	}
	file, err := os.OpenFile(dir+"/"+id+".log", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keeping a record of changes: %w", err)
	}
	r.log = newAppendLog(file)
	return r, nil
}

// Before is that of [broker.Recorder]. What cannot be recorded does not happen.
func (r *record) Before(ch *broker.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.touched[ch.Path]
	if known && ch.To != "" {
		_, known = r.touched[ch.To]
	}
	if known {
		return nil
	}
	if r.held += len(ch.Path) + len(ch.To); len(r.touched) < maxTouched && r.held < maxHeld {
		r.touched[strings.Clone(ch.Path)] = struct{}{}
		if ch.To != "" {
			r.touched[strings.Clone(ch.To)] = struct{}{}
		}
	}
	if r.log == nil {
		return nil
	}
	line := append(append(r.line[:0], ch.Op...), ' ')
	line = strconv.AppendQuoteToASCII(line, ch.Path)
	if ch.To != "" {
		line = strconv.AppendQuoteToASCII(append(line, ' '), ch.To)
	}
	r.line = append(line, '\n')
	err := errFull
	if r.written += int64(len(r.line)); r.written <= maxRecord {
		err = r.log.append(r.line)
	}
	if err != nil {
		r.lost = err
		delete(r.touched, ch.Path)
		delete(r.touched, ch.To)
		return unix.EDQUOT
	}
	return nil
}

func (r *record) close() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log == nil {
		return
	}
	if err := r.log.close(); r.lost == nil {
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
