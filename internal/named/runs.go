package named

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/audit"
	"carrel/internal/hostfile"
)

// runsDir is the directory of runs' audit logs, one directory each, in the state directory.
const runsDir = "audit"

// ReadRun opens the audit log of a run for reading; the error is [fs.ErrNotExist] where no run
// with that id has one.
func ReadRun(state, id string) (*audit.Snapshot, error) {
	dir, err := RunDir(state, id, false)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return audit.Open(dir)
}

// RunDir opens the directory of one run's audit log, which only this user may enter.
func RunDir(state, id string, make bool) (*os.File, error) {
	if id == "" || strings.Trim(id, "0123456789abcdef") != "" {
		return nil, fs.ErrNotExist
	}
	at := filepath.Join(state, runsDir, id)
	if make {
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, err
		}
	}
	dir, err := os.OpenFile(at, os.O_RDONLY|hostfile.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	if st, err := dir.Stat(); err != nil || !st.IsDir() || !hostfile.OwnedByUs(st) || st.Mode().Perm()&0o077 != 0 {
		dir.Close()
		return nil, errors.Join(fmt.Errorf("%q is not a directory of this user alone", at), err)
	}
	return dir, nil
}
