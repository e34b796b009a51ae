package policyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"carrel/internal/jsontree"
)

// ReadTime bounds how long a policy may take to come through a pipe.
const ReadTime = 10 * time.Second

var errTooLarge = fmt.Errorf("larger than %d bytes", jsontree.MaxSize)

// ReadFile reads the policy in a regular file.
func ReadFile(name string) (*Policy, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO is not waited for
	if err != nil {
		return nil, fmt.Errorf("opening the policy: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("looking at the policy %q: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the policy %q is no regular file; hand a pipe over as a descriptor", name)
	case info.Size() > jsontree.MaxSize:
		return nil, fmt.Errorf("the policy %q: %w", name, errTooLarge)
	}
	data, err := bounded(f)
	if err != nil {
		return nil, fmt.Errorf("reading the policy %q: %w", name, err)
	}
	return Parse(data, name)
}

// ReadFrom reads the policy that comes through an open file or pipe, to its
// end. It gives up after [ReadTime]; the file must not be used any more then.
// name stands for it in messages.
func ReadFrom(f *os.File, name string) (*Policy, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("looking at the policy %s: %w", name, withoutPath(err))
	}
	if m := info.Mode(); !m.IsRegular() && m&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return nil, fmt.Errorf("the policy %s is neither a file nor a pipe", name)
	}
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := bounded(f)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("reading the policy %s: %w", name, withoutPath(r.err))
		}
		return Parse(r.data, name)
	case <-time.After(ReadTime):
		return nil, fmt.Errorf("reading the policy %s: no end after %v; close the other end when it is written", name, ReadTime)
	}
}

// bounded reads to the end, one byte more than is allowed at most.
func bounded(f *os.File) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, jsontree.MaxSize+1))
	if err == nil && len(data) > jsontree.MaxSize {
		err = errTooLarge
	}
	return data, err
}

// withoutPath takes the name off that a descriptor has for the runtime.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
