package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// DropLogins removes from a private copy the logins and keys that the next [MirrorIn]
// brings in again: tokens lie in it only while an agent runs. agreed is what the last
// MirrorIn or SyncLogins on this copy gave. A login that was made inside and is not the
// host's stays, and so does one that has changed since.
//
// Callers see to it that no agent uses the copy.
func DropLogins(a Agent, places Places, agreed Agreed) error {
	if _, err := os.Lstat(places.Private); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	m, err := openMirror(a, places)
	if err != nil {
		return err
	}
	defer m.close()
	var failed error
	for _, file := range a.tokenFiles() {
		failed = errors.Join(failed, m.dropLogin(file, agreed))
	}
	for _, place := range a.Credentials {
		if slices.ContainsFunc(a.Config, func(c string) bool { return below(place, c) }) {
			failed = errors.Join(failed, m.drop(place))
		}
	}
	for _, part := range a.JSON {
		failed = errors.Join(failed, m.dropMirrored(part))
	}
	return failed
}

// tokenFiles are the login files that hold tokens. One with a place of its own in the
// copy is the agent's state, and says only which account the login is of.
func (a Agent) tokenFiles() []MergeFile {
	return slices.DeleteFunc(slices.Clone(a.MergeBack), func(f MergeFile) bool { return f.Private != "" })
}

// TokenPlaces are the places in a private copy where logins lie while the agent runs.
func (a Agent) TokenPlaces() []string {
	var places []string
	for _, f := range a.tokenFiles() {
		places = append(places, f.File)
	}
	return places
}

// dropLogin removes the values of one login file that are the host's too. What cannot be
// read counts as nothing, as it does at a start.
func (m *mirrorer) dropLogin(file MergeFile, agreed Agreed) error {
	l := &login{m: m, file: file, starts: true}
	l.readCopy()
	host, mine, _ := agreed.of(file.File)
	rest := object{}
	if !file.Opaque && l.insideText != nil && !slices.Contains(file.Keys, whole) {
		rest, _ = parseObject(l.insideText) // parsed before
	}
	kept := 0
	for key, value := range l.inside {
		if host[key] == "" || digest(value) != mine[key] {
			kept++
			continue
		}
		delete(rest, key)
	}
	switch {
	case kept > 0 && kept == len(l.inside):
		return nil
	case len(rest) == 0:
		return m.drop(file.File)
	}
	text, err := rest.encode(l.insideText)
	if err != nil {
		return fmt.Errorf("encoding private copy of %q: %w", file.File, err)
	}
	return m.put(file.File, text, 0o600)
}

// dropMirrored removes the keys of a file that have to be as the host has them, such as
// MCP servers, which have keys in their variables and headers.
func (m *mirrorer) dropMirrored(p JSONPart) error {
	text, err := readRegular(m.private, p.Private, maxPartJSON)
	if err != nil {
		return nil
	}
	mine, err := parseObject(text)
	if err != nil {
		return nil
	}
	before := len(mine)
	for _, key := range p.Mirror {
		delete(mine, key)
	}
	if len(mine) == before {
		return nil
	}
	if text, err = mine.encode(text); err != nil {
		return fmt.Errorf("encoding private copy of %q: %w", p.Private, err)
	}
	return m.put(p.Private, text, 0o600)
}
