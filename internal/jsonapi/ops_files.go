package jsonapi

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"carrel/internal/fileops"
	"carrel/internal/pathname"
	"carrel/internal/tools"
)

func fileOps() []Operation {
	return []Operation{
		define("fs.list", "Lists a directory.", fromHere, list),
		define("fs.read", "Reads a file.", fromHere, read),
		define("fs.status", "Tells what serves the files.", fromHere, filesStatus),
	}
}

type listIn struct {
	Path      fileops.Path   `json:"path" jsonschema:"of a directory; relative ones are to the directory"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"a working directory: its number, label, name or path; the first where it is not said"`
	Offset    int            `json:"carrel.offset,omitempty" jsonschema:"go on after so many entries"`
}

type listOut struct {
	Directory string          `json:"working_directory"`
	Entries   []fileops.Entry `json:"entries"`
	Truncated bool            `json:"truncated,omitempty"`
	Next      int             `json:"next_offset,omitempty"`
}

func list(ctx context.Context, c *call, in listIn) (listOut, error) {
	n, at, d, err := c.inside(in.Path, in.Directory)
	if err != nil {
		return listOut{}, err
	}
	got, _, err := file[fileops.Listing](ctx, n, d, &fileops.ListDirectory{Path: fileops.Path(at), Hidden: true, Offset: in.Offset})
	return listOut{Directory: d.path, Entries: append([]fileops.Entry{}, got.Entries...), Truncated: got.Truncated, Next: got.NextOffset}, err
}

type readIn struct {
	Path      fileops.Path   `json:"path" jsonschema:"of a file; relative ones are to the directory"`
	Directory *directoryName `json:"directory,omitempty" jsonschema:"as in fs.list"`
	From      int64          `json:"carrel.byte_offset,omitempty" jsonschema:"go on after so many bytes"`
}

type readOut struct {
	Content   string `json:"content"`
	Encoding  string `json:"encoding"` // utf-8, or base64 for what is not
	Size      int64  `json:"size"`
	Truncated bool   `json:"truncated,omitempty"`
	Next      int64  `json:"next_byte_offset,omitempty"`
	SHA256    string `json:"sha256,omitempty"` // of the whole file
}

func read(ctx context.Context, c *call, in readIn) (readOut, error) {
	n, at, d, err := c.inside(in.Path, in.Directory)
	if err != nil {
		return readOut{}, err
	}
	got, _, err := file[fileops.FileContent](ctx, n, d, &fileops.ReadFile{Path: fileops.Path(at), ByteOffset: in.From})
	return readOut{Content: got.Content, Encoding: got.Encoding, Size: got.Size, Truncated: got.Truncated, Next: got.NextByteOffset, SHA256: got.SHA256}, err
}

type filesOut struct {
	Backend  string `json:"backend"`
	VMStatus string `json:"vm_status"`
	PID      int    `json:"carrel.supervisor_pid"`
}

func filesStatus(_ context.Context, c *call, _ nothing) (filesOut, error) {
	n, err := c.active()
	if err != nil {
		return filesOut{}, err
	}
	return filesOut{Backend: string(n.backend), VMStatus: n.vmStatus(), PID: n.entry.PID}, nil
}

// inside makes a path of a request an absolute one that lies in a working directory, as
// it is written. That no link leads out of it is seen to where the file is opened.
func (c *call) inside(path fileops.Path, name *directoryName) (*session, string, *directory, error) {
	n, err := c.active()
	if err != nil {
		return nil, "", nil, err
	}
	d, err := n.directory(name)
	if err != nil {
		return nil, "", nil, err
	}
	text := string(path)
	if text == "" || strings.IndexByte(text, 0) >= 0 {
		return nil, "", nil, invalid("path", "the path is empty, or has a zero byte")
	}
	at := filepath.Clean(text)
	if filepath.IsAbs(at) && d == nil {
		for i := range n.dirs {
			if pathname.Within(at, n.dirs[i].path) {
				d = &n.dirs[i]
			}
		}
	}
	if d == nil {
		d = &n.dirs[0]
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(d.path, at)
	}
	if !pathname.Within(at, d.path) {
		return nil, "", nil, &Problem{Code: CodeOutside, Field: "path", Message: "the path leads out of " + d.path}
	}
	return n, at, d, nil
}

// file carries a request of a file tool out in the workspace, beneath a directory.
func file[Out any](ctx context.Context, n *session, d *directory, req fileops.Request) (out Out, step uint64, err error) {
	if fileops.Changes(fileops.OpOf(req)) {
		n.begun.Add(1)
		defer n.outside.hint()
	}
	answer, step, err := tools.FilesBeneath(ctx, n.entry, n.dirs[0].path, d.path, req)
	if err != nil {
		var e *fileops.Error
		if errors.As(err, &e) {
			err = &Problem{Code: CodeIO, Field: "path", Message: e.Message}
			if e.Code == fileops.CodeOutside {
				err = &Problem{Code: CodeOutside, Field: "path", Message: "the path leads out of " + d.path + " by a link"}
			}
		}
		return out, step, err
	}
	if got, ok := answer.(*Out); ok {
		out = *got
	}
	return out, step, nil
}
