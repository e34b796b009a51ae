package agents

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// object is a JSON object of which every value keeps its bytes.
type object map[string]json.RawMessage

// parseObject reads a JSON object and nothing behind it.
func parseObject(text []byte) (object, error) {
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	if o == nil {
		return nil, errors.New("no JSON object: null")
	}
	return o, nil
}

// encode writes an object, indented as that text is; without one on a single line, so
// that nothing grows by white space of ours.
func (o object) encode(like []byte) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if indent := indentOf(like); indent != "" {
		enc.SetIndent("", indent)
	}
	if err := enc.Encode(o); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// maxIndent bounds what a level is indented by: the text may come from inside.
const maxIndent = 8

// indentOf is what the first field of a text is indented by, "" where it is on one line.
func indentOf(text []byte) string {
	text = bytes.TrimSpace(text)
	at := bytes.IndexByte(text, '\n')
	if at < 0 {
		return ""
	}
	text = text[at+1:]
	indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
	return string(indent[:min(len(indent), maxIndent)])
}

// digest identifies a JSON value by its meaning apart from white space; it is
// "" for a value that is absent.
func digest(value json.RawMessage) string {
	if value == nil {
		return ""
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		compact.Reset()
		compact.Write(value)
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:])
}

// part takes single keys of a file over from the host.
func (m *mirrorer) part(p JSONPart) error {
	host, _, ok := m.hostObject(p.Host, maxPartJSON)
	if !ok {
		return nil
	}
	mine := object{}
	text, err := readRegular(m.private, p.Private, maxPartJSON)
	if err == nil {
		if mine, err = parseObject(text); err != nil {
			m.note(p.Private, "begun anew: %v", err)
			mine, text = object{}, nil
		}
	}
	before, _ := mine.encode(text)
	p.apply(host, mine)
	p.trust(host, mine, m.project)
	after, err := mine.encode(text)
	if err != nil {
		return fmt.Errorf("encoding private copy of %q: %w", p.Private, err)
	}
	if text != nil && bytes.Equal(before, after) {
		return nil
	}
	return m.put(p.Private, after, 0o600)
}

// apply changes mine by the host's values.
func (p JSONPart) apply(host, mine object) {
	for _, key := range p.Seed {
		if value, ok := host[key]; ok && mine[key] == nil {
			mine[key] = value
		}
	}
	for _, key := range p.Follow {
		if value, ok := host[key]; ok {
			mine[key] = value
		}
	}
	for _, key := range p.Mirror {
		delete(mine, key)
		if value, ok := host[key]; ok {
			mine[key] = value
		}
	}
}

// hostObject reads a JSON object of the host. Reports false when the file must
// not be used; a file that is not there is an empty object.
func (m *mirrorer) hostObject(file string, limit int64) (object, []byte, bool) {
	from, _, ok := m.source(file)
	if !ok {
		return object{}, nil, m.absent(file)
	}
	text, err := readRegular(m.home, from, limit)
	if err != nil {
		m.noteForNow(file, "left out: %v", err)
		return nil, nil, false
	}
	o, err := parseObject(text)
	if err != nil {
		m.noteForNow(file, "left out: %v", err)
		return nil, nil, false
	}
	return o, text, true
}

// absent reports whether the host has nothing at a place.
func (m *mirrorer) absent(file string) bool {
	rel, err := follow(m.real, file, false)
	if err != nil {
		return false
	}
	_, err = m.home.Lstat(rel)
	return errors.Is(err, fs.ErrNotExist)
}

// seed copies a file once.
func (m *mirrorer) seed(file string) error {
	if err := m.ensureDir(path.Dir(file)); err != nil {
		return err
	}
	if info, err := m.private.Lstat(file); err == nil && info.Mode().IsRegular() {
		return nil
	}
	from, info, ok := m.source(file)
	if !ok || m.hides(from, file) {
		return nil
	}
	if !info.Mode().IsRegular() {
		m.note(file, "left out: %s is no regular file", info.Mode().Type())
		return nil
	}
	return m.file(from, file, info)
}
