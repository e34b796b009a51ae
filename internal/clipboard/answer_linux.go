package clipboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"carrel/internal/inside"
)

// Answer answers a request from inside. What is copied follows the request in in, of which
// from is the bound; what is pasted follows the reply.
func (c *Clipboard) Answer(ctx context.Context, in *bufio.Reader, from *io.LimitedReader, req inside.Request) (reply inside.Reply, data []byte) {
	var err error
	q := req.Clip
	switch {
	case req.Operation == inside.OpClipTypes:
		reply.Types, err = c.Types(ctx, q.Selection)
	case req.Operation == inside.OpClipPaste:
		data, err = c.Read(ctx, q.Selection, q.Type)
		reply.Size = int64(len(data))
	case q.Clear:
		err = c.Clear(ctx, q.Selection)
	case q.Size < 0 || q.Size > inside.MaxClip:
		err = fmt.Errorf("%d bytes cannot be copied: at most %d", q.Size, int64(inside.MaxClip))
	default:
		from.N = q.Size // whatever is in the buffer already
		if data, err = io.ReadAll(io.LimitReader(in, q.Size)); err == nil && int64(len(data)) < q.Size {
			err = io.ErrUnexpectedEOF
		}
		if err == nil {
			err = c.Set(ctx, q.Selection, q.Type, data)
		}
		data = nil
	}
	if err != nil {
		return Refusal(err), nil
	}
	reply.OK = true
	return reply, data
}

// Refusal is the reply that says why there is nothing.
func Refusal(err error) inside.Reply {
	r := inside.Reply{Message: err.Error()}
	switch {
	case errors.Is(err, ErrEmpty):
		r.Code = inside.ClipEmpty
	case errors.Is(err, ErrNoType):
		r.Code = inside.ClipNoType
	}
	return r
}
