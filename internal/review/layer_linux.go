package review

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/dirlist"
	"carrel/internal/hostfile"
	"carrel/internal/ownfile"
	"carrel/internal/safefile"
	"carrel/internal/strictjson"

	"golang.org/x/sys/unix"
)

const (
	version   = 1
	maxMeta   = 1 << 20 // bytes
	maxLayers = 32      // of one project
	metaName  = "layer.json"

	goneSuffix = ".gone"
)

// Store keeps the layers of one project.
type Store struct{ dir string }

// OpenStore is the store in a project's place of the state directory.
func OpenStore(project string) *Store { return &Store{filepath.Join(project, "review")} }

// Layer is one of them.
type Layer struct {
	Meta
	dir     string
	release func() // of the lock; nil where it is not held
}

// Upper and Work are the directories of the overlay over a tree.
func (l *Layer) Upper(tree int) string { return l.part(tree, "upper") }

// Work is the work directory of the overlay.
func (l *Layer) Work(tree int) string { return l.part(tree, "work") }

func (l *Layer) part(tree int, name string) string {
	return filepath.Join(l.dir, strconv.Itoa(tree), name)
}

// Make makes a layer over trees, which the caller has resolved, and holds it. note is told what
// the layer does not keep as it is.
func (s *Store) Make(m Meta, note func(string)) (made *Layer, err error) {
	all, _, err := s.List()
	if err != nil {
		return nil, err
	}
	if len(all) >= maxLayers {
		return nil, fmt.Errorf("there are %d layers of this project, and at most %d are kept\nhint: `carrel review list` names them, "+
			"`carrel review drop ID` forgets one", len(all), maxLayers)
	}
	var id [3]byte
	_, _ = rand.Read(id[:])
	m.Version, m.ID, m.Begun = version, hex.EncodeToString(id[:]), time.Now()
	if m.Trees == nil || len(m.Trees) > 64 {
		return nil, fmt.Errorf("a layer over %d directories: want 1 to 64", len(m.Trees))
	}
	l := &Layer{Meta: m, dir: filepath.Join(s.dir, m.ID)}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	s.sweep()
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.Close()
			_ = dirlist.RemoveTree(l.dir)
		}
	}()
	if err := l.hold(); err != nil {
		return nil, err
	}
	for i, tree := range l.Trees {
		if err := l.begin(i, string(tree), note); err != nil {
			return nil, err
		}
	}
	return l, l.save()
}

// save writes the record.
func (l *Layer) save() error {
	text, err := json.MarshalIndent(&l.Meta, "", "  ")
	if err == nil && len(text) > maxMeta {
		err = fmt.Errorf("the record of a layer has %d bytes, at most %d are kept", len(text), maxMeta)
	}
	if err != nil {
		return err
	}
	return safefile.Write(filepath.Join(l.dir, metaName), text, safefile.Options{})
}

// Finish notes how the run ended.
func (l *Layer) Finish(exit int, full bool) error {
	now := time.Now()
	l.Ended, l.Exit, l.Full = &now, exit, full
	return l.save()
}

// hold keeps others from using the layer, and says so where another does.
func (l *Layer) hold() error {
	release, err := hostfile.Lock(filepath.Join(l.dir, "lock"), 0)
	if err != nil {
		return fmt.Errorf("layer %s is in use: its command runs, or another one applies it: %w", l.ID, err)
	}
	l.release = release
	return nil
}

// Close lets go of the layer.
func (l *Layer) Close() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

// InUse says whether its command runs, or another one applies or drops it.
func (l *Layer) InUse() bool {
	if l.release != nil {
		return false
	}
	if err := l.hold(); err != nil {
		return true
	}
	l.Close()
	return false
}

// Open finds the layer of an id, or of what it begins with, and holds it; "" is the newest.
func (s *Store) Open(id string) (*Layer, error) {
	l, err := s.Find(id)
	if err != nil {
		return nil, err
	}
	return l, l.hold()
}

// Find is Open without holding it.
func (s *Store) Find(id string) (*Layer, error) {
	all, _, err := s.List()
	if err != nil {
		return nil, err
	}
	if id != "" {
		all = slices.DeleteFunc(all, func(l *Layer) bool { return !strings.HasPrefix(l.ID, id) })
	}
	switch {
	case len(all) == 0:
		return nil, ErrNone
	case len(all) > 1 && id != "":
		return nil, fmt.Errorf("%d layers begin with %q\nhint: `carrel review list` names them", len(all), id)
	}
	return all[0], nil
}

// List gives the layers, the newest first. Those whose records cannot be read are left out, and
// errors say why.
func (s *Store) List() (all []*Layer, broken []error, err error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if !isID(e.Name()) || !e.IsDir() {
			continue
		}
		l, err := s.read(e.Name())
		if err != nil {
			broken = append(broken, fmt.Errorf("layer %s: %w", e.Name(), err))
			continue
		}
		all = append(all, l)
	}
	slices.SortFunc(all, func(a, b *Layer) int { return b.Begun.Compare(a.Begun) })
	return all, broken, nil
}

// sweep removes what removals that were cut short have left.
func (s *Store) sweep() {
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if id, gone := strings.CutSuffix(e.Name(), goneSuffix); gone && isID(id) {
			_ = dirlist.RemoveTree(filepath.Join(s.dir, e.Name()))
		}
	}
}

func isID(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 3
}

func (s *Store) read(id string) (*Layer, error) {
	l := &Layer{dir: filepath.Join(s.dir, id)}
	dir, err := os.Open(l.dir)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := ownfile.Open(dir, metaName, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, maxMeta)
	if err == nil {
		err = strictjson.Decode(text, &l.Meta)
	}
	if err == nil && (l.ID != id || l.Version != version || len(l.Trees) == 0) {
		err = errors.New("its record is that of another version, or of another layer")
	}
	return l, err
}

// Remove forgets a layer, which is held.
func (l *Layer) Remove() error {
	if l.release == nil {
		return errors.New("a layer is removed by who holds it")
	}
	aside := l.dir + goneSuffix // what is left of a removal that was cut short is no layer
	if err := os.Rename(l.dir, aside); err != nil {
		return err
	}
	l.Close()
	return dirlist.RemoveTree(aside)
}

// Drop forgets what has no record that can be read, or ErrNone.
func (s *Store) Drop(id string) error {
	l := &Layer{Meta: Meta{ID: id}, dir: filepath.Join(s.dir, id)}
	if st, err := os.Lstat(l.dir); !isID(id) || err != nil || !st.IsDir() {
		return ErrNone
	}
	if err := l.hold(); err != nil {
		return err
	}
	return l.Remove()
}

// Bytes is what the upper directories take of the disk. It may be asked while a command runs.
func (l *Layer) Bytes() (sum int64, err error) {
	for i := range l.Trees {
		fd, err := openTree(l.part(i, "upper"))
		if err != nil {
			return 0, err
		}
		n, err := bytesIn(fd, 0)
		unix.Close(fd)
		if err != nil {
			return 0, errors.Join(errors.New("measuring tree "+strconv.Itoa(i)+" of the layer"), err)
		}
		sum += n
	}
	return sum, nil
}
