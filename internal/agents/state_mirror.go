package agents

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// tempSuffix marks files that are being written in a private copy. A leftover
// of a killed start below Config goes at the next one.
const tempSuffix = ".carrel-tmp"

// job is one place still to mirror; a list in place of recursion bounds depth.
type job struct {
	from string // home-relative place on the host, all links resolved
	to   string // place in the private copy
}

// mirror makes one Config place in the copy equal to the host's.
func (m *mirrorer) mirror(place string) error {
	if isPattern(place) {
		return m.mirrorPattern(place)
	}
	return m.mirrorTree(place)
}

// mirrorPattern mirrors what either side has under a pattern.
func (m *mirrorer) mirrorPattern(place string) error {
	dir, pattern := path.Dir(place), path.Base(place)
	names := map[string]bool{}
	outside, err := follow(m.real, dir, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.note(dir, "not listed: %v", err)
	}
	for at, root := range map[string]*os.Root{outside: m.home, "./" + dir: m.private} {
		if at == "" {
			continue
		}
		entries, err := readDir(root, at, m.files)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.note(dir, "not listed: %v", err)
		}
		for _, entry := range entries {
			if ok, _ := path.Match(pattern, entry.Name()); ok {
				names[entry.Name()] = true
			}
		}
	}
	for name := range names {
		if err := m.mirrorTree(path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// mirrorTree mirrors a file or directory. A link on the host is followed only
// to a place in home that is nobody else's login.
func (m *mirrorer) mirrorTree(place string) error {
	jobs := []job{{place, place}}
	for len(jobs) > 0 {
		next := jobs[len(jobs)-1]
		jobs = jobs[:len(jobs)-1]
		more, err := m.one(next)
		if err != nil {
			return err
		}
		jobs = append(jobs, more...)
	}
	return nil
}

// one mirrors one place and returns what lies in it.
func (m *mirrorer) one(j job) ([]job, error) {
	from, info, ok := m.sourceBelow(j.from, j.from != j.to)
	if !ok && j.to == m.added {
		return nil, m.put(j.to, m.withAdded(j.to, nil), 0o600)
	}
	if !ok || m.hides(from, j.to) {
		return nil, m.drop(j.to)
	}
	if m.files--; m.files < 0 {
		m.note(j.to, "left out: more than the allowed number of files")
		return nil, m.drop(j.to)
	}
	switch {
	case info.IsDir():
		if depth(j.to) > maxDepth {
			m.note(j.to, "left out: more than %d levels deep", maxDepth)
			return nil, m.drop(j.to)
		}
		return m.directory(from, j.to)
	case info.Mode().IsRegular():
		return nil, m.file(from, j.to, info)
	}
	m.note(j.to, "left out: %s is no regular file", info.Mode().Type())
	return nil, m.drop(j.to)
}

// source resolves a place on the host, see [Follow]. Nothing there is no reason for a note.
func (m *mirrorer) source(place string) (string, fs.FileInfo, bool) {
	return m.sourceBelow(place, false)
}

// sourceBelow does so for what was perhaps reached by a link already.
func (m *mirrorer) sourceBelow(place string, linked bool) (string, fs.FileInfo, bool) {
	rel, err := follow(m.real, place, linked)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.note(place, "left out: %v", err)
		}
		return "", nil, false
	}
	if m.isSecret(rel) {
		m.note(place, "left out: a link leads to %q, which holds secrets", rel)
		return "", nil, false
	}
	// rel has no link left; os.Root keeps it in home should one appear now.
	info, err := m.home.Lstat(rel)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			m.note(place, "left out: %v", err)
		}
		return "", nil, false
	}
	return rel, info, true
}

// hides says whether a link leads to what must not be read.
func (m *mirrorer) hides(from, place string) bool {
	hidden := m.hidden != nil && from != place && m.hidden(from)
	if hidden {
		m.note(place, "left out: a link leads to %q, which nothing inside may read", from)
	}
	return hidden
}

// directory makes to a directory with the same names as from.
func (m *mirrorer) directory(from, to string) ([]job, error) {
	entries, err := readDir(m.home, from, m.files)
	if err != nil {
		m.note(to, "left out: %v", err)
		return nil, m.drop(to)
	}
	if err := m.ensureDir(to); err != nil {
		return nil, err
	}
	var jobs []job
	wanted := map[string]bool{}
	for _, entry := range entries {
		wanted[entry.Name()] = true
		jobs = append(jobs, job{path.Join(from, entry.Name()), path.Join(to, entry.Name())})
	}
	present, err := readDir(m.private, to, -1)
	if err != nil {
		return nil, fmt.Errorf("listing private copy of %q: %w", to, err)
	}
	for _, entry := range present {
		if !wanted[entry.Name()] {
			if err := m.drop(path.Join(to, entry.Name())); err != nil {
				return nil, err
			}
		}
	}
	return jobs, nil
}

// file copies one regular file, unless the copy already has its content: the
// copy's times and size prove nothing, since they are set from inside.
func (m *mirrorer) file(from, to string, info fs.FileInfo) error {
	if m.bytes -= info.Size(); m.bytes < 0 {
		m.bytes = 0
		m.note(to, "left out: larger than what is left of the budget")
		return m.drop(to)
	}
	text, err := readRegular(m.home, from, info.Size())
	if err != nil {
		m.note(to, "left out: %v", err)
		return m.drop(to)
	}
	return m.put(to, m.withAdded(to, text), info.Mode().Perm()&0o700|0o600)
}

// withAdded is the text of a file of the copy with what is to be added to it.
func (m *mirrorer) withAdded(to string, text []byte) []byte {
	if to != m.added {
		return text
	}
	more, err := m.add(text)
	if err != nil {
		m.note(to, "taken over as it is: %s", strings.TrimPrefix(err.Error(), ":")) // LINE:COLUMN, of a text without a name
		return text
	}
	return more
}

// put writes a file of the private copy if it is not there already.
func (m *mirrorer) put(to string, text []byte, mode fs.FileMode) error {
	if err := m.ensureDir(path.Dir(to)); err != nil {
		return err
	}
	if info, err := m.private.Lstat(to); err == nil && info.Mode() == mode && info.Size() == int64(len(text)) {
		if old, err := readRegular(m.private, to, info.Size()); err == nil && bytes.Equal(old, text) {
			return nil
		}
	}
	temp := to + tempSuffix
	if err := m.private.RemoveAll(temp); err != nil {
		return fmt.Errorf("replacing private copy of %q: %w", to, err)
	}
	f, err := m.private.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("creating private copy of %q: %w", to, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil && m.isDir(to) {
		err = m.private.RemoveAll(to)
	}
	if err == nil {
		err = m.private.Rename(temp, to)
	}
	if err != nil {
		m.private.Remove(temp)
		return fmt.Errorf("writing private copy of %q: %w", to, err)
	}
	return nil
}

func (m *mirrorer) isDir(place string) bool {
	info, err := m.private.Lstat(place)
	return err == nil && info.IsDir()
}

// ensureDir makes place a real directory of the copy, replacing what else was
// put there: a link in its stead would send writes to another place.
func (m *mirrorer) ensureDir(place string) error {
	if place == "." {
		return nil
	}
	for _, dir := range prefixes(place) {
		if m.isDir(dir) {
			continue
		}
		if err := m.private.RemoveAll(dir); err != nil {
			return fmt.Errorf("replacing private copy of %q: %w", dir, err)
		}
		if err := m.private.Mkdir(dir, 0o700); err != nil {
			return fmt.Errorf("creating private copy of %q: %w", dir, err)
		}
	}
	return nil
}

// drop removes a place from the copy, without following links on the way.
func (m *mirrorer) drop(place string) error {
	for _, dir := range prefixes(path.Dir(place)) {
		if !m.isDir(dir) {
			return nil
		}
	}
	if err := m.private.RemoveAll(place); err != nil {
		return fmt.Errorf("removing private copy of %q: %w", place, err)
	}
	return nil
}

// readRegular reads a regular file of at most limit bytes. It follows no link and never
// waits for a FIFO.
func readRegular(root *os.Root, place string, limit int64) ([]byte, error) {
	dir, err := hold(root, path.Dir(place))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return readHeld(dir, path.Base(place), limit)
}

// readHeld is readRegular of a name in a directory that is held.
func readHeld(root *os.Root, place string, limit int64) ([]byte, error) {
	before, err := root.Lstat(place)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: want a regular file", before.Mode().Type())
	}
	f, err := root.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	after, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(before, after) {
		return nil, errors.New("replaced while it was opened")
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return text, err
}

// readDir lists at most limit+1 entries of a directory; -1 lists all.
func readDir(root *os.Root, dir string, limit int) ([]fs.DirEntry, error) {
	held, err := hold(root, dir)
	if err != nil {
		return nil, err
	}
	defer held.Close()
	f, err := held.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if limit >= 0 {
		limit++
	}
	entries, err := f.ReadDir(limit)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}

// prefixes returns place and all directories above it, outermost first.
func prefixes(place string) []string {
	var all []string
	for ; place != "." && place != "/"; place = path.Dir(place) {
		all = append([]string{place}, all...)
	}
	return all
}

// depth counts the components of a place.
func depth(place string) int { return len(prefixes(place)) }
