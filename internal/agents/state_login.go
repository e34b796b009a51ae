package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
)

// Snapshot is what one side's login files hold: file, then key, to a digest of
// the value. An absent value has the digest "".
type Snapshot map[string]map[string]string

// Agreed is what the two sides of a private copy held when they were last
// brought together. They need not be alike: of what changes inside, only what
// belongs to a login goes to the host.
type Agreed struct {
	Host Snapshot `json:"host"`
	Copy Snapshot `json:"copy"`
}

func (a Agreed) of(file string) (host, mine map[string]string, known bool) {
	host, known = a.Host[file]
	return host, a.Copy[file], known
}

// whole is the key that stands for a whole file.
const whole = "*"

// SyncLogins brings the logins of the host and of the private copy together: what
// was renewed or made inside goes out, what was renewed outside comes in. Where
// both have changed the one that is valid longer wins, and the host's where that
// cannot be told. It is called while the agent runs, at once when a login changes:
// many tokens can be used for one renewal only, and whoever comes with the old one
// is logged out.
//
// The copy is untrusted: a file there counts only if it is a regular file reached
// without any link, at most 1 MiB. What a hostile run can do is put tokens of its
// own in place of a login; it reaches no other field, no other file, and no other
// place. Nothing is ever removed on the host.
//
// A file that before does not know is left alone: MirrorIn begins with it.
func SyncLogins(a Agent, places Places, before Agreed) (Agreed, []Note, error) {
	if _, err := os.Lstat(places.Private); errors.Is(err, fs.ErrNotExist) {
		return before, nil, nil
	}
	m, err := openMirror(a, places)
	if err != nil {
		return before, nil, err
	}
	defer m.close()
	after, err := m.logins(before, false)
	return after, m.notes, err
}

// logins brings all login files together. One that fails stays as it was agreed on.
func (m *mirrorer) logins(before Agreed, starts bool) (Agreed, error) {
	after := Agreed{Host: Snapshot{}, Copy: Snapshot{}}
	var failed error
	for _, file := range m.agent.MergeBack {
		l := &login{m: m, file: file, starts: starts}
		l.wasHost, l.wasCopy, l.known = before.of(file.File)
		if !l.known && !starts {
			continue
		}
		m.dropTemps(file)
		if err := l.sync(); err != nil {
			failed = errors.Join(failed, fmt.Errorf("bringing login %q together: %w", file.File, err))
			l.isHost, l.isCopy = l.wasHost, l.wasCopy
		}
		if l.isHost != nil {
			after.Host[file.File], after.Copy[file.File] = l.isHost, l.isCopy
		}
	}
	return after, failed
}

// login is one login file on its two sides.
type login struct {
	m      *mirrorer
	file   MergeFile
	starts bool

	known                            bool // there is something agreed on
	wasHost, wasCopy, isHost, isCopy map[string]string

	outside, inside         object
	outsideText, insideText []byte
}

func (l *login) sync() error {
	l.isHost, l.isCopy = l.wasHost, l.wasCopy
	if !l.readHost() || !l.readCopy() {
		return nil
	}
	in, out := object{}, object{}
	isHost, isCopy := map[string]string{}, map[string]string{}
	for _, key := range l.keys() {
		theirs, mine := digest(l.outside[key]), digest(l.inside[key])
		isHost[key], isCopy[key] = theirs, mine
		switch l.direction(key, theirs, mine) {
		case inward:
			in[key], isCopy[key] = l.outside[key], theirs
		case outward:
			if !l.mayMake(key, len(out)) {
				l.m.note(l.file.File, "%.60q is not merged back: its name, or so many logins, is what no agent makes", key)
			} else if renewed := l.renewed(key); renewed != nil {
				out[key], isHost[key] = renewed, digest(renewed)
			}
		}
	}
	if len(in) > 0 {
		if done, err := l.carryIn(in); err != nil || !done {
			return err
		}
	}
	if len(out) > 0 {
		if done, err := l.carryOut(out); err != nil || !done {
			return err
		}
	}
	l.isHost, l.isCopy = isHost, isCopy
	return nil
}

type direction uint8

const (
	neither direction = iota
	inward
	outward
)

// direction says which side of a key has to follow the other.
func (l *login) direction(key, theirs, mine string) direction {
	changedOutside := !l.known || theirs != l.wasHost[key]
	changedInside := l.known && mine != "" && mine != l.wasCopy[key]
	switch {
	case theirs == mine:
		return neither
	case changedInside && !changedOutside:
		return outward
	case changedInside && theirs == "": // logged out outside, and in again inside
		return outward
	case changedInside:
		inside, outside := validUntil(l.inside[key]), validUntil(l.outside[key])
		if inside > outside && outside > 0 {
			return outward
		}
		if inside == 0 || outside == 0 {
			l.m.note(l.file.File, "%q was renewed inside and changed outside: the one outside is kept", key)
		}
		return inward
	case theirs != "" && (changedOutside || l.starts):
		return inward
	}
	return neither
}

// keys are what is compared one by one: of a file with an entry for each provider
// those that either side has.
func (l *login) keys() []string {
	if l.file.Kinds == nil {
		return l.file.Keys
	}
	names := maps.Clone(l.outside)
	maps.Copy(names, l.inside)
	return slices.Sorted(maps.Keys(names))
}

// readHost reads the host's side; false where it cannot be used now.
func (l *login) readHost() (ok bool) {
	m, file := l.m, l.file
	l.outside = object{}
	if from, _, found := m.source(file.File); found && file.Opaque {
		text, err := readRegular(m.home, from, maxJSON)
		if err != nil {
			m.noteForNow(file.File, "left out: %v", err)
			return false
		}
		l.outside, l.outsideText = opaque(text), text
		return true
	} else if file.Opaque {
		return m.absent(file.File)
	}
	_, text, ok := m.hostObject(file.File, file.limit())
	if ok && text != nil {
		l.outside, _ = file.pick(text) // parsed before
		l.outsideText = text
	}
	return ok
}

// readCopy reads the side in the private copy. Before the agent starts, what is
// broken there counts as nothing.
func (l *login) readCopy() bool {
	l.inside = object{}
	m, place := l.m, l.file.Inside()
	for _, dir := range prefixes(path.Dir(place)) {
		info, err := m.private.Lstat(dir)
		if err != nil {
			return true
		}
		if !info.IsDir() {
			m.noteForNow(l.file.File, "not merged back: %q is no directory in the private copy", dir)
			return l.starts
		}
	}
	text, err := readRegular(m.private, place, l.file.limit())
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	var values object
	switch {
	case err != nil:
	case l.file.Opaque:
		values = opaque(text)
	default:
		values, err = l.file.pick(text)
	}
	if err != nil {
		if l.starts {
			m.note(place, "begun anew: %v", err)
		} else {
			m.noteForNow(l.file.File, "not merged back: %v", err)
		}
		return l.starts
	}
	l.inside, l.insideText = values, text
	return true
}

// opaque is a file as one value: its digest, since it need not be JSON.
func opaque(text []byte) object {
	sum := sha256.Sum256(text)
	return object{whole: json.RawMessage(`"` + hex.EncodeToString(sum[:]) + `"`)}
}

// mayMake says whether an entry may go out, beside some others that do.
func (l *login) mayMake(key string, others int) bool {
	return l.file.Kinds == nil || l.outside[key] != nil || plainName(key) && len(l.outside)+others < maxEntries
}

// renewed is what goes to the host for one key, nil for nothing.
func (l *login) renewed(key string) json.RawMessage {
	if l.file.Opaque {
		return l.inside[whole]
	}
	renewed := l.file.renewed(key, l.outside[key], l.inside[key])
	if !sameJSON(renewed, l.inside[key]) {
		l.m.note(l.file.File, "more than tokens changed inside: only those are merged back")
	}
	if renewed == nil || digest(renewed) == digest(l.outside[key]) {
		return nil
	}
	return renewed
}

// carryIn writes the host's values into the copy. It reports false where the agent
// has written meanwhile: then it is looked at anew.
func (l *login) carryIn(values object) (bool, error) {
	m, place := l.m, l.file.Inside()
	text := l.outsideText
	if !l.file.Opaque {
		var err error
		if text, err = l.file.put(l.insideText, values); err != nil {
			return false, fmt.Errorf("encoding private copy of %q: %w", place, err)
		}
		if int64(len(text)) > l.file.limit() && l.starts { // a copy that no agent could use
			m.note(place, "begun anew: it has grown too large")
			if text, err = l.file.put(nil, values); err != nil {
				return false, fmt.Errorf("encoding private copy of %q: %w", place, err)
			}
		}
	}
	if int64(len(text)) > l.file.limit() {
		m.noteForNow(l.file.File, "left out: the private copy would be larger than %d bytes", l.file.limit())
		return false, nil
	}
	if now, _ := readRegular(m.private, place, l.file.limit()); !l.starts && !bytes.Equal(now, l.insideText) {
		return false, nil
	}
	if err := m.put(place, text, 0o600); err != nil {
		return false, err
	}
	l.insideText = text
	return true, nil
}

// carryOut writes what was renewed or made inside to the host.
func (l *login) carryOut(values object) (bool, error) {
	text := l.insideText
	if !l.file.Opaque {
		var err error
		if text, err = l.file.put(l.outsideText, values); err != nil {
			return false, err
		}
	}
	// What goes out has to come in everywhere else, with room for what is renewed then.
	if most := l.file.limit() / 2; int64(len(text)) > most && len(text) > len(l.outsideText) {
		l.m.noteForNow(l.file.File, "not merged back: the host's file would be larger than %d bytes", most)
		return false, nil
	}
	done, err := l.m.replace(l.file, l.outsideText, text)
	if done && l.made(values) {
		l.m.note(l.file.File, "a login was made inside, and is now the host's too")
	}
	return done, err
}

// made says whether the host had nothing in place of one of the values.
func (l *login) made(values object) bool {
	for key := range values {
		if l.outside[key] == nil {
			return true
		}
	}
	return false
}

// Inside is where the file lies in the private copy.
func (m MergeFile) Inside() string {
	if m.Private != "" {
		return m.Private
	}
	return m.File
}

// limit bounds the file; one that holds other things beside the login may be large.
func (m MergeFile) limit() int64 {
	if m.Private != "" {
		return maxPartJSON
	}
	return maxJSON
}

// pick returns the values of a login file under the keys of m. With "*" the
// whole object is one value.
func (m MergeFile) pick(text []byte) (object, error) {
	o, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	if m.Kinds != nil {
		return o, nil
	}
	picked := object{}
	for _, key := range m.Keys {
		switch value, ok := o[key]; {
		case key == whole:
			picked[whole] = bytes.TrimSpace(text)
		case ok:
			picked[key] = value
		}
	}
	return picked, nil
}

// put returns the text of a login file with the values set.
func (m MergeFile) put(text []byte, values object) ([]byte, error) {
	if all, ok := values[whole]; ok && m.Kinds == nil {
		return append(bytes.Clone(all), '\n'), nil
	}
	o := object{}
	if len(text) > 0 {
		var err error
		if o, err = parseObject(text); err != nil {
			return nil, err
		}
	}
	for key, value := range values {
		o[key] = value
	}
	return o.encode(text)
}

// renewed is what goes to the host for one key. Without fields of a login a whole
// file is only renewed: a login that the host has not is not made there.
func (m MergeFile) renewed(key string, host, inside json.RawMessage) json.RawMessage {
	r := renewer{names: slices.Concat(tokenNames, m.Login), login: m.Login, kinds: m.Kinds, holds: m.Entries}
	switch {
	case key == whole && host == nil && m.Login == nil:
		return nil
	case m.Kinds == nil && key != whole:
		r.names = append(r.names, m.Keys...)
	case m.Kinds != nil:
		return r.at(host, inside, "", 1)
	}
	name := key
	if key == whole {
		name = ""
	}
	return r.at(host, inside, name, 0)
}
