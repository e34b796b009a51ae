// Package statedir knows where the durable files of each project lie in the user's state
// directory, $XDG_STATE_HOME/carrel, 0700. It keeps the logs of refusals, links and connections
// there. It remembers where histories have been and when a project was used last, says what is
// kept of each project, and removes it: of one, of all, or of those whose directory has been
// gone for long. What is in a history is package history's; whether a place is safe for one is
// decided by package decide.
package statedir

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/api"
	"carrel/internal/hostfile"
	"carrel/internal/registry"
)

// Dir is one state directory:
//
//	denials.jsonl                 one api.Denial a line
//	links.jsonl                   one api.Link a line
//	network.jsonl                 one api.Connection a line
//	doctor                        see package doctor
//	projects/ID/caches/home/      upper and work of the overlay over home's caches
//	projects/ID/caches/private/   caches that never show the host's content
//	projects/ID/agents/NAME/      the private copy of an agent's state
//	projects/ID/history/          see package history; elsewhere with history.dir
//	projects/ID/history-places    where else the history has been
//	projects/ID/alone             locked while a piece of a git directory is made, see aloneInProject
//	projects/ID/looked            what was found in directories that did not change, see package dircache
//	projects/ID/path              the project's path, quoted; its time is that of the last use
//	projects/ID/changes/          see record
//	projects/ID/gone              its time is when the project was first seen gone
//	projects/ID.used              shared by the runs of a project, see Hold
//	projects/ID.paused            one api.ProjectPause, while the project is paused
//	projects/.purged-ID           what is being removed, see Remove
//	projects/.swept               its time is that of the last Sweep
//	projects/.total               locked while histories are shrunk; what they took then
type Dir struct{ path string }

// logLimit is the size at which a log is turned over; one older part is kept.
const logLimit = 8 << 20

// Path gives the state directory for an environment, "" when there is no
// absolute place for it: a relative XDG_STATE_HOME or HOME is ignored, as the
// XDG base directory specification says, and a home that does not exist is not
// ours to make.
func Path(getenv func(string) string) string { return registry.State(getenv) }

// Registry gives the places in which running workspaces are found. A command must neither see nor
// write them.
func Registry(getenv func(string) string) []string {
	return registry.Dirs(getenv("XDG_RUNTIME_DIR"), Path(getenv))
}

// ErrNone means that nothing durable can be kept.
var ErrNone = errors.New("no state directory: neither XDG_STATE_HOME nor HOME is the absolute path of one")

// Open makes the directory where it is missing and insists that it is ours.
func Open(path string) (*Dir, error) {
	if path == "" {
		return nil, ErrNone
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("looking at the state directory: %w", err)
	}
	if err := ours(path, info); err != nil {
		return nil, fmt.Errorf("state directory %w", err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("looking at the state directory: %w", err)
	}
	return &Dir{path: real}, nil
}

// ours insists on a directory that no other user can write.
func ours(path string, info os.FileInfo) error {
	if !info.IsDir() || !hostfile.OwnedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%q is not a directory of this user alone; make it 0700", path)
	}
	return nil
}

// Project gives the directory of one project.
func (s *Dir) Project(path string) string {
	return filepath.Join(s.path, "projects", ProjectID(path))
}

// Agent gives the directory of an agent's private copy. There is one a project: what
// a command leaves in it must not reach the same agent's work on another project.
func (s *Dir) Agent(project, name string) string {
	return filepath.Join(s.Project(project), "agents", name)
}

// projectBytes is how much of a hash names a project.
const projectBytes = 10

// ProjectID names a project after its canonical path.
func ProjectID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:projectBytes])
}

// Has says whether a name is that of a project in the state directory.
func (s *Dir) Has(name string) bool {
	if !IsProjectID(name) {
		return false
	}
	_, err := os.Lstat(s.path + "/projects/" + name)
	return err == nil
}

// IsProjectID says whether a name is one that [ProjectID] gives.
func IsProjectID(name string) bool {
	return len(name) == hex.EncodedLen(projectBytes) && strings.Trim(name, "0123456789abcdef") == ""
}

// LogDenial adds a refusal to its log.
func (s *Dir) LogDenial(d api.Denial) error { return s.append("denials.jsonl", d) }

// LogConnection adds a connection to the network's log.
func (s *Dir) LogConnection(c api.Connection) error { return s.append(networkLog, c) }

// LogLink adds a link that a program inside wanted opened.
func (s *Dir) LogLink(l api.Link) error { return s.append("links.jsonl", l) }

// append adds one line. O_APPEND makes lines of several supervisors not mix:
// each is one write below the size that the kernel keeps whole.
func (s *Dir) append(name string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	path := filepath.Join(s.path, name)
	if isFull(path) {
		turnOver(path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|hostfile.NoFollow, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func isFull(log string) bool {
	st, err := os.Stat(log)
	return err == nil && st.Size() > logLimit
}

// turnOver makes a full log the older part. Of several processes one does it: the next would
// put the new log in the place of the older part.
func turnOver(log string) {
	unlock, err := hostfile.Lock(log, 0)
	if err != nil {
		return
	}
	defer unlock()
	if isFull(log) {
		_ = os.Rename(log, log+".1")
	}
}

// At gives the state directory at a path without making or checking it.
func At(path string) *Dir { return &Dir{path: path} }

// Root is where it lies.
func (s *Dir) Root() string { return s.path }

// MakeDirs makes directories that only this user may enter, as far as they are missing.
func MakeDirs(dirs ...string) error {
	for _, d := range dirs {
		if d == "" {
			continue
		}
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
		// A command may have closed its own cache; the next run opens it again.
		if st, err := os.Lstat(d); err == nil && st.IsDir() && st.Mode().Perm()&0o700 != 0o700 && filepath.Base(d) != "work" {
			if err := os.Chmod(d, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}
