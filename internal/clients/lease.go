package clients

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/ownfile"
	"carrel/internal/procfs"
)

// maxLease bounds a lease's file in bytes, maxAncestors how far up is looked.
const (
	maxLease     = 4 << 10
	maxAncestors = 64
)

// Lease says that a server serves a client. The kernel ends it with the server.
type Lease struct {
	dir, file *os.File
	name      string
}

// held is what stands in a lease's file.
type held struct {
	Client string  `json:"client"`
	Server int     `json:"server"` // process id
	Parent process `json:"parent"` // the client that started the server
}

// process is a process and no later one with its number.
type process struct {
	ID    int    `json:"id"`
	Start uint64 `json:"start"` // in clock ticks since the machine's start
}

// Serve takes a lease for a client. Release it when the server ends.
func (h Host) Serve(client string) (*Lease, error) {
	if _, err := named(client); err != nil {
		return nil, err
	}
	parent := os.Getppid()
	seen, err := procfs.ReadStat(parent)
	if err != nil {
		return nil, fmt.Errorf("looking at the client: %w", err)
	}
	at := filepath.Join(h.State, leaseDir)
	if err := os.MkdirAll(at, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of leases: %w", err)
	}
	l := &Lease{name: fmt.Sprintf("%s-%d-%s", client, os.Getpid(), rand.Text()[:8])}
	if l.dir, err = os.Open(at); err != nil {
		return nil, fmt.Errorf("opening the directory of leases: %w", err)
	}
	text, _ := json.Marshal(held{client, os.Getpid(), process{parent, seen.Start}})
	// It has the lock before it has the name that others look for.
	fresh := ".new-" + l.name
	if l.file, err = ownfile.Open(l.dir, fresh, os.O_RDWR|os.O_CREATE|os.O_EXCL); err == nil {
		var got bool
		if got, err = ownfile.TryLock(l.file); err == nil && !got {
			err = errors.New("another process holds it already")
		}
		if err == nil {
			_, err = l.file.Write(text)
		}
		if err == nil {
			err = ownfile.Rename(l.dir, fresh, l.name)
		}
		if err != nil {
			_ = ownfile.Remove(l.dir, fresh)
		}
	}
	if err != nil {
		ownfile.Close(l.file, l.dir)
		return nil, fmt.Errorf("writing a lease: %w", err)
	}
	return l, nil
}

// Release ends a lease; nil has none.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	_ = ownfile.Remove(l.dir, l.name)
	ownfile.Close(l.file, l.dir)
}

// leases gives those that are held, and the names of those whose server is gone.
func (h Host) leases() (live []held, stale []string, err error) {
	dir, err := os.Open(filepath.Join(h.State, leaseDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		f, err := ownfile.There(ownfile.Open(dir, name, os.O_RDWR))
		if err != nil || f == nil {
			continue // not of a server of ours: a directory, a link, another user's
		}
		free, err := ownfile.TryLock(f)
		var one held
		if err == nil && !free {
			var text []byte
			if text, err = io.ReadAll(io.LimitReader(f, maxLease)); err == nil && !strings.HasPrefix(name, ".new-") {
				err = json.Unmarshal(text, &one)
			}
		}
		f.Close()
		switch {
		case err != nil: // what cannot be read says nothing of anybody
		case free:
			stale = append(stale, name)
		case one.Client != "":
			live = append(live, one)
		}
	}
	return live, stale, nil
}

// sweepLeases removes those whose server is gone, and gives their number.
func (h Host) sweepLeases() (int, error) {
	_, stale, err := h.leases()
	if err != nil || len(stale) == 0 {
		return 0, err
	}
	dir, err := os.Open(filepath.Join(h.State, leaseDir))
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	n := 0
	for _, name := range stale {
		if !strings.HasPrefix(name, ".new-") && ownfile.Remove(dir, name) == nil {
			n++
		}
	}
	return n, nil
}

// Refuses tells why a client must not use one of its own tools now, "" where it
// may. event is what the client tells its hooks; only the tool's name is read.
// It is asked by a process that the client has started.
func (h Host) Refuses(client string, always bool, event []byte) (string, error) {
	c, err := named(client)
	if err != nil {
		return "", err
	}
	var call struct {
		Tool string `json:"tool_name"`
	}
	if err := json.Unmarshal(event, &call); err != nil {
		return "", fmt.Errorf("what the client tells of the call: %w", err)
	}
	own := false
	for _, tool := range c.own {
		own = own || tool == call.Tool
	}
	if !own {
		return "", nil
	}
	if !always {
		if served, err := h.served(client); err != nil || !served {
			return "", err
		}
	}
	return fmt.Sprintf("%s is not to be used here: it works outside the workspace, without walls and undo. Use the tools of the MCP server carrel instead (Bash, read_file, write_file, edit_file, glob, grep).", call.Tool), nil
}

// served tells whether a server of the client that asks is there: one whose
// parent is among our own ancestors.
func (h Host) served(client string) (bool, error) {
	live, _, err := h.leases()
	if err != nil || len(live) == 0 {
		return false, err
	}
	ancestors, err := ancestry()
	if err != nil {
		return false, err
	}
	for _, l := range live {
		if start, ok := ancestors[l.Parent.ID]; ok && l.Client == client && start == l.Parent.Start {
			return true, nil
		}
	}
	return false, nil
}

// ancestry gives our ancestors with their starts.
func ancestry() (map[int]uint64, error) {
	out := map[int]uint64{}
	for id := os.Getppid(); id > 1 && len(out) < maxAncestors; {
		s, err := procfs.ReadStat(id)
		if errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return nil, err
		}
		out[id], id = s.Start, s.Parent
	}
	return out, nil
}
