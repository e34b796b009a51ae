package taskcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"carrel/internal/cli/cmdenv"
)

// exitInterrupted is what a shell says of a command that Ctrl-C has ended.
const exitInterrupted = 130

// again is when another signal ends the process as usual: timeout(1) sends two at once.
const again = 2 * time.Second

// interruptible gives a context that Ctrl-C and its like end, so that what was begun is taken back. Who
// does not want to wait for that sends another.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { time.AfterFunc(again, stop) })
	return ctx, stop
}

// interrupted gives the error of a command its status where a signal has ended it.
func interrupted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return &cmdenv.ExitError{Status: exitInterrupted, Err: fmt.Errorf("interrupted, and taken back: %w", err)}
}

// within waits for an answer of a person, until ctx ends.
func within[T any](ctx context.Context, ask func() (T, error)) (answer T, err error) {
	type said struct {
		answer T
		err    error
	}
	done := make(chan said, 1)
	go func() {
		answer, err := ask()
		done <- said{answer, err}
	}()
	select {
	case <-ctx.Done():
		return answer, ctx.Err()
	case s := <-done:
		return s.answer, s.err
	}
}
