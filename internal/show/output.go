package show

import "os"

// Output is standard output. It remembers the first write that failed, which those who
// print for a person do not look at.
type Output struct {
	file *os.File
	err  error
}

// NewOutput makes one of a file.
func NewOutput(file *os.File) *Output { return &Output{file: file} }

// Write writes, and remembers a failure.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.file.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd is the descriptor, for a look whether it is a terminal.
func (o *Output) Fd() uintptr { return o.file.Fd() }

// Err is the first failure, nil for none.
func (o *Output) Err() error { return o.err }
