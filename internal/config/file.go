package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("larger than 1 MiB")
	errSymlink    = errors.New("a symlink: a project's configuration must be a file of the project itself")
	errSwapped    = errors.New("replaced while it was opened")
)

// readTrusted reads a file of the user or the operator, who may well keep it
// behind a symlink. The kind of file is checked on what was opened, without
// waiting for a FIFO.
func readTrusted(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f)
}

// readBounded reads a regular file of bounded size to its end.
func readBounded(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNotRegular
	case info.Size() > maxFile:
		return nil, errTooLarge
	}
	// The size may grow meanwhile; one byte more tells.
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errTooLarge
	}
	return data, err
}

// readProject reads a file below the project, in one directory or two. Nothing
// on the way below the project may be a symlink, and what is opened must be
// what was looked at, since the project may change under us.
func readProject(project string, names ...string) ([]byte, error) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, err
	}
	defer func() { root.Close() }()
	for _, dir := range names[:len(names)-1] {
		inner, err := openDirectory(root, dir)
		if err != nil {
			return nil, err
		}
		root.Close()
		root = inner
	}
	return readChild(root, names[len(names)-1])
}

// openDirectory opens a child that is a directory. A file of that name holds
// no configuration, so it is as good as absent.
func openDirectory(root *os.Root, name string) (*os.Root, error) {
	before, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, errSymlink
	case !before.IsDir():
		return nil, fs.ErrNotExist
	}
	inner, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if after, err := inner.Stat("."); err != nil || !os.SameFile(before, after) {
		inner.Close()
		return nil, errSwapped
	}
	return inner, nil
}

func readChild(root *os.Root, name string) ([]byte, error) {
	before, err := root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case before.Mode()&fs.ModeSymlink != 0:
		return nil, errSymlink
	case !before.Mode().IsRegular():
		return nil, errNotRegular
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		return nil, errSwapped
	}
	return readBounded(f)
}

// absent tells whether an error means that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// readProblem names the file that could not be read, without saying its name
// twice.
func readProblem(file string, err error) Problem {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return Problem{File: file, Message: fmt.Sprintf("reading the configuration: %v", err)}
}

// inside tells whether p is dir or below it, by its letters.
func inside(p, dir string) bool {
	rel, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rel)
}
