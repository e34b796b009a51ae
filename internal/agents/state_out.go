package agents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"carrel/internal/safefile"
)

// replace puts new content in place of a login file on the host, as one step:
// a temporary file beside it, written, synced and renamed. was is the content
// that the new one was made from, nil for none. It reports false where the file
// has changed meanwhile, and then leaves it.
func (m *mirrorer) replace(file MergeFile, was, text []byte) (bool, error) {
	target, err := follow(m.real, file.File, false) // a link to elsewhere in home stays one
	if err != nil {
		m.note(file.File, "not carried out: %v", err)
		return false, nil
	}
	mode := fs.FileMode(0o600)
	if was != nil {
		_, info, ok := m.source(file.File)
		if !ok {
			return false, nil
		}
		mode = info.Mode().Perm()
	} else if err := m.home.MkdirAll(path.Dir(target), 0o700); err != nil {
		return false, err
	}
	dir, err := hold(m.home, path.Dir(target))
	if err != nil {
		return false, err
	}
	defer dir.Close()
	name := path.Base(target)
	temp := fmt.Sprintf("%s.%d%s", name, os.Getpid(), tempSuffix)
	f, err := safefile.Create(dir, name, safefile.Options{Temp: temp, Mode: mode})
	if err != nil {
		return false, err
	}
	defer f.Discard()
	if _, err := f.Write(text); err != nil {
		return false, err
	}
	if err := f.Close(); err != nil {
		return false, err
	}
	now, err := readHeld(dir, name, file.limit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, was) {
		m.noteForNow(file.File, "not merged back: changed outside at the same time")
		return false, nil
	}
	if err := f.Commit(); err != nil {
		return false, err
	}
	return true, nil
}

// dropTemps removes what a killed run left beside a login file of the host: it holds
// tokens. The logins are locked, so nobody is writing one; where somebody with another
// state directory is, their rename fails and is tried again.
func (m *mirrorer) dropTemps(file MergeFile) {
	target, err := follow(m.real, file.File, false)
	if err != nil {
		return
	}
	dir, err := hold(m.home, path.Dir(target))
	if err != nil {
		return
	}
	defer dir.Close()
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(maxBeside)
	for _, name := range names {
		pid, after := strings.CutPrefix(name, path.Base(target)+".")
		pid, before := strings.CutSuffix(pid, tempSuffix)
		if !after || !before || pid == "" || strings.Trim(pid, "0123456789") != "" {
			continue
		}
		if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() {
			dir.Remove(name)
		}
	}
}

// maxBeside bounds how many names are looked at for such files.
const maxBeside = 100_000

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
