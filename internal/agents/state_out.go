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
	"strings"
)

// replace puts new content in place of a login file on the host, as one step:
// a temporary file beside it, written, synced and renamed. was is the content
// that the new one was made from, nil for none. It reports false where the file
// has changed meanwhile, and then leaves it.
func (m *mirrorer) replace(file MergeFile, was, text []byte) (bool, error) {
	target, mode := file.File, fs.FileMode(0o600)
	if was != nil {
		from, info, ok := m.source(file.File) // a link to elsewhere in home stays one
		if !ok {
			return false, nil
		}
		target, mode = from, info.Mode().Perm()
	} else if err := m.home.MkdirAll(path.Dir(target), 0o700); err != nil {
		return false, err
	}
	temp := fmt.Sprintf("%s.%d%s", target, os.Getpid(), tempSuffix)
	if err := m.writeTemp(temp, text, mode); err != nil {
		return false, err
	}
	now, err := readRegular(m.home, target, file.limit())
	if err != nil && !errors.Is(err, fs.ErrNotExist) || !bytes.Equal(now, was) {
		m.home.Remove(temp)
		m.noteForNow(file.File, "not merged back: changed outside at the same time")
		return false, nil
	}
	if err := m.home.Rename(temp, target); err != nil {
		m.home.Remove(temp)
		return false, err
	}
	return true, m.syncDir(path.Dir(filepath.ToSlash(target)))
}

// dropTemps removes what a killed run left beside a login file of the host: it holds
// tokens. The logins are locked, so nobody is writing one; where somebody with another
// state directory is, their rename fails and is tried again.
func (m *mirrorer) dropTemps(file MergeFile) {
	target := file.File
	if from, _, ok := m.source(target); ok { // a link's are beside where it leads
		target = from
	}
	dir, err := m.home.Open(path.Dir(target))
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxBeside)
	for _, name := range names {
		pid, after := strings.CutPrefix(name, path.Base(target)+".")
		pid, before := strings.CutSuffix(pid, tempSuffix)
		if !after || !before || pid == "" || strings.Trim(pid, "0123456789") != "" {
			continue
		}
		at := path.Join(path.Dir(target), name)
		if info, err := m.home.Lstat(at); err == nil && info.Mode().IsRegular() {
			m.home.Remove(at)
		}
	}
}

// maxBeside bounds how many names are looked at for such files.
const maxBeside = 100_000

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
