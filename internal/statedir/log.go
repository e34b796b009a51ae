package statedir

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/api"
)

// Denials reads the log of refusals below a state directory (see [Path]),
// oldest first, and keeps what keep accepts. broken counts lines that are no
// records, such as the last one of a process that was killed. No log is no
// error.
func Denials(state string, keep func(*api.Denial) bool) (records []api.Denial, broken int, err error) {
	return readLog(state, "denials.jsonl", keep)
}

// Links reads the log of links that programs inside wanted opened, as
// [Denials] reads its own.
func Links(state string, keep func(*api.Link) bool) (records []api.Link, broken int, err error) {
	return readLog(state, "links.jsonl", keep)
}

// Connections reads the log of the network, as [Denials] reads its own.
func Connections(state string, keep func(*api.Connection) bool) (records []api.Connection, broken int, err error) {
	return readLog(state, networkLog, keep)
}

// LogEnd is a place in the network's log, to go on from.
type LogEnd struct {
	file os.FileInfo
	at   int64
}

// EndOfConnections is the present end of the network's log.
func EndOfConnections(state string) LogEnd {
	st, err := os.Stat(filepath.Join(state, networkLog))
	if err != nil {
		return LogEnd{}
	}
	return LogEnd{st, st.Size()}
}

// Each gives what has come since, whole lines only. When the log has been turned
// over meanwhile, the rest of the older part comes first.
func (e *LogEnd) Each(state string, each func(api.Connection) error) error {
	path := filepath.Join(state, networkLog)
	f, err := openLog(path)
	if f == nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if e.file != nil && !os.SameFile(e.file, st) {
		if old, err := openLog(path + ".1"); err == nil && old != nil {
			defer old.Close()
			if was, err := old.Stat(); err == nil && os.SameFile(e.file, was) {
				if err := e.read(old, each); err != nil {
					return err
				}
			}
		}
		e.at = 0
	}
	e.file = st
	return e.read(f, each)
}

func (e *LogEnd) read(f *os.File, each func(api.Connection) error) error {
	in := bufio.NewReader(io.NewSectionReader(f, e.at, 1<<62))
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // the rest of a line comes later
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		e.at += int64(len(line))
		var c api.Connection
		if json.Unmarshal(line, &c) != nil {
			continue
		}
		if err := each(c); err != nil {
			return err
		}
	}
}

// networkLog is the name of the network's log.
const networkLog = "network.jsonl"

// readLog reads the older part first. Both are opened before either is read,
// the newer one first: a log that is turned over in between is then met twice
// and not lost.
func readLog[T any](state, name string, keep func(*T) bool) ([]T, int, error) {
	if state == "" {
		return nil, 0, ErrNone
	}
	newer, err := openLog(filepath.Join(state, name))
	if err != nil {
		return nil, 0, err
	}
	defer newer.Close()
	older, err := openLog(filepath.Join(state, name+".1"))
	if err != nil {
		return nil, 0, err
	}
	defer older.Close()
	parts := []*os.File{older, newer}
	if same(older, newer) {
		parts = parts[1:]
	}
	var all []T
	broken := 0
	for _, f := range parts {
		if f == nil {
			continue
		}
		records, n, err := api.ReadLog(f, keep)
		if err != nil {
			return nil, 0, fmt.Errorf("%q: %w", f.Name(), err)
		}
		all, broken = append(all, records...), broken+n
	}
	return all, broken, nil
}

// openLog gives nil for a log that does not exist.
func openLog(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("opening the log: %q is not a regular file", path)
	}
	return f, nil
}

func same(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	x, errX := a.Stat()
	y, errY := b.Stat()
	return errX == nil && errY == nil && os.SameFile(x, y)
}
