package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"carrel/internal/api"
)

// stateDir is where durable things lie: $XDG_STATE_HOME/carrel, 0700.
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
//	projects/ID/path              the project's path, quoted; its time is that of the last use
//	projects/ID/changes/          see record
//	projects/.total               locked while histories are shrunk; what they took then
type stateDir struct{ path string }

// logLimit is the size at which a log is turned over; one older part is kept.
const logLimit = 8 << 20

// StatePath gives the state directory for an environment, "" when there is no
// absolute place for it: a relative XDG_STATE_HOME or HOME is ignored, as the
// XDG base directory specification says, and a home that does not exist is not
// ours to make.
func StatePath(getenv func(string) string) string {
	if x := getenv("XDG_STATE_HOME"); filepath.IsAbs(x) {
		return filepath.Join(x, "carrel")
	}
	h := getenv("HOME")
	if st, err := os.Stat(h); filepath.IsAbs(h) && err == nil && st.IsDir() {
		return filepath.Join(h, ".local/state/carrel")
	}
	return ""
}

// errNoState means that nothing durable can be kept.
var errNoState = errors.New("no state directory: neither XDG_STATE_HOME nor HOME is the absolute path of one")

// openState makes the directory where it is missing and insists that it is ours.
func openState(path string) (*stateDir, error) {
	if path == "" {
		return nil, errNoState
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making the state directory: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("looking at the state directory: %w", err)
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("state directory %q is not a directory of this user alone; make it 0700", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("looking at the state directory: %w", err)
	}
	return &stateDir{path: real}, nil
}

// project gives the directory of one project.
func (s *stateDir) project(path string) string {
	return filepath.Join(s.path, "projects", projectID(path))
}

// agent gives the directory of an agent's private copy. There is one a project: what
// a command leaves in it must not reach the same agent's work on another project.
func (s *stateDir) agent(project, name string) string {
	return filepath.Join(s.project(project), "agents", name)
}

// projectBytes is how much of a hash names a project.
const projectBytes = 10

// projectID names a project after its canonical path.
func projectID(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:projectBytes])
}

// has says whether a name is that of a project in the state directory.
func (s *stateDir) has(name string) bool {
	if !isProjectID(name) {
		return false
	}
	_, err := os.Lstat(s.path + "/projects/" + name)
	return err == nil
}

// isProjectID says whether a name is one that projectID gives.
func isProjectID(name string) bool {
	sum, err := hex.DecodeString(name)
	return err == nil && len(sum) == projectBytes
}

func (s *stateDir) logDenial(d api.Denial) error         { return s.append("denials.jsonl", d) }
func (s *stateDir) logConnection(c api.Connection) error { return s.append(networkLog, c) }
func (s *stateDir) logLink(l api.Link) error             { return s.append("links.jsonl", l) }

// append adds one line. O_APPEND makes lines of several supervisors not mix:
// each is one write below the size that the kernel keeps whole.
func (s *stateDir) append(name string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	path := filepath.Join(s.path, name)
	if st, err := os.Stat(path); err == nil && st.Size() > logLimit {
		_ = os.Rename(path, path+".1") // two at once: the second finds a small file or none
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openNoFollow, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
