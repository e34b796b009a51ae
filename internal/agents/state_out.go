package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// MergeOut carries renewed logins from the private copy back to the host after
// a run: the listed keys that changed inside, and only where the host still
// has what before says. Where both sides changed, the host's stays and a note
// says so. Nothing is ever removed on the host.
//
// The copy is untrusted: a file there counts only if it is a regular file
// reached without any link, at most 1 MiB, and a JSON object. What a hostile
// run can do is replace the tokens of a login by others; it reaches no other
// field, no other file, and no other place.
func MergeOut(a Agent, places Places, before Snapshot) ([]Note, error) {
	if _, err := os.Lstat(places.Private); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m, err := openMirror(a, places)
	if err != nil {
		return nil, err
	}
	defer m.close()
	var failed error
	for _, file := range a.MergeBack {
		known, ok := before[file.File]
		if !ok {
			continue
		}
		if err := m.mergeOut(file, known); err != nil {
			failed = errors.Join(failed, fmt.Errorf("merging login %q back: %w", file.File, err))
		}
	}
	return m.notes, failed
}

// mergeOut merges one file.
func (m *mirrorer) mergeOut(file MergeFile, before map[string]string) error {
	inside, ok := m.inside(file)
	if !ok {
		return nil
	}
	_, text, ok := m.hostObject(file.File, maxJSON)
	if !ok {
		return nil
	}
	outside := object{}
	if text != nil {
		outside, _ = file.pick(text) // parsed before
	}
	changed := object{}
	for _, key := range file.Keys {
		mine, theirs := digest(inside[key]), digest(outside[key])
		switch {
		case mine == "" || mine == before[key] || mine == theirs:
		case theirs != before[key]:
			m.note(file.File, "%q was renewed inside and changed outside: the one outside is kept", key)
		default:
			if renewed := file.renewed(key, outside[key], inside[key]); renewed != nil && digest(renewed) != theirs {
				changed[key] = renewed
			}
			if !file.onlyTokens(key, outside[key], inside[key]) {
				m.note(file.File, "more than tokens changed inside: only those are merged back")
			}
		}
	}
	if len(changed) == 0 {
		return nil
	}
	merged, err := file.put(text, changed)
	if err != nil {
		return err
	}
	return m.replace(file.File, text, merged)
}

// renewed is what goes to the host for one key. A whole file is only renewed:
// a login that the host has not is not made there.
func (m MergeFile) renewed(key string, host, inside json.RawMessage) json.RawMessage {
	if key == whole && host == nil {
		return nil
	}
	if key == whole {
		return renew(host, inside, nil)
	}
	return renewAt(host, inside, key, append(slices.Clone(m.Keys), tokenNames...), 0)
}

// onlyTokens says whether everything that changed inside is carried over.
func (m MergeFile) onlyTokens(key string, host, inside json.RawMessage) bool {
	return sameJSON(m.renewed(key, host, inside), inside)
}

// inside reads the wanted values of a login file in the private copy.
func (m *mirrorer) inside(file MergeFile) (object, bool) {
	for _, dir := range prefixes(path.Dir(file.File)) {
		info, err := m.private.Lstat(dir)
		if err != nil {
			return nil, false
		}
		if !info.IsDir() {
			m.note(file.File, "not merged back: %q is no directory in the private copy", dir)
			return nil, false
		}
	}
	text, err := readRegular(m.private, file.File, maxJSON)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	var values object
	if err == nil {
		values, err = file.pick(text)
	}
	if err != nil {
		m.note(file.File, "not merged back: %v", err)
		return nil, false
	}
	return values, true
}

// replace puts new content in place of a login file on the host, as one step:
// a temporary file beside it, written, synced and renamed. was is the content
// that the new one was made from, nil for none.
func (m *mirrorer) replace(file string, was, text []byte) error {
	target, mode := file, fs.FileMode(0o600)
	if was != nil {
		from, info, ok := m.source(file) // a link to elsewhere in home stays one
		if !ok {
			return nil
		}
		target, mode = from, info.Mode().Perm()
	} else if !m.isHostDir(path.Dir(file)) {
		m.note(file, "not merged back: %q does not exist on the host", path.Dir(file))
		return nil
	}
	temp := fmt.Sprintf("%s.%d%s", target, os.Getpid(), tempSuffix)
	if err := m.writeTemp(temp, text, mode); err != nil {
		return err
	}
	now, err := readRegular(m.home, target, maxJSON)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, was) {
		m.home.Remove(temp)
		m.note(file, "not merged back: changed outside at the same time")
		return nil
	}
	if err := m.home.Rename(temp, target); err != nil {
		m.home.Remove(temp)
		return err
	}
	return m.syncDir(path.Dir(filepath.ToSlash(target)))
}

func (m *mirrorer) isHostDir(place string) bool {
	info, err := m.home.Stat(place)
	return err == nil && info.IsDir()
}

// writeTemp writes and syncs a new file in the host's home.
func (m *mirrorer) writeTemp(temp string, text []byte, mode fs.FileMode) error {
	f, err := m.home.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o600|0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		m.home.Remove(temp)
	}
	return err
}

// syncDir makes a rename last; a file system that cannot is left at that.
func (m *mirrorer) syncDir(dir string) error {
	f, err := m.home.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = f.Sync()
	return nil
}

// sameJSON compares two values by meaning: white space and the order of fields
// do not count.
func sameJSON(a, b json.RawMessage) bool { return canonicalJSON(a) == canonicalJSON(b) }

// canonicalJSON gives a value with sorted fields, "" for what is none.
func canonicalJSON(text json.RawMessage) string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return ""
	}
	out, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(out)
}
