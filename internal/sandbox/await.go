package sandbox

import (
	"context"
	"io"
)

// Await waits for what the stage makes, until ctx is done. A stage that is paused answers
// later; what it makes then is closed.
func Await[T io.Closer](ctx context.Context, make func() (T, error)) (T, error) {
	type made struct {
		thing T
		err   error
	}
	done := pipe(func() made {
		thing, err := make()
		return made{thing, err}
	})
	select {
	case m := <-done:
		return m.thing, m.err
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.thing.Close()
			}
		}()
		var none T
		return none, ctx.Err()
	}
}

// pipe runs a function beside and gives its result.
func pipe[T any](f func() T) <-chan T {
	c := make(chan T, 1)
	go func() { c <- f() }()
	return c
}
