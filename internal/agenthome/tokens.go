package agenthome

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/agents"
	"carrel/internal/hostfile"
	"carrel/internal/logins"
	"carrel/internal/statedir"
)

// Tokens lie in a private copy only while an agent runs. Each run of a project shares a
// lock beside the copy; the last one to end has it alone, and removes them. What a killed
// run has left, any later run of the same agent removes.

// usedSuffix follows the name of the private copy in that of its lock.
const usedSuffix = ".used"

// use keeps other runs from removing the tokens. The logins are locked.
func (h *Home) use() (err error) {
	if h.used == nil {
		h.used, err = hostfile.Share(h.private()+usedSuffix, 0)
	}
	return err
}

// dropTokens ends the use of the copy. A run that has failed before it used one does nothing.
func (h *Home) dropTokens() {
	if h.used == nil {
		return
	}
	l := h.those()
	unlock, err := l.Hold()
	h.used()
	h.used = nil
	if err == nil {
		defer unlock()
		err = dropUnused(l)
	}
	if err != nil {
		h.Note("%s: its login stays in the private copy: %v", h.Agent.Name, err)
	}
	if err == nil {
		h.dropLeftTokens()
	}
}

// dropUnused removes the tokens of a copy that no run uses. The logins are locked.
func dropUnused(l logins.Logins) error {
	alone, err := hostfile.Lock(l.Places.Private+usedSuffix, 0)
	if err != nil {
		if _, missing := os.Lstat(l.Places.Private + usedSuffix); missing == nil {
			return nil // another run of the project uses it
		}
		return err
	}
	defer alone()
	return agents.DropLogins(l.Agent, l.Places, l.Agreed())
}

// dropLeftTokens looks for tokens in the copies of other projects. The logins are locked.
func (h *Home) dropLeftTokens() {
	projects := filepath.Join(h.State.Root(), "projects")
	entries, err := os.ReadDir(projects)
	if err != nil {
		return
	}
	for _, e := range entries {
		private := filepath.Join(projects, e.Name(), "agents", h.Agent.Name)
		if !statedir.IsProjectID(e.Name()) || private == h.private() || !hasTokens(h.Agent, private) {
			continue
		}
		l := h.those()
		l.Places = agents.Places{HostHome: h.Host, Private: private}
		if err := dropUnused(l); err != nil {
			h.Note("%s: a login stays in %q: %v", h.Agent.Name, private, err)
		}
	}
}

// hasTokens says whether there is a login file in a copy.
func hasTokens(a agents.Agent, private string) bool {
	for _, place := range a.TokenPlaces() {
		if _, err := os.Lstat(filepath.Join(private, place)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
