package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/term"
)

// What a command writes to a file that is named on its line. A link to a file is replaced
// like a file: in a project it may be a command's, and lead to one that is none of the
// project's.

// errPicture is for what would be no text on a terminal.
var errPicture = errors.New("that is not written to a terminal\nhint: -o FILE, or redirect standard output")

// writeData writes what is no text: to a file, or where no person reads.
func (a *app) writeData(file string, data []byte) error {
	if file == "" || file == "-" {
		if isTerminal(a.out) {
			return errPicture
		}
		_, err := a.out.Write(data)
		return err
	}
	return writeWhole(file, errPicture, func(to *os.File) error {
		_, err := to.Write(data)
		return err
	})
}

// writeWhole makes a file that is there as a whole or not at all. Where the name is that
// of a pipe or a device it writes there; terminal is the error for one that a person reads.
func writeWhole(name string, terminal error, write func(*os.File) error) error {
	f, err := openSpecial(name, terminal)
	if err != nil {
		return err
	}
	if f != nil {
		return errors.Join(write(f), f.Close())
	}
	f, done, err := besidesUntilEnded(name)
	if err != nil {
		return err
	}
	defer done()
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err == nil {
		return nil
	}
	_ = os.Remove(f.Name())
	if p := new(fs.PathError); errors.As(err, &p) && p.Path == f.Name() { // a name that nobody has given
		err = p.Err
	}
	return fmt.Errorf("-o %q: %w", name, err)
}

// openNew makes a file for what comes over time, and can be used as far as it has come: it
// takes the name at once.
func openNew(name string) (*os.File, error) {
	f, err := openSpecial(name, errPicture)
	if f != nil || err != nil {
		return f, err
	}
	if f, err = besides(name); err != nil {
		return nil, err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		f.Close()
		_ = os.Remove(f.Name())
		return nil, fmt.Errorf("-o %q: %w", name, err)
	}
	return f, nil
}

// openSpecial opens what is there with that name and is no file: a pipe, a device. It
// gives nil where a file is to be made.
func openSpecial(name string, terminal error) (*os.File, error) {
	if st, err := os.Stat(name); err != nil || st.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("-o %q: %w; want the name of a file", name, pathError(err))
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

// besides makes a file in the directory of another one, that takes its name later.
func besides(name string) (*os.File, error) {
	f, err := os.OpenFile(tempBeside(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("-o %q: making a file there: %w", name, pathError(err))
	}
	return f, nil
}

func tempBeside(name string) string {
	return filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d", filepath.Base(name), os.Getpid()))
}

// besidesUntilEnded is besides, and the file is removed where a signal ends the
// program before done is called. The signals are caught before the file is made,
// and none comes between its making and its removal.
func besidesUntilEnded(name string) (f *os.File, done func(), err error) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	var ending sync.Mutex
	go func() {
		select {
		case s := <-signals:
			ending.Lock() // for good: nothing is made or finished any more
			_ = os.Remove(tempBeside(name))
			signal.Reset(s)
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Signal(s) // whose status says so
			}
		case <-over:
		}
	}()
	done = func() {
		ending.Lock()
		defer ending.Unlock()
		signal.Stop(signals)
		close(over)
	}
	ending.Lock()
	f, err = besides(name)
	ending.Unlock()
	if err != nil {
		done()
		return nil, nil, err
	}
	return f, done, nil
}
