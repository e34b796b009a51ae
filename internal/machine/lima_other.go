//go:build !linux

package machine

import (
	"context"
	"errors"
	"io"
)

func (g *limaGuest) Mount(context.Context, []Mounted, Files) (io.Closer, error) {
	return nil, errors.New("a machine is served its project from Linux only")
}
