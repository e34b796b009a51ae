package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"carrel/internal/advice"
	"carrel/internal/agents"
	"carrel/internal/hostfile"
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
func (p *Prepared) beginShared() error {
	dir := filepath.Join(p.state.Root(), "agents", p.Agent.Name+".shared")
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
			p.killed = append(p.killed, sharedRun{file, time.Unix(0, began), unlock})
		}
	}
	if p.shared != nil {
		return nil
	}
	// A moment before: what the kernel stamps files with is a little behind the clock.
	since := time.Now().Add(-time.Second)
	file := filepath.Join(dir, strconv.FormatInt(since.UnixNano(), 10))
	unlock, err := hostfile.Lock(file, 0)
	if err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	p.shared = &sharedRun{file, since, unlock}
	return nil
}

// dropKilled removes what killed runs have left. It may take its time, so nobody waits
// for it: who begins meanwhile takes them for ones that live.
func (p *Prepared) dropKilled() {
	killed := p.killed
	p.killed = nil
	if len(killed) == 0 {
		return
	}
	slices.SortFunc(killed, func(a, b sharedRun) int { return a.since.Compare(b.since) })
	past := killed
	if !p.dropLeft(killed[0].since) {
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
func (p *Prepared) dropLinks() {
	if p.shared == nil {
		return
	}
	if p.dropLeft(p.shared.since) {
		os.Remove(p.shared.file) // else the next start looks again
	}
	p.shared.unlock()
	p.shared = nil
}

// dropLeft removes what was made in shared places since a time and would lead an agent
// outside astray: links out of them, through which it would write elsewhere when it goes
// on with a transcript, and pipes, at which it would wait for ever. It reports false
// where it has not seen all.
func (p *Prepared) dropLeft(since time.Time) bool {
	all, until := true, time.Now().Add(sharedTime)
	for _, s := range p.Agent.Shared {
		if !s.File {
			all = p.dropLeftIn(s, since, until, maxShared) && all
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
