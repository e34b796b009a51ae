package named

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"carrel/internal/api"
	"carrel/internal/spool"

	"golang.org/x/sys/unix"
)

// Place is where a workspace that stays keeps what outlives it:
// workspaces/NAME in the state directory, 0700.
//
//	lock             held by whoever starts it, as long as it runs
//	manifest.json    one api.Desk
//	control.json     one api.Control
//	owner.json       of one that goes with a process: its id, and the process, as an api.Manifest
//	events           one api.Event a line, see package spool
//	audit.jsonl      one api.AuditRecord a line, see package audit
//	audit.lock       held by who writes that
//	APP.stdout       what an app has written, see package spool
//	APP.stderr
//	supervisor.log   what the supervisor itself has to say
type Place struct {
	dir  *os.File
	lock *os.File
}

// Files of a workspace's place, and bounds on them in bytes.
const (
	holdFile     = "lock"
	manifestFile = "manifest.json"
	controlFile  = "control.json"
	ownerFile    = "owner.json"
	eventsFile   = "events"
	logFile      = "supervisor.log"

	maxManifestFile = 8 << 20
	maxEventsFile   = 16 << 20
	maxAppLog       = 8 << 20 // of one stream
	maxAuditFile    = 32 << 20
)

// ErrTaken means that another process holds the name.
var ErrTaken = errors.New("another process holds this name")

// places is where all workspaces of a state directory are.
func places(state string) string { return filepath.Join(state, "workspaces") }

// openPlace opens the place of a name, and makes it where make is set.
func openPlace(state, name string, make bool) (*os.File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	all, err := openBelow(unix.AT_FDCWD, places(state), make)
	if err != nil {
		return nil, err
	}
	defer all.Close()
	return openBelow(int(all.Fd()), name, make)
}

// openBelow opens a directory of this user alone, which is no link.
func openBelow(at int, name string, make bool) (*os.File, error) {
	if make {
		if err := unix.Mkdirat(at, name, 0o700); err != nil && err != unix.EEXIST {
			return nil, &os.PathError{Op: "mkdir", Path: name, Err: err}
		}
	}
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if make && err == unix.ENOENT {
		return nil, errMovedAway
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		unix.Close(fd)
		return nil, fmt.Errorf("%q is not a directory of this user alone; make it 0700", name)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// Take opens the place of a name and holds it: another that wants it gets
// ErrTaken until this process has ended.
func Take(state, name string) (*Place, error) {
	for range maxTakes {
		dir, err := openPlace(state, name, true)
		if err == nil {
			var place *Place
			if place, err = lockPlace(state, name, dir); err == nil {
				return place, nil
			}
			dir.Close()
		}
		if !errors.Is(err, errMovedAway) {
			return nil, err
		}
	}
	return nil, errMovedAway
}

const maxTakes = 50

var errMovedAway = errors.New("the place of the workspace was removed meanwhile")

// lockPlace takes the lock of an open place, and sees that the lock is still the name's.
func lockPlace(state, name string, dir *os.File) (*Place, error) {
	fd, err := unix.Openat(int(dir.Fd()), holdFile, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err == unix.ENOENT {
		return nil, errMovedAway
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Join(places(state), name, holdFile), Err: err}
	}
	lock := os.NewFile(uintptr(fd), holdFile)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if err == unix.EWOULDBLOCK {
			err = ErrTaken
		}
		return nil, err
	}
	var held, there unix.Stat_t
	again, err := openPlace(state, name, false)
	if err == nil {
		err = errors.Join(unix.Fstat(fd, &held), unix.Fstatat(int(again.Fd()), holdFile, &there, unix.AT_SYMLINK_NOFOLLOW))
		again.Close()
	}
	if err != nil || held.Ino != there.Ino || held.Dev != there.Dev { // its holder before has removed it
		lock.Close()
		return nil, errMovedAway
	}
	return &Place{dir: dir, lock: lock}, nil
}

// SweepLogs removes what the apps of an earlier workspace of that name have written: the
// manifest that tells which is whose is about to be replaced.
func (p *Place) SweepLogs() {
	for _, a := range artifacts(p.dir, "") {
		if a.Kind == "app-log" {
			_ = unix.Unlinkat(int(p.dir.Fd()), filepath.Base(a.Path), 0)
		}
	}
}

// Close lets go of the name. It may be called on nil.
func (p *Place) Close() {
	if p != nil {
		p.lock.Close()
		p.dir.Close()
	}
}

// Control reads the mode that was written down last. What cannot be read is paused:
// nobody knows what the person wanted.
func (p *Place) Control() api.Control {
	c, err := readControl(p.dir)
	if err != nil {
		return api.Control{Mode: api.ControlPaused, Since: time.Now(), By: "supervisor", Reason: "the mode that was written down cannot be read: " + err.Error()}
	}
	return c
}

func readControl(dir *os.File) (api.Control, error) {
	c := api.Control{Mode: api.ControlActive, Since: time.Now(), By: "start"}
	text, err := spool.ReadFile(dir, controlFile, 64<<10)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	var kept api.Control
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return c, err
	}
	switch kept.Mode {
	case api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlPaused:
		return kept, nil
	}
	return c, fmt.Errorf("%q is no mode", kept.Mode)
}

// KeepControl writes the mode down.
func (p *Place) KeepControl(c api.Control) error {
	return writeJSON(p.dir, controlFile, c, spool.WriteFile)
}

// KeepManifest writes the manifest down; last has it reach the disk.
func (p *Place) KeepManifest(m *api.Desk, last bool) error {
	write := spool.WriteOften
	if last {
		write = spool.WriteFile
	}
	return writeJSON(p.dir, manifestFile, m, write)
}

func writeJSON(dir *os.File, name string, v any, write func(*os.File, string, []byte) error) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return write(dir, name, append(text, '\n'))
}

// readManifest reads the manifest of a place.
func readManifest(dir *os.File) (api.Desk, error) {
	var m api.Desk
	text, err := spool.ReadFile(dir, manifestFile, maxManifestFile)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("reading the manifest: %w", err)
	}
	return m, nil
}
