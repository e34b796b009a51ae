// Package taskhost answers programs inside a workspace that give tasks to others: it reads one
// call from the socket that they know, has it carried out outside, and writes the answer. What
// a call may do is decided by package taskop, for the workspace that it comes from.
//
// Its callers are whatever runs behind the walls: calls are bounded in size and in number, and
// end when their caller goes.
package taskhost

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"time"

	"carrel/internal/inside"
)

const (
	maxCall = inside.MaxTask
	atOnce  = 24 // calls; some wait for a long time
)

// Host answers for one workspace; nil refuses everything.
type Host struct {
	do    func(ctx context.Context, call []byte) []byte
	slots chan struct{}
}

// New has calls carried out by do, which gives the answer as JSON. A nil do gives a nil Host.
func New(do func(ctx context.Context, call []byte) []byte) *Host {
	if do == nil {
		return nil
	}
	return &Host{do: do, slots: make(chan struct{}, atOnce)}
}

// Answer reads the call that follows a request, and answers it. It may take as long as the caller
// waits. ctx ends with the workspace.
func (h *Host) Answer(ctx context.Context, conn net.Conn, in *bufio.Reader, from *io.LimitedReader, req inside.Request) {
	refuse := func(why string) { _ = json.NewEncoder(conn).Encode(inside.Reply{Message: why}) }
	if h == nil {
		refuse("this workspace gives no tasks: " +
			"the person it works for allows that with `carrel start --coordinator` or `carrel task new --coordinator`")
		return
	}
	if req.Size <= 0 || req.Size > maxCall {
		refuse("the request is not understood")
		return
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		refuse("too many requests about tasks at once")
		return
	}
	from.N = req.Size
	call := make([]byte, req.Size)
	if _, err := io.ReadFull(in, call); err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // the caller says no more: what comes now is its end
		from.N = 1
		_, _ = in.Peek(1)
		cancel()
	}()
	answer := h.do(ctx, call)
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime))
	if json.NewEncoder(conn).Encode(inside.Reply{OK: true, Size: int64(len(answer))}) == nil {
		_, _ = conn.Write(answer)
	}
}

// writeTime is how long a caller may take to read its answer.
const writeTime = 10 * time.Second
