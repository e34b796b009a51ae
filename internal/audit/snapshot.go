package audit

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/ownfile"
)

// Snapshot is a log as it was when it was opened: what is written later is not in it.
type Snapshot struct {
	files []part
	whole bool // all files of a workspace's log, and not one that was copied
}

type part struct {
	name string
	file *os.File
	end  int64
}

// maxLooks bounds how often a log is looked at that is rotated meanwhile.
const maxLooks = 100

// Open finds the log in a directory; [os.ErrNotExist] says that there is none.
func Open(dir *os.File) (*Snapshot, error) {
	for range maxLooks {
		old, err := ownfile.There(ownfile.Open(dir, Older, os.O_RDONLY))
		if err != nil {
			return nil, err
		}
		now, err := ownfile.There(ownfile.Open(dir, Name, os.O_RDONLY))
		if err != nil {
			ownfile.Close(old)
			return nil, err
		}
		again, err := ownfile.There(ownfile.Open(dir, Older, os.O_RDONLY))
		settled := err == nil && ownfile.Same(old, again)
		ownfile.Close(again)
		if settled {
			s, err := take(old, now)
			if s != nil {
				s.whole = true
			}
			return s, err
		}
		if ownfile.Close(old, now); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the audit log is rotated faster than it can be read")
}

// OpenFile opens one file, such as a copy of a log.
func OpenFile(path string) (*Snapshot, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nor waits for who writes into a pipe
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	return take(nil, f)
}

// Verify checks the log, see [Verify].
func (s *Snapshot) Verify(head string) (api.AuditResult, error) {
	var parts []Part
	for _, p := range s.files {
		parts = append(parts, Part{p.name, p.reader()})
	}
	r, err := Verify(head, parts...)
	if s.whole && err == nil && r.OK && r.First > 1 && len(s.files) == 1 && s.files[0].name == Name {
		r.OK = false
		r.Broken = &api.AuditBroken{Record: r.First - 1, File: Older, Line: 1, Why: "the older file is missing: a log that was rotated has both"}
	}
	return r, err
}

// Each calls each with every record after a number, oldest first, with its line as it
// is written. Lines that are no records are counted in broken. Whether one follows from
// the other is not looked at.
func (s *Snapshot) Each(since uint64, each func(line []byte, r api.AuditRecord) error) (broken int, err error) {
	for _, p := range s.files {
		err := lines(p.reader(), func(_ int, line []byte, long bool) error {
			r, _, err := decode(line)
			if long || err != nil {
				broken++
				return nil
			}
			if r.Seq <= since {
				return nil
			}
			return each(line, r)
		})
		if err != nil {
			return broken, err
		}
	}
	return broken, nil
}

// Copy writes all of it as one file, which can be checked by itself.
func (s *Snapshot) Copy(w io.Writer) error {
	for _, p := range s.files {
		if _, err := io.Copy(w, p.reader()); err != nil {
			return fmt.Errorf("copying %q: %w", p.name, err)
		}
	}
	return nil
}

// Close lets go of the files.
func (s *Snapshot) Close() {
	for _, p := range s.files {
		p.file.Close()
	}
}

func (p part) reader() io.Reader { return io.NewSectionReader(p.file, 0, p.end) }

func take(files ...*os.File) (*Snapshot, error) {
	s := &Snapshot{}
	for _, f := range files {
		if f == nil {
			continue
		}
		info, err := f.Stat()
		if err != nil {
			ownfile.Close(files...)
			return nil, err
		}
		s.files = append(s.files, part{filepath.Base(f.Name()), f, info.Size()})
	}
	if len(s.files) == 0 {
		return nil, os.ErrNotExist
	}
	return s, nil
}
