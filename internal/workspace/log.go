package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/api"
)

// Denials reads the log of refusals below a state directory (see [StatePath]),
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
	return readLog(state, "network.jsonl", keep)
}

// readLog reads the older part first. Both are opened before either is read,
// the newer one first: a log that is turned over in between is then met twice
// and not lost.
func readLog[T any](state, name string, keep func(*T) bool) ([]T, int, error) {
	if state == "" {
		return nil, 0, errNoState
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
