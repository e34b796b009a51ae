// Package replay carries the changes of a layer out: it reads operations from its standard
// input and does them, one after the other, in the directories that they name. It runs inside
// the walls of a workspace with history, so that each is decided, recorded, and undone as any
// change of a program there.
//
// What another program has changed since the operation was planned is left alone, and so is
// what the workspace refuses; each is told. Where an object of a git repository could not be
// written, none of its refs is.
//
// The operations come from carrel outside. Contents follow their headers, and are not looked at.
package replay

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Word is the one argument that starts this face of the program.
const Word = "--replay-layer"

// Kind says what is at a path.
type Kind byte

// Kinds.
const (
	None    Kind = 0
	File    Kind = 'f'
	Dir     Kind = 'd'
	Symlink Kind = 'l'
	Fifo    Kind = 'p'
	Socket  Kind = 's'
	Device  Kind = 'c'
)

// Stat is what is known of a path. Times are nanoseconds since 1970.
type Stat struct {
	Kind  Kind   `json:"kind"`
	Perm  uint32 `json:"perm,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Mtime int64  `json:"mtime,omitempty"`
	Ctime int64  `json:"ctime,omitempty"`
	Ino   uint64 `json:"ino,omitempty"`
	Nlink uint64 `json:"nlink,omitempty"`
	Rdev  uint64 `json:"-"`
}

// What an operation does.
const (
	DoTree    = "tree"    // the following are below the directory Path
	DoMkdir   = "mkdir"   // an empty directory; its mode and times come with DoDir
	DoFile    = "file"    // a file, in place of what is there: Size bytes follow
	DoWrite   = "write"   // new content for the file that is there: Size bytes follow
	DoSymlink = "symlink" // to To
	DoFifo    = "fifo"
	DoLink    = "link"   // another name of the file To
	DoRemove  = "remove" // one that is no directory
	DoRmdir   = "rmdir"
	DoMeta    = "meta" // mode, time and attributes of a file
	DoDir     = "dir"  // those of a directory, once all in it is done
	DoEnd     = "end"
)

// Op is one operation.
type Op struct {
	Do     string            `json:"do"`
	Path   []byte            `json:"path,omitempty"` // below the tree
	To     []byte            `json:"to,omitempty"`
	Was    Stat              `json:"was"` // what has to be there still
	Perm   uint32            `json:"perm,omitempty"`
	Mtime  int64             `json:"mtime,omitempty"`
	Size   int64             `json:"size,omitempty"`
	Xattrs map[string][]byte `json:"xattrs"`        // all that it has to have; nil leaves them
	Git    []byte            `json:"git,omitempty"` // the git directory that it is part of, with a slash behind it
	Ref    bool              `json:"ref,omitempty"` // it comes after the objects of Git, and not without them
}

// Failure is an operation that was not done.
type Failure struct {
	Tree int    `json:"tree"`
	Path []byte `json:"path"`
	Code int    `json:"code,omitempty"` // errno; 0 where it was not tried
	Why  string `json:"why"`
}

// Report is the end of what replay says: a line of JSON.
type Report struct {
	Done   int       `json:"done"`
	Failed []Failure `json:"failed,omitempty"`
	More   int       `json:"more,omitempty"` // failures beyond those that are listed
}

const (
	maxHeader  = 4 << 20 // bytes of an operation without its content
	maxFailure = 2000    // that are listed
	// MaxReport bounds what replay says, in bytes.
	MaxReport = 8 << 20
)

// Writer writes operations.
type Writer struct{ out *bufio.Writer }

// NewWriter writes to a file or a pipe.
func NewWriter(to io.Writer) *Writer { return &Writer{bufio.NewWriterSize(to, 1<<18)} }

// Add writes an operation, and the content that it has.
func (w *Writer) Add(op *Op, content io.Reader) error {
	line, err := json.Marshal(op)
	if err != nil {
		return err
	}
	if len(line) >= maxHeader {
		return fmt.Errorf("the attributes of %q have more than %d bytes", op.Path, maxHeader)
	}
	if _, err := w.out.Write(append(line, '\n')); err != nil || op.Size == 0 {
		return err
	}
	if n, err := io.CopyN(w.out, content, op.Size); err != nil {
		return fmt.Errorf("%q ends after %d of %d bytes: %w", op.Path, n, op.Size, err)
	}
	return nil
}

// End says that nothing follows.
func (w *Writer) End() error {
	if err := w.Add(&Op{Do: DoEnd}, nil); err != nil {
		return err
	}
	return w.out.Flush()
}

// next reads the header of an operation.
func next(in *bufio.Reader) (*Op, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, errors.New("what is to be applied ends too soon")
	}
	op := new(Op)
	if err := json.Unmarshal(line, op); err != nil || op.Size < 0 {
		return nil, fmt.Errorf("an operation that cannot be read: %w", err)
	}
	return op, nil
}
