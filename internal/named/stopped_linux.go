package named

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/audit"

	"golang.org/x/sys/unix"
)

// List lists the workspaces of a state directory that were given a name, with what
// was last written down of each: one that runs is among them. state is the state directory.
func List(state string) ([]api.Desk, error) {
	dir, err := os.Open(places(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for workspaces: %w", err)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxNames)
	slices.Sort(names)
	var out []api.Desk
	for _, name := range names {
		if CheckName(name) != nil {
			continue
		}
		if m, err := Read(state, name); err == nil {
			out = append(out, m)
		}
	}
	return out, nil
}

// maxNames bounds how many are looked at.
const maxNames = 4096

// Read reads what was last written down of a workspace. One that could not say how
// it ended, because its supervisor was killed, is stopped if nobody holds its name.
func Read(state, name string) (api.Desk, error) {
	dir, err := openPlace(state, name, false)
	if err != nil {
		return api.Desk{}, missing(name, err)
	}
	defer dir.Close()
	m, err := readManifest(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.Notes = append(m.Notes, "its manifest cannot be read: "+err.Error())
	}
	m.Name = name
	if c, err := readControl(dir); err == nil {
		m.Control = c
	} else {
		m.Control = api.Control{Mode: api.ControlPaused, By: "supervisor", Reason: err.Error()}
	}
	if !held(dir) {
		if m.State != api.StateStopped && m.State != "" {
			m.Notes = append(m.Notes, "its supervisor was killed")
			for i := range m.Apps {
				m.Apps[i].Running, m.Apps[i].Processes = false, 0
			}
		}
		m.State = api.StateStopped
	}
	m.Artifact = artifacts(dir, filepath.Join(places(state), name))
	return m, nil
}

func missing(name string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return &advice.Error{Err: fmt.Errorf("no workspace %q", name), Hint: "`carrel list` names them"}
	}
	return err
}

// held says whether a process holds the name of an open place.
func held(dir *os.File) bool {
	fd, err := unix.Openat(int(dir.Fd()), holdFile, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}

// artifacts lists the files of a place.
func artifacts(dir *os.File, path string) []api.Artifact {
	again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()))
	if err != nil {
		return nil
	}
	defer again.Close()
	entries, _ := again.ReadDir(maxNames)
	var out []api.Artifact
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == holdFile || e.Name() == audit.Lock {
			continue
		}
		a := api.Artifact{Kind: "app-log", Path: filepath.Join(path, e.Name()), Bytes: info.Size()}
		switch name := strings.TrimSuffix(e.Name(), ".1"); name {
		case manifestFile:
			a.Kind = "manifest"
		case controlFile:
			a.Kind = "control"
		case audit.Name:
			a.Kind = "audit"
		case eventsFile:
			a.Kind = "events"
		case logFile:
			a.Kind = "supervisor-log"
		case ownerFile:
			a.Kind = "owner"
		default:
			a.Label, _, _ = strings.Cut(e.Name(), ".")
		}
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b api.Artifact) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// OpenAudit opens the audit log of a workspace, running or not, for reading.
func OpenAudit(state, name string) (*audit.Snapshot, error) {
	dir, err := openPlace(state, name, false)
	if err != nil {
		return nil, missing(name, err)
	}
	defer dir.Close()
	s, err := audit.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &advice.Error{Err: fmt.Errorf("workspace %q has no audit log", name), Hint: "`carrel audit list` has those of removed workspaces"}
	}
	return s, err
}
