package session

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/hostexec"
	"carrel/internal/inside"

	"golang.org/x/sys/unix"
)

// builtInProcess is a sound, a notification or a link that was asked for as a command. It
// is no process, and over when it is answered.
type builtInProcess struct{ status int }

func (b *builtInProcess) Terminal() *os.File    { return nil }
func (b *builtInProcess) Signal(syscall.Signal) {}
func (b *builtInProcess) Resize(hostexec.Size)  {}
func (b *builtInProcess) End()                  {}
func (b *builtInProcess) Wait() hostexec.Exit   { return hostexec.Exit{Code: b.status} }

// tell writes a few lines to what a program inside reads, or does not: what it does not
// take in time is lost.
func tell(f *os.File, text string) {
	const piece = 4096 // PIPE_BUF: a pipe that can be written to takes as much, pipe(7)
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		for end := time.Now().Add(time.Second); text != "" && time.Now().Before(end); {
			list := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if n, err := unix.Poll(list, 100); n == 0 || err == unix.EINTR {
				continue
			} else if err != nil || list[0].Revents&unix.POLLOUT == 0 {
				return
			}
			n, err := unix.Write(int(fd), []byte(text[:min(len(text), piece)]))
			if err != nil {
				return
			}
			text = text[n:]
		}
	})
}

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
	b := &builtInProcess{}
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
	tell(c.Stdio[1], out.String())
	tell(c.Stdio[2], failed.String())
	return b, nil
}

// Do implements [hostexec.Host].
func (h *hostService) Do(ctx context.Context, what string, of hostexec.Task) *hostexec.Problem {
	if what == hostexec.TypeClipboard {
		return &hostexec.Problem{Code: hostexec.CodeUnsupported, Operation: what, Message: "the clipboard of the person's desktop is not read from inside",
			Hint: "`carrel desktop clipboard send` puts it into the workspace's own, which wl-paste and xclip read"}
	}
	select {
	case <-h.ready:
		return h.inside.tasks.Workmux(ctx, what, of)
	case <-h.ctx.Done():
		return &hostexec.Problem{Code: api.CodeBusy, Operation: what, Message: "the workspace is ending"}
	}
}
