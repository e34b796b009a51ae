package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"carrel/internal/clipboard"
	"carrel/internal/decide"
	"carrel/internal/gui"
	"carrel/internal/inside"
	"carrel/internal/policy"
)

// Bounds on what programs inside copy and paste. A copy may start a display first.
const (
	clipTime   = 40 * time.Second
	clipAtOnce = 2               // each may hold as much as a clipboard does
	clipAnswer = 3 * time.Second // is what is left then to say that it took too long
)

// clip answers a request about the clipboard; what is copied follows its line.
func (s *insideServer) clip(conn net.Conn, in *bufio.Reader, from *io.LimitedReader, req inside.Request) {
	ctx, cancel := context.WithTimeout(s.ctx, clipTime)
	defer cancel()
	_ = conn.SetReadDeadline(time.Now().Add(clipTime))
	_ = conn.SetWriteDeadline(time.Now().Add(clipTime + clipAnswer))
	var reply inside.Reply
	var data []byte
	select {
	case s.clips <- struct{}{}:
		defer func() { <-s.clips }()
		reply, data = s.clipboard.Answer(ctx, in, from, req)
	case <-ctx.Done():
		reply = clipboard.Refusal(errors.New("others copied and pasted all the while"))
	}
	if json.NewEncoder(conn).Encode(reply) == nil {
		_, _ = conn.Write(data)
	}
}

// newClipboard makes the one of a workspace.
func newClipboard(d *decide.Decision, desktop *gui.Desktop) *clipboard.Clipboard {
	var of clipboard.Config
	if desktop != nil {
		of.Display = desktop.Clipboard
	}
	if lends(d) {
		of.Person = d.Getenv
	}
	return clipboard.New(of)
}

// lends says whether the person's own can be read inside, after their key for pasting.
func lends(d *decide.Decision) bool {
	return d.Policy.Clipboard == policy.ClipboardPaste && (d.Getenv("DISPLAY") != "" || d.Getenv("WAYLAND_DISPLAY") != "")
}
