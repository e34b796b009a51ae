package gui

import (
	"context"
	"fmt"
	"net"
	"sync"

	"carrel/internal/api"
	"carrel/internal/fdpass"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
)

// workspace is what a desktop knows of the workspace that it belongs to.
type workspace struct {
	c  Config
	wg sync.WaitGroup

	ready chan struct{} // closed when the next two are known
	desk  *supervisor.Server
	walls *sandbox.Walls

	ctx    context.Context // done when the desktop ends
	cancel context.CancelFunc
}

// say reports what has happened, once a client listens.
func (w *workspace) say(kind, format string, args ...any) {
	select {
	case <-w.ready:
		w.desk.Emit(api.Event{Kind: kind, Text: fmt.Sprintf(format, args...)})
	case <-w.ctx.Done():
	}
}

// dialInside connects to a Unix socket by its path inside, once the walls stand.
func (w *workspace) dialInside(ctx context.Context, path string) (net.Conn, error) {
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return sandbox.Await(ctx, func() (net.Conn, error) {
		fd, err := w.walls.DialUnix(path)
		if err != nil {
			return nil, fmt.Errorf("connecting to %q inside: %w", path, err)
		}
		return fdpass.Conn(fd)
	})
}
