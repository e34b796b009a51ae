package statedir

import (
	"io"
	"os"
	"time"

	"carrel/internal/dircache"
	"carrel/internal/hostfile"
	"carrel/internal/ownfile"
	"carrel/internal/spool"
)

// lookedFile holds what the last look for secrets in a project found in directories that
// did not change since, see package dircache. It decides what is hidden: where anybody
// else could have written it, it is not read.
const lookedFile = "looked"

// Looked reads what [Dir.KeepLooked] has kept, nil where there is nothing to believe.
func (s *Dir) Looked(project string) []byte {
	dir, err := s.openOwn(project)
	if err != nil {
		return nil
	}
	defer dir.Close()
	f, err := ownfile.Open(dir, lookedFile, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Mode().Perm()&0o022 != 0 || st.Size() > dircache.MaxSize {
		return nil
	}
	data := make([]byte, st.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	return data
}

// KeepLooked keeps what data gives for the next look at the project, while the caller goes
// on; wait gives it a moment to end. Nothing depends on it: no disk is waited for, and after
// a power failure what is there may be damaged, which is seen.
func (s *Dir) KeepLooked(project string, data func() []byte) (wait func()) {
	if s == nil || data == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if kept := data(); kept != nil {
			_ = s.writeLooked(project, kept)
		}
	}()
	return func() {
		select {
		case <-done:
		case <-time.After(lookedPatience):
		}
	}
}

// lookedPatience is how long the end of a run waits for another that writes the same.
const lookedPatience = time.Second

func (s *Dir) writeLooked(project string, data []byte) error {
	if err := os.MkdirAll(s.Project(project), 0o700); err != nil {
		return err
	}
	dir, err := s.openOwn(project)
	if err != nil {
		return err
	}
	defer dir.Close()
	return spool.WriteOften(dir, lookedFile, data)
}

// openOwn opens the directory of a project where no other user can write it.
func (s *Dir) openOwn(project string) (*os.File, error) {
	root, err := os.Lstat(s.path)
	if err == nil {
		err = ours(s.path, root)
	}
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenFile(s.Project(project), os.O_RDONLY|hostfile.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	st, err := dir.Stat()
	if err == nil {
		err = ours(dir.Name(), st)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
