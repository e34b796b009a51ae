package clients

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/ownfile"
	"carrel/internal/safefile"
)

// The names in our directory.
const (
	recordName = "record.json"
	newRecord  = ".new-record" // what is being written; one at a time, under the lock
	lockName   = "lock"
	leaseDir   = "serving"
)

// maxRecord bounds the record in bytes.
const maxRecord = 4 << 20

// lockPatience is how long another carrel may hold the record.
const lockPatience = 10 * time.Second

// Request is what one setup was asked for.
type Request struct {
	Client      string `json:"client"`
	Scope       Scope  `json:"scope"`
	Project     string `json:"project,omitempty"` // of the scope Project
	Name        string `json:"name"`              // of the server
	Permissions string `json:"permissions,omitempty"`
	Block       bool   `json:"block,omitempty"`
	Serving     bool   `json:"while_serving,omitempty"`
}

func (r *Request) same(o *Request) bool {
	return r.Client == o.Client && r.Scope == o.Scope && r.Project == o.Project && r.Name == o.Name
}

// setup is what we have put in for a request, as far as the files cannot tell.
type setup struct {
	Request
	Program      string            `json:"program,omitempty"`       // that was registered
	Env          string            `json:"env,omitempty"`           // the variable that names the client's directory
	Servers      string            `json:"servers,omitempty"`       // the file with the server
	Hooks        string            `json:"hooks,omitempty"`         // the file with the hooks
	Theirs       bool              `json:"theirs,omitempty"`        // the server was there, just so, before us
	Deny         []string          `json:"deny,omitempty"`          // what we denied and the user had not
	DenyKnown    int               `json:"deny_known,omitempty"`    // how many of the containers of that were there
	ServersKnown int               `json:"servers_known,omitempty"` // and of the server
	Steps        bool              `json:"steps,omitempty"`         // the step hooks came with it
	Own          map[string]string `json:"own,omitempty"`           // own file: SHA-256 of what we wrote
	Writing      map[string]string `json:"writing,omitempty"`       // or were about to write
	Made         []string          `json:"made,omitempty"`          // settings files that were not there
	Dirs         []string          `json:"dirs,omitempty"`          // directories that were not there, outermost first
}

// record is all of that, and what is under way.
type record struct {
	Version int      `json:"version"`
	Setups  []setup  `json:"setups"`
	Pending *pending `json:"pending,omitempty"`
}

// pending is an operation whose writes have begun. Its setups are as they will be.
type pending struct {
	Op     Operation         `json:"operation"`
	Setups []setup           `json:"setups"`
	Files  map[string]states `json:"files"`
}

// states tell by SHA-256 whether a file was written; "" is no file.
type states struct{ Before, After string }

func (r *record) find(q *Request) *setup {
	i := slices.IndexFunc(r.Setups, func(s setup) bool { return s.same(q) })
	if i < 0 {
		return nil
	}
	return &r.Setups[i]
}

// otherName gives what the same settings were set up with under another name, nil for
// nothing: hooks, skill and block are one for all, so that there is one name at a time.
func (r *record) otherName(q *Request) *setup {
	for i := range r.Setups {
		at := *q
		if at.Name = r.Setups[i].Name; at.Name != q.Name && r.Setups[i].same(&at) {
			return &r.Setups[i]
		}
	}
	return nil
}

// settle takes what was pending for done.
func (r *record) settle() {
	for _, s := range r.Pending.Setups {
		r.Setups = slices.DeleteFunc(r.Setups, func(o setup) bool { return o.same(&s.Request) })
		if r.Pending.Op == Setup {
			r.Setups = append(r.Setups, s)
		}
	}
	r.Pending = nil
}

func hashOf(text []byte) string {
	if text == nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// store is our directory, held open.
type store struct{ dir, lock *os.File }

// openStore opens our directory and waits for its lock; make says to make it,
// otherwise a directory that is not there gives nil.
func (h Host) openStore(makeIt bool) (*store, error) {
	if makeIt {
		if err := os.MkdirAll(h.State, 0o700); err != nil {
			return nil, fmt.Errorf("making the directory of the record: %w", err)
		}
	}
	dir, err := os.Open(h.State)
	if errors.Is(err, fs.ErrNotExist) && !makeIt {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("opening the directory of the record: %w", err)
	}
	s := &store{dir: dir}
	if s.lock, err = ownfile.Open(dir, lockName, os.O_RDWR|os.O_CREATE); err == nil {
		err = waitFor(s.lock)
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("locking %s: %w", h.State, err)
	}
	return s, nil
}

func waitFor(f *os.File) error {
	for until := time.Now().Add(lockPatience); ; time.Sleep(20 * time.Millisecond) {
		if got, err := ownfile.TryLock(f); got || err != nil {
			return err
		}
		if time.Now().After(until) {
			return errors.New("another carrel agent has it and does not end\nhint: see who it is with: fuser " + f.Name())
		}
	}
}

func (s *store) close() { ownfile.Close(s.lock, s.dir) }

// read gives the record; none is an empty one.
func (s *store) read() (*record, error) {
	r := &record{Version: 1}
	f, err := ownfile.There(ownfile.Open(s.dir, recordName, os.O_RDONLY))
	if err != nil || f == nil {
		return r, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord+1))
	if err == nil && len(text) > maxRecord {
		err = errors.New("too large")
	}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err == nil && r.Version != 1 {
		err = fmt.Errorf("version %d, of another carrel", r.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\nhint: without it carrel cannot tell which denied tools are its own; move it away to go on, and look at them yourself", f.Name(), err)
	}
	return r, nil
}

// write replaces the record at once. What a killed one left beside goes first.
func (s *store) write(r *record) (err error) {
	s.sweep()
	if len(r.Setups) == 0 && r.Pending == nil {
		if err := ownfile.Remove(s.dir, recordName); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return safefile.Replace(ownfile.Dir{File: s.dir}, recordName, append(text, '\n'), safefile.Options{Temp: newRecord})
}

func (s *store) sweep() {
	left, _ := filepath.Glob(filepath.Join(s.dir.Name(), ".new-*"))
	for _, path := range left {
		_ = ownfile.Remove(s.dir, filepath.Base(path))
	}
}
