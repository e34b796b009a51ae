//go:build unix

package stdio

import (
	"context"
	"os"
	"os/signal"
	"time"
)

// Interruption gives a context that ends the time of patience after the first of the signals,
// but for those that our caller had ignored.
func Interruption(patience time.Duration, signals ...os.Signal) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	in := make(chan os.Signal, 1)
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(in, sig)
		}
	}
	go func() {
		select {
		case <-in:
			time.AfterFunc(patience, cancel)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(in); cancel() }
}
