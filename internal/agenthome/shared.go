package agenthome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"carrel/internal/advice"
	"carrel/internal/agents"
	"carrel/internal/hostfile"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
)

// What is looked at for links, as programs inside say how much there is.
const (
	maxShared  = 1_000_000       // names in each shared place
	sharedTime = 5 * time.Second // for all of them
)

// sharedRun is written down while a run shares the home: what it leaves is found when
// it was killed. The file's name is when it began, in nanoseconds, and it is locked as
// long as the run lives.
type sharedRun struct {
	file   string
	since  time.Time
	unlock func()
}

// beginShared writes down that a run begins, and which ones were killed. The agent's
// logins are locked, so no other run begins at the same time.
func (h *Home) beginShared() error {
	dir := filepath.Join(h.State.Root(), "agents", h.Agent.Name+".shared")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	for _, e := range entries {
		began, err := strconv.ParseInt(e.Name(), 10, 64)
		file := filepath.Join(dir, e.Name())
		if err != nil {
			continue
		}
		if unlock, err := hostfile.Lock(file, 0); err == nil {
			h.killed = append(h.killed, sharedRun{file, time.Unix(0, began), unlock})
		}
	}
	if h.run != nil {
		return nil
	}
	// A moment before: what the kernel stamps files with is a little behind the clock.
	since := time.Now().Add(-time.Second)
	file := filepath.Join(dir, strconv.FormatInt(since.UnixNano(), 10))
	unlock, err := hostfile.Lock(file, 0)
	if err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	h.run = &sharedRun{file, since, unlock}
	return nil
}

// dropKilled removes what killed runs have left. It may take its time, so no other
// start waits for it: one that begins meanwhile takes them for runs that live.
func (h *Home) dropKilled() {
	killed := h.killed
	h.killed = nil
	if len(killed) == 0 {
		return
	}
	slices.SortFunc(killed, func(a, b sharedRun) int { return a.since.Compare(b.since) })
	past := killed
	if !h.dropLeft(killed[0].since) {
		past = killed[1:] // the oldest stands for all
	}
	for _, k := range past {
		os.Remove(k.file)
	}
	for _, k := range killed {
		k.unlock()
	}
}

// dropLinks ends what beginShared began.
func (h *Home) dropLinks() {
	if h.run == nil {
		return
	}
	if h.dropLeft(h.run.since) {
		os.Remove(h.run.file) // else the next start looks again
	}
	h.run.unlock()
	h.run = nil
}

// dropLeft removes what was made in shared places since a time and would lead an agent
// outside astray: links out of them, through which it would write elsewhere when it goes
// on with a transcript, and pipes, at which it would wait for ever. It reports false
// where it has not seen all.
func (h *Home) dropLeft(since time.Time) bool {
	all, until := true, time.Now().Add(sharedTime)
	for _, s := range h.Agent.Shared {
		if !s.File {
			all = h.dropLeftIn(s, since, until, maxShared) && all
		}
	}
	return all
}

// realShared is where a shared place of the host lies, and below which directory.
func realShared(home string, s agents.SharedPlace) (root, place string, err error) {
	dir, name := s.Place, ""
	if s.File { // it is opened as what it is
		dir, name = filepath.Split(s.Place)
	}
	root, place, err = agents.Follow(home, dir)
	if err == nil && place == "." && !s.File {
		err = errors.New("it leads to the home directory itself")
	}
	if err != nil {
		return "", "", &advice.Error{Err: err, Hint: "--agent-home private"}
	}
	return root, filepath.Join(place, name), nil
}

// share makes the places that are shared where the host has none, and gives the mounts
// that put them over the private copy.
func (h *Home) share() ([]sandbox.Mount, error) {
	if h.Bare {
		return nil, &advice.Error{Err: fmt.Errorf("%s: agent_home shared cannot be held with engine landlock: without mounts the copy and the host's places cannot be put together", h.By),
			Hint: "--agent-home private"}
	}
	for _, s := range h.Agent.Shared {
		made, err := makeShared(h.Host, s)
		if err != nil {
			return nil, fmt.Errorf("%s: agent_home shared: ~/%s: %w", h.By, s.Place, err)
		}
		at := filepath.Join(h.Host, s.Place)
		h.Facts.Forget(at)
		real := h.Facts.Canonical(at)
		if real != made { // what is bound is what was looked at
			return nil, fmt.Errorf("%s: agent_home shared: ~/%s leads to %q now, and led to %q before", h.By, s.Place, real, made)
		}
		if pathname.Within(real, h.Project) || pathname.Within(h.Project, real) {
			return nil, fmt.Errorf("%s: agent_home shared: ~/%s leads to %q, into or around the project", h.By, s.Place, real)
		}
		for _, name := range s.Except {
			if err := h.clearPlace(filepath.Join(at, name), true); err != nil {
				return nil, fmt.Errorf("the private copy of ~/%s/%s: %w", s.Place, name, err)
			}
		}
	}
	return h.binds(agents.PlanShared(h.Agent, h.Host, h.Inside, h.private()), "agent_home shared"), h.beginShared()
}

// makeShared makes a shared place of the host, and what is left out of it, where they
// are missing: a mount needs a place. It gives the path without links. The user's own
// link to elsewhere below home leads there, see [agents.Follow]; one in a place that
// commands write leads nowhere.
func makeShared(home string, s agents.SharedPlace) (string, error) {
	top, at, err := realShared(home, s)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if s.File {
		if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return "", err
		}
		f, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_APPEND|hostfile.NoFollow, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return "", errors.New("want a regular file")
		}
		return filepath.Join(top, at), nil
	}
	if err := root.MkdirAll(at, 0o700); err != nil {
		return "", err
	}
	for _, name := range s.Except {
		place := filepath.Join(at, name)
		if err := root.Mkdir(place, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if st, err := root.Lstat(place); err != nil || !st.IsDir() {
			return "", fmt.Errorf("%q in it is no directory", name)
		}
	}
	return filepath.Join(top, at), nil
}
