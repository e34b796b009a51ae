package machine

import (
	"context"
	"io"

	"carrel/internal/interceptor"
	"carrel/internal/lima"
)

func (g *limaGuest) Mount(ctx context.Context, places []Mounted, files Files) (io.Closer, error) {
	at := make([]lima.Place, len(places))
	for i, p := range places {
		at[i] = lima.Place(p)
	}
	return closer(g.program.StartRelay(ctx, g.m, at, func(in io.Reader, out io.Writer) error {
		return files.Serve(interceptor.Stream(in, out))
	}))
}
