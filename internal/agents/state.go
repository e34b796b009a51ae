package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Places names the two sides of a copy and what must never cross.
type Places struct {
	HostHome string // absolute home directory outside
	Private  string // absolute directory of the private copy; its parent is out of reach from inside
	Project  string // absolute; "" where the copy is for none

	// Secret lists further home-relative places (keys, other logins) that a
	// link in a Config directory must not bring in. The logins of all other
	// known agents are always refused.
	Secret []string

	// Hidden says of a place below home that programs of the workspace must not read
	// it; what a link leads to there is left out. nil: of none.
	Hidden func(place string) bool

	// Added is a Config file that Add adds something to in the copy; text is nil where the
	// host has no such file. "" for none.
	Added string
	Add   func(text []byte) ([]byte, error)

	MaxBytes int64 // bound on everything that is mirrored; 0 means 64 MiB
	MaxFiles int   // bound on the number of entries; 0 means 20,000
}

// Note is something that was not carried over, for the user to read.
type Note struct {
	File   string // home-relative
	Reason string
	Again  bool // it is told by the next SyncLogins too, if it is still so
}

// String gives a note as one line.
func (n Note) String() string { return fmt.Sprintf("%q: %s", n.File, n.Reason) }

const (
	defaultMaxBytes = 64 << 20
	defaultMaxFiles = 20_000
	maxJSON         = 1 << 20 // of a login file
	maxPartJSON     = 8 << 20 // of a file that also holds state, as .claude.json does
	maxNotes        = 100
)

// MirrorIn prepares the private copy of one agent before a start: it copies
// Config from the host exactly (what is gone there goes here too), copies Seed
// where it is absent, takes over the listed JSON keys, and brings the logins of
// both sides together as [SyncLogins] does. What the host has then, and was not
// renewed inside since, is what the copy has.
//
// before is what an earlier start or SyncLogins on this copy gave, empty for
// none. The new one holds digests only and is to be stored.
//
// What is too large, no regular file, or a link to where it must not lead is
// left out with a note. An error means that the copy could not be prepared.
// Callers let only one MirrorIn or SyncLogins at a time work on an agent.
func MirrorIn(a Agent, places Places, before Agreed) (Agreed, []Note, error) {
	m, err := openMirror(a, places)
	if err != nil {
		return before, nil, err
	}
	defer m.close()
	for _, dir := range a.State {
		if err := m.ensureDir(dir); err != nil {
			return before, m.notes, err
		}
	}
	for _, place := range a.Config {
		if err := m.mirror(place); err != nil {
			return before, m.notes, err
		}
	}
	for _, file := range a.Seed {
		if err := m.seed(file); err != nil {
			return before, m.notes, err
		}
	}
	after, err := m.logins(before, true)
	if err != nil {
		return before, m.notes, err
	}
	for _, part := range a.JSON { // what follows the login comes behind it
		if err := m.part(part); err != nil {
			return after, m.notes, err
		}
	}
	return after, m.notes, nil
}

// mirrorer is one MirrorIn or SyncLogins under way.
type mirrorer struct {
	agent   Agent
	home    *os.Root // the host's home: nothing is read outside of it
	private *os.Root // the private copy: nothing is written outside of it
	real    string   // canonical path of home
	secret  []string // home-relative places that must not be copied
	hidden  func(string) bool
	added   string
	add     func([]byte) ([]byte, error)
	project string
	bytes   int64 // left of the budget
	files   int
	notes   []Note
}

func openMirror(a Agent, places Places) (*mirrorer, error) {
	if err := checkPlaces(places); err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(places.HostHome)
	if err != nil {
		return nil, fmt.Errorf("opening home %q: %w", places.HostHome, err)
	}
	if err := os.MkdirAll(places.Private, 0o700); err != nil {
		return nil, fmt.Errorf("creating private copy %q: %w", places.Private, err)
	}
	home, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("opening home %q: %w", real, err)
	}
	private, err := os.OpenRoot(places.Private)
	if err != nil {
		home.Close()
		return nil, fmt.Errorf("opening private copy %q: %w", places.Private, err)
	}
	m := &mirrorer{
		agent: a, home: home, private: private, real: real,
		secret: a.foreign(slices.Concat(OtherCredentials(a.Name), places.Secret)),
		hidden: places.Hidden, added: places.Added, add: places.Add, project: places.Project,
		bytes: places.MaxBytes, files: places.MaxFiles,
	}
	if m.bytes == 0 {
		m.bytes = defaultMaxBytes
	}
	if m.files == 0 {
		m.files = defaultMaxFiles
	}
	return m, nil
}

// checkPlaces refuses what cannot be meant.
func checkPlaces(places Places) error {
	for what, dir := range map[string]string{"home": places.HostHome, "private copy": places.Private} {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			return fmt.Errorf("%s %q: want an absolute directory below /", what, dir)
		}
	}
	return nil
}

func (m *mirrorer) close() {
	m.home.Close()
	m.private.Close()
}

// note records what was left out; a flood is cut short.
func (m *mirrorer) note(file, format string, args ...any) {
	switch {
	case len(m.notes) < maxNotes:
		m.notes = append(m.notes, Note{File: file, Reason: fmt.Sprintf(format, args...)})
	case len(m.notes) == maxNotes:
		m.notes = append(m.notes, Note{File: file, Reason: "left out, as are others after it"})
	}
}

// noteForNow is a note on what may be otherwise the next time.
func (m *mirrorer) noteForNow(file, format string, args ...any) {
	m.note(file, format, args...)
	m.notes[len(m.notes)-1].Again = true
}

// foreign leaves out of a list of secret places those that are or hold the
// agent's own: a caller may give one list for all agents.
func (a Agent) foreign(secrets []string) []string {
	own := slices.Concat(a.State, a.Config, a.Seed, a.Credentials)
	return slices.DeleteFunc(secrets, func(secret string) bool {
		return slices.ContainsFunc(own, func(place string) bool { return below(place, secret) })
	})
}

// isSecret reports whether a home-relative place is, holds or lies in a place
// that must not be copied.
func (m *mirrorer) isSecret(place string) bool {
	for _, secret := range m.secret {
		secret = strings.TrimSuffix(secret, "/")
		if below(place, secret) || below(secret, place) {
			return true
		}
	}
	return false
}
