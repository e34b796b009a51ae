package workspace

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"carrel/internal/inside"
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
		reply, data = s.clipReply(ctx, in, from, req)
	case <-ctx.Done():
		reply = refusedClip(errors.New("others copied and pasted all the while"))
	}
	if json.NewEncoder(conn).Encode(reply) == nil {
		_, _ = conn.Write(data)
	}
}

func (s *insideServer) clipReply(ctx context.Context, in *bufio.Reader, from *io.LimitedReader, req inside.Request) (reply inside.Reply, data []byte) {
	var err error
	c := req.Clip
	switch {
	case req.Operation == inside.OpClipTypes:
		reply.Types, err = s.clipboard.types(ctx, c.Selection)
	case req.Operation == inside.OpClipPaste:
		data, err = s.clipboard.read(ctx, c.Selection, c.Type)
		reply.Size = int64(len(data))
	case c.Clear:
		err = s.clipboard.clear(ctx, c.Selection)
	case c.Size < 0 || c.Size > inside.MaxClip:
		err = fmt.Errorf("%d bytes cannot be copied: at most %d", c.Size, int64(inside.MaxClip))
	default:
		from.N = c.Size // whatever is in the buffer already
		if data, err = io.ReadAll(io.LimitReader(in, c.Size)); err == nil && int64(len(data)) < c.Size {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = s.clipboard.set(ctx, c.Selection, c.Type, data)
		}
		data = nil
	}
	if err != nil {
		return refusedClip(err), nil
	}
	reply.OK = true
	return reply, data
}

func refusedClip(err error) inside.Reply {
	r := inside.Reply{Message: err.Error()}
	switch {
	case errors.Is(err, errClipEmpty):
		r.Code = inside.ClipEmpty
	case errors.Is(err, errClipNoType):
		r.Code = inside.ClipNoType
	}
	return r
}
