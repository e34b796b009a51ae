package named

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/spool"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// Sweep removes what a workspace has left, and says what that is, or would be where
// dry is set; its audit log moves to those of runs. One that runs is left alone: ErrTaken.
// What a person wants of it, where that is not the usual, stays unless anyway is set:
// whoever starts it anew must not be freer for it.
func Sweep(state, name string, dry, anyway bool) ([]api.Artifact, error) {
	place, err := takeLeft(state, name)
	if err != nil {
		return nil, missing(name, err)
	}
	defer place.Close()
	dir := place.dir
	found := slices.DeleteFunc(artifacts(dir, filepath.Join(places(state), name)), func(a api.Artifact) bool { return a.Kind == "audit" })
	c, err := readControl(dir)
	keep := (err != nil || c.Mode != api.ControlActive) && !anyway
	if keep {
		found = slices.DeleteFunc(found, func(a api.Artifact) bool { return a.Kind == "control" })
	}
	if dry {
		return found, nil
	}
	if !keep {
		return found, place.Remove(state)
	}
	if err := place.moveAudit(state); err != nil {
		return nil, err
	}
	for _, a := range found {
		if err := unix.Unlinkat(int(dir.Fd()), filepath.Base(a.Path), 0); err != nil && err != unix.ENOENT {
			return found, &os.PathError{Op: "remove", Path: a.Path, Err: err}
		}
	}
	return found, nil
}

// takeLeft holds the place of a workspace that does not run, without making one.
func takeLeft(state, name string) (*Place, error) {
	dir, err := openPlace(state, name, false)
	if err != nil {
		return nil, err
	}
	place, err := lockPlace(state, name, dir)
	if err != nil {
		dir.Close()
	}
	return place, err
}

// Remove removes the place that is held, and has its audit log among those of runs. The
// log comes first: a place whose log cannot be kept stays.
func (p *Place) Remove(state string) error {
	if err := p.moveAudit(state); err != nil {
		return err
	}
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", p.dir.Fd()))
	if err != nil {
		return err
	}
	defer again.Close()
	names, _ := again.Readdirnames(maxNames)
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == holdFile }), holdFile)
	for _, n := range names { // the lock last: who takes the name next finds nothing of ours, and keeps its own
		_ = unix.Unlinkat(int(p.dir.Fd()), n, 0)
	}
	all, err := os.OpenFile(places(state), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer all.Close()
	name := filepath.Base(p.dir.Name())
	for range maxTakes {
		err = unix.Unlinkat(int(all.Fd()), name, unix.AT_REMOVEDIR)
		if err == nil || err == unix.ENOENT || unix.Faccessat(int(p.dir.Fd()), holdFile, unix.F_OK, 0) == nil {
			return nil // or another process has taken the name meanwhile
		}
		if err != unix.ENOTEMPTY {
			break
		}
	}
	return &os.PathError{Op: "remove", Path: filepath.Join(places(state), name), Err: err}
}

// moveAudit moves the audit log to those of runs, by the id of the workspace, which was
// written down at its start.
func (p *Place) moveAudit(state string) error {
	parts := []string{audit.Older, audit.Name} // a reader meanwhile finds the newer part in one of both places
	parts = slices.DeleteFunc(parts, func(n string) bool {
		return errors.Is(unix.Faccessat(int(p.dir.Fd()), n, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT)
	})
	if len(parts) == 0 {
		return nil
	}
	to, err := p.auditDir(state)
	if err != nil {
		return fmt.Errorf("keeping the audit log: %w", err)
	}
	defer to.Close()
	for _, n := range parts {
		if err := unix.Renameat2(int(p.dir.Fd()), n, int(to.Fd()), n, unix.RENAME_NOREPLACE); err != nil {
			return &os.PathError{Op: "keep", Path: n, Err: err}
		}
	}
	return PruneRuns(state, MaxRunLogs)
}

// auditDir opens a directory for the audit log that holds none yet: that of the id, or, where
// an earlier log is or none is known, of a new one.
func (p *Place) auditDir(state string) (*os.File, error) {
	id := ""
	if o, err := p.owner(); err == nil {
		id = o.ID
	} else if m, err := readManifest(p.dir); err == nil {
		id = m.ID
	}
	for range 2 {
		if to, err := RunDir(state, id, true); err == nil {
			if errors.Is(unix.Faccessat(int(to.Fd()), audit.Name, unix.F_OK, unix.AT_SYMLINK_NOFOLLOW), unix.ENOENT) {
				return to, nil
			}
			to.Close()
		}
		var b [8]byte
		_, _ = rand.Read(b[:])
		id = hex.EncodeToString(b[:])
	}
	return RunDir(state, id, true)
}

// BelongTo writes down that the place of the workspace with an id goes with a process; with
// 0 for none, that it stays.
func (p *Place) BelongTo(id string, pid int) error {
	if pid == 0 {
		if err := unix.Unlinkat(int(p.dir.Fd()), ownerFile, 0); err != nil && err != unix.ENOENT {
			return &os.PathError{Op: "remove", Path: ownerFile, Err: err}
		}
		return nil
	}
	owner, err := supervisor.Identify(pid)
	if err != nil {
		return fmt.Errorf("process %d, with which the workspace is to end: %w", pid, err)
	}
	owner.ID = id
	return writeJSON(p.dir, ownerFile, owner, spool.WriteFile)
}

func (p *Place) owner() (m api.Manifest, err error) {
	text, err := spool.ReadFile(p.dir, ownerFile, 64<<10)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	return m, err
}

// OwnerEnded reports whether the place goes with a process that has ended.
func (p *Place) OwnerEnded() bool {
	m, err := p.owner()
	return err == nil && supervisor.Ended(m)
}

// RemoveFreed removes what a workspace has left, as [Place.Remove] does, as soon as its
// supervisor has let go of the name. What a person wanted of it does not count: the name is
// not used again. It is no error that nothing is there.
func RemoveFreed(ctx context.Context, state, name string) error {
	for {
		p, err := takeLeft(state, name)
		switch {
		case err == nil:
			defer p.Close()
			return p.Remove(state)
		case errors.Is(err, os.ErrNotExist), errors.Is(err, errMovedAway):
			return nil
		case !errors.Is(err, ErrTaken):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// SweepEnded removes the places that go with a process that has ended.
func SweepEnded(state string) error {
	all, err := os.Open(places(state))
	if err != nil {
		return err
	}
	defer all.Close()
	names, err := all.Readdirnames(maxNames)
	for _, name := range names {
		if _, no := os.Lstat(filepath.Join(places(state), name, ownerFile)); no != nil || CheckName(name) != nil {
			continue
		}
		p, taken := takeLeft(state, name)
		if taken != nil {
			continue // it runs, or was removed
		}
		if p.OwnerEnded() {
			err = errors.Join(err, p.Remove(state))
		}
		p.Close()
	}
	return err
}
