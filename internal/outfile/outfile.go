// Package outfile writes what a command makes to a file that is named on its line: as a
// whole or not at all, or as it comes, and to a pipe or a device where the name is that of
// one. A link to a file is replaced like a file: in a project it may be a command's, and
// lead to one that is none of the project's.
//
// A file is made with mode 0600. The errors name the file as the user did. The package
// imports package safefile alone of this module.
package outfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"carrel/internal/safefile"

	"golang.org/x/term"
)

// ErrPicture is for what would be no text on a terminal.
var ErrPicture = errors.New("that is not written to a terminal\nhint: -o FILE, or redirect standard output")

// Data writes what is no text: to a file, or to standard output where no person reads it.
func Data(file string, stdout io.Writer, data []byte) error {
	if file == "" || file == "-" {
		if f, ok := stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return ErrPicture
		}
		_, err := stdout.Write(data)
		return err
	}
	return Whole(file, ErrPicture, func(to io.Writer) error {
		_, err := to.Write(data)
		return err
	})
}

// Whole makes a file that is there as a whole or not at all. Where the name is that
// of a pipe or a device it writes there; terminal is the error for one that a person reads.
func Whole(name string, terminal error, write func(io.Writer) error) error {
	special, err := openSpecial(name, terminal)
	if err != nil {
		return err
	}
	if special != nil {
		return errors.Join(write(special), special.Close())
	}
	f, done, err := besidesUntilEnded(name)
	if err != nil {
		return fmt.Errorf("-o %q: %w", name, err)
	}
	defer done()
	defer f.Discard()
	if err = write(f); err == nil {
		err = f.Commit()
	}
	if err == nil {
		return nil
	}
	if p := new(fs.PathError); errors.As(err, &p) && p.Path == f.Name() { // not a name that the user gave
		err = p.Err
	}
	return fmt.Errorf("-o %q: %w", name, err)
}

// Open makes a file for what comes over time, and can be used as far as it has come: it
// takes the name at once.
func Open(name string) (*os.File, error) {
	f, err := openSpecial(name, ErrPicture)
	if f != nil || err != nil {
		return f, err
	}
	beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d", filepath.Base(name), os.Getpid()))
	if f, err = os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return nil, fmt.Errorf("-o %q: making a file there: %w", name, reason(err))
	}
	if err := os.Rename(beside, name); err != nil {
		f.Close()
		_ = os.Remove(beside)
		return nil, fmt.Errorf("-o %q: %w", name, err)
	}
	return f, nil
}

// Export makes a new file with the data, and reports whether one was there. That is
// renamed over, where replace says so, so that what it was a link to, or had open, stays
// what it is.
func Export(name string, data []byte, replace bool) (replaced bool, err error) {
	st, err := os.Lstat(name)
	switch {
	case err == nil && !replace:
		return false, fmt.Errorf("%q exists\nhint: --replace takes its place", name)
	case err == nil && st.IsDir():
		return false, fmt.Errorf("%q is a directory", name)
	case err == nil:
		return true, safefile.Write(name, data, safefile.Options{})
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("looking at %q: %w", name, reason(err))
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, fmt.Errorf("making %q: %w", name, reason(err))
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return false, errors.Join(fmt.Errorf("writing %q: %w", name, err), os.Remove(name))
	}
	return false, nil
}

// openSpecial opens what is there with that name and is no file: a pipe, a device. It
// gives nil where a file is to be made.
func openSpecial(name string, terminal error) (*os.File, error) {
	if st, err := os.Stat(name); err != nil || st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("-o %q: %w; want the name of a file", name, reason(err))
	}
	if st, err := f.Stat(); err != nil || st.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(fmt.Errorf("-o %q: somebody else has put another file there meanwhile", name), err)
	}
	if term.IsTerminal(int(f.Fd())) {
		f.Close()
		return nil, terminal
	}
	return f, nil
}

// besidesUntilEnded makes the file that replaces another later, and it is removed where a
// signal ends the program before done is called. The signals are caught before the file is
// made, and none comes between its making and its removal.
func besidesUntilEnded(name string) (f *safefile.New, done func(), err error) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	var ending sync.Mutex
	var beside string
	go func() {
		select {
		case s := <-signals:
			ending.Lock() // for good: nothing is made or finished any more
			if beside != "" {
				_ = os.Remove(beside)
			}
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(s) // its status says so
			}
		case <-over:
		}
	}()
	dir, err := os.OpenRoot(filepath.Dir(name))
	err = reason(err)
	done = func() {
		ending.Lock()
		defer ending.Unlock()
		signal.Stop(signals)
		close(over)
		if dir != nil {
			dir.Close()
		}
	}
	if err == nil {
		ending.Lock()
		if f, err = safefile.Create(dir, filepath.Base(name), safefile.Options{}); err == nil {
			beside = f.Name()
		} else {
			err = errors.Unwrap(err) // the step is named below
		}
		ending.Unlock()
	}
	if err != nil {
		done()
		return nil, nil, fmt.Errorf("making a file there: %w", err)
	}
	return f, done, nil
}

// reason is an error without the operation and the path, which are told otherwise.
func reason(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		return p.Err
	}
	return err
}
