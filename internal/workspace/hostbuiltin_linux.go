package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"carrel/internal/hostexec"
	"carrel/internal/inside"
)

// builtInProcess is a sound, a notification or a link that was asked for as a command. It
// is no process, and over when it is answered.
type builtInProcess struct {
	status int
	done   chan struct{}
}

func (b *builtInProcess) Terminal() *os.File    { return nil }
func (b *builtInProcess) Signal(syscall.Signal) {}
func (b *builtInProcess) Resize(hostexec.Size)  {}
func (b *builtInProcess) End()                  {}
func (b *builtInProcess) Wait() hostexec.Exit   { <-b.done; return hostexec.Exit{Code: b.status} }

// builtIn carries out what a built-in helper is asked for.
func (h *hostService) builtIn(ctx context.Context, c hostexec.Call) (hostexec.Process, *hostexec.Problem) {
	if c.Size != nil {
		return nil, &hostexec.Problem{Code: hostexec.CodeRequest, Operation: hostexec.TypeExec, Subject: c.Command, Message: "a built-in command has no terminal"}
	}
	select {
	case <-h.ready:
	case <-ctx.Done():
		return nil, &hostexec.Problem{Code: hostexec.CodeBusy, Message: "nobody waits any more"}
	}
	if why := h.desk.Expired(hostexec.TypeExec); why != nil {
		return nil, problemOf(why)
	}
	var out, failed strings.Builder
	b := &builtInProcess{done: make(chan struct{})}
	b.status = inside.BuiltIn(append([]string{c.Command}, c.Args...), &out, &failed, func(r inside.Request) (inside.Reply, error) {
		ctx, cancel := context.WithTimeout(ctx, insideDeadline)
		defer cancel()
		switch r.Operation {
		case inside.OpSound:
			return h.inside.sound(ctx, r.Sound), nil
		case inside.OpNotify:
			return h.inside.notification(ctx, r.Note), nil
		case inside.OpOpen:
			return h.inside.open([]byte(r.URL)), nil
		}
		return inside.Reply{}, errors.New("it asks for something else")
	})
	var copies [2]*os.File
	for i := range copies {
		var err error
		if copies[i], err = duplicate(c.Stdio[1+i]); err != nil {
			copies[i] = nil
		}
	}
	go func() { // whoever reads slowly holds nobody else up
		defer close(b.done)
		for i, text := range []string{out.String(), failed.String()} {
			if copies[i] != nil {
				_, _ = io.WriteString(copies[i], text)
				copies[i].Close()
			}
		}
	}()
	return b, nil
}
