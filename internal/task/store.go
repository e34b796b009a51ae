package task

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/hostfile"
	"carrel/internal/ownfile"
	"carrel/internal/safefile"
	"carrel/internal/strictjson"
)

const (
	maxRecord = 1 << 20 // bytes
	maxTasks  = 1000    // of one repository
	lockWait  = 30 * time.Second
	suffix    = ".json"
)

// ErrNone means that there is no task of a name.
var ErrNone = errors.New("there is no such task")

// Store keeps the records of tasks: tasks/KEY/NAME.json in a state directory, where KEY
// stands for a repository.
type Store struct{ dir string }

// OpenStore is the store of a state directory. Nothing is made before there is a record.
func OpenStore(state string) *Store { return &Store{filepath.Join(state, "tasks")} }

// Key stands for the repository with a git directory.
func Key(common string) string {
	sum := sha256.Sum256([]byte(common))
	return hex.EncodeToString(sum[:8])
}

// Lock keeps others from making and removing tasks of a repository, until it is released.
func (s *Store) Lock(key string) (release func(), err error) {
	dir := filepath.Join(s.dir, key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	release, err = hostfile.Lock(filepath.Join(dir, "lock"), lockWait)
	if err != nil {
		return nil, fmt.Errorf("waiting for another command that changes the tasks of this repository: %w", err)
	}
	return release, nil
}

// Save writes a record.
func (s *Store) Save(key string, t *Task) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	if len(text) > maxRecord {
		return fmt.Errorf("task %s: its record has %d bytes, at most %d are kept\nhint: put the prompt into a file of the project",
			t.Name, len(text), maxRecord)
	}
	dir := filepath.Join(s.dir, key)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return safefile.Write(filepath.Join(dir, t.Name+suffix), text, safefile.Options{})
}

// Remove forgets a task.
func (s *Store) Remove(key, name string) error {
	return os.Remove(filepath.Join(s.dir, key, name+suffix))
}

// Get gives one task of a repository, or ErrNone.
func (s *Store) Get(key, name string) (*Task, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	dir, err := os.Open(filepath.Join(s.dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return read(dir, name)
}

func read(dir *os.File, name string) (*Task, error) {
	f, err := ownfile.Open(dir, name+suffix, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, maxRecord+1)
	n, err := readFull(f, text)
	if err != nil {
		return nil, err
	}
	t := new(Task)
	err = strictjson.Decode(text[:n], t)
	if err == nil && (t.Name != name || t.Tree.Path == "" || CheckName(name) != nil) {
		err = errors.New("it is not this task's")
	}
	if err != nil {
		return nil, fmt.Errorf("the record of task %s in %s: %w", name, dir.Name(), err)
	}
	return t, nil
}

func readFull(f *os.File, into []byte) (n int, err error) {
	for n < len(into) {
		m, err := f.Read(into[n:])
		if n += m; m == 0 {
			break
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// List gives the tasks of a repository by their names; those whose records cannot be read are
// left out, and errors say why.
func (s *Store) List(key string) (tasks []*Task, broken []error, err error) {
	dir, err := os.Open(filepath.Join(s.dir, key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(maxTasks)
	if err != nil && len(names) == 0 {
		return nil, nil, nil // an empty directory
	}
	slices.Sort(names)
	for _, file := range names {
		name, ok := strings.CutSuffix(file, suffix)
		if !ok || CheckName(name) != nil {
			continue
		}
		switch t, err := read(dir, name); {
		case err == nil:
			tasks = append(tasks, t)
		case !errors.Is(err, ErrNone): // else it went meanwhile
			broken = append(broken, err)
		}
	}
	return tasks, broken, nil
}

// Keys stand for the repositories that have tasks.
func (s *Store) Keys() ([]string, error) {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var keys []string
	for _, e := range list {
		if e.IsDir() {
			keys = append(keys, e.Name())
		}
	}
	return keys, err
}
