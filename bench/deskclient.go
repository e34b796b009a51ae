package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// entry is what is read of one workspace in the registry; docs/supervisor.md has the
// format, and that of requests and replies.
type entry struct {
	ID, Name string
	PID      int
}

// registry lists the running workspaces of a runtime directory.
func registry(dir string) []entry {
	files, _ := filepath.Glob(filepath.Join(dir, "carrel", "*.json"))
	var out []entry
	for _, file := range files {
		text, err := os.ReadFile(file)
		var e entry
		if err == nil && json.Unmarshal(text, &e) == nil { // an error else: it has ended since
			out = append(out, e)
		}
	}
	return out
}

// request is what is asked of a workspace.
type request struct {
	Op      string   `json:"op"`
	Command *command `json:"command,omitempty"`
	App     string   `json:"app,omitempty"`
	Follow  bool     `json:"follow,omitempty"`
	Since   uint64   `json:"since,omitempty"`
	Desktop any      `json:"desktop,omitempty"`
}

type command struct {
	Argv []string `json:"argv"`
}

// reply is what is read of one line of an answer.
type reply struct {
	OK, More bool
	Error    *struct{ Code, Message string }
	App      *struct {
		ID   string
		Exit int
	}
	Event  *event
	Status *struct{ Events uint64 }

	Desktop *struct{ Bytes int64 }
	files   []*os.File // what came beside the line
}

type event struct {
	Seq  uint64
	Kind string
	Lost int
}

// askDesk finds a workspace by its name, as any client does, sends it a request with
// descriptors beside it, and gives the last line of the answer.
func askDesk(runtime, name string, req request, files ...*os.File) (reply, error) {
	conn, err := dialDesk(runtime, name)
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	return converse(conn, req, files, func(reply) {})
}

// converse sends a request, hands on each line of the answer, and gives the last.
func converse(conn *net.UnixConn, req request, files []*os.File, each func(reply)) (reply, error) {
	line, err := json.Marshal(req)
	if err == nil {
		err = sendWith(conn, append(line, '\n'), files)
	}
	if err != nil {
		return reply{}, fmt.Errorf("asking a workspace to %s: %w", req.Op, err)
	}
	from := &withFiles{conn: conn}
	defer from.close()
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		var r reply
		text, err := in.ReadSlice('\n')
		r.files = from.files
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return r, fmt.Errorf("the answer of a workspace that was asked to %s: %w", req.Op, err)
		}
		if r.Error != nil || !r.OK {
			return r, fmt.Errorf("a workspace refuses to %s: %+v", req.Op, r.Error)
		}
		if each(r); !r.More {
			return r, nil
		}
	}
}

// withFiles reads a connection and keeps the descriptors that come.
type withFiles struct {
	conn  *net.UnixConn
	files []*os.File
}

func (w *withFiles) close() {
	for _, f := range w.files {
		f.Close()
	}
}

func dialDesk(runtime, name string) (*net.UnixConn, error) {
	for _, e := range registry(runtime) {
		if e.Name == name {
			return net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: filepath.Join(runtime, "carrel", e.ID+".sock")})
		}
	}
	return nil, fmt.Errorf("no workspace %q in %s", name, runtime)
}

// execIn runs a command in a workspace until its end, and wants it to be well.
func execIn(runtime, name string, stdio []*os.File, argv []string) error {
	r, err := askDesk(runtime, name, request{Op: "exec", Command: &command{Argv: argv}}, stdio...)
	if err == nil && (r.App == nil || r.App.Exit != 0) {
		err = fmt.Errorf("%q did not end well in workspace %s", argv, name)
	}
	return err
}
