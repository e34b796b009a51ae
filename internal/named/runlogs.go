package named

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/ownfile"
)

// MaxRunLogs is how many audit logs of runs are kept. Where there are more, a tenth goes,
// those that were begun first.
const MaxRunLogs = 10000

// RunLog is one audit log of a run, with what its first records say. Nothing is checked.
type RunLog struct {
	ID      string            `json:"id"`
	Began   time.Time         `json:"began"`
	Command api.Text          `json:"command"`
	Session *api.AuditSession `json:"session,omitempty"`
}

// RunLogs lists the audit logs of runs, the one that began last first: at most so many, and
// how many there are.
func RunLogs(state string, most int) ([]RunLog, int, error) {
	names, err := runNames(state)
	if err != nil {
		return nil, 0, err
	}
	list := byAge(state, names)
	var out []RunLog
	for _, d := range list[:min(len(list), most)] {
		out = append(out, readFirst(state, d))
	}
	return out, len(list), nil
}

// runDir is the directory of one log.
type runDir struct {
	id   string
	made time.Time
}

func runNames(state string) ([]string, error) {
	d, err := os.Open(filepath.Join(state, runsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// byAge sorts the logs, the newest first.
func byAge(state string, names []string) []runDir {
	var out []runDir
	for _, name := range names {
		if st, err := os.Lstat(filepath.Join(state, runsDir, name)); err == nil && st.IsDir() {
			out = append(out, runDir{name, st.ModTime()})
		}
	}
	slices.SortFunc(out, func(a, b runDir) int { return cmp.Or(b.made.Compare(a.made), cmp.Compare(a.id, b.id)) })
	return out
}

var errEnough = errors.New("enough was read")

func readFirst(state string, d runDir) RunLog {
	out := RunLog{ID: d.id, Began: d.made}
	s, err := ReadRun(state, d.id)
	if err != nil {
		return out
	}
	defer s.Close()
	_, _ = s.Each(0, func(_ []byte, r api.AuditRecord) error {
		if r.Session != nil {
			out.Began, out.Command, out.Session = r.Time, api.Text(r.Subject), r.Session
		}
		if r.Session != nil || r.Seq > 8 {
			return errEnough
		}
		return nil
	})
	return out
}

// PruneRuns removes the logs that were begun first, where there are more than so many. One
// that a run still writes stays.
func PruneRuns(state string, most int) error {
	names, err := runNames(state)
	if err != nil || len(names) <= most {
		return err
	}
	for _, d := range byAge(state, names)[most-most/10:] {
		err = errors.Join(err, removeRun(state, d.id))
	}
	return err
}

func removeRun(state, id string) error {
	dir, err := RunDir(state, id, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another run removes it, or it is none
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if lock, err := ownfile.Open(dir, audit.Lock, os.O_RDWR); err == nil {
		defer lock.Close()
		if free, err := ownfile.TryLock(lock); err != nil || !free {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(state, runsDir, id))
}
