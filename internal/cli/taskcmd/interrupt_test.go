package taskcmd

import (
	"context"
	"errors"
	"testing"

	"carrel/internal/cli/cmdenv"
)

// TestInterrupted: an answer that does not come is not waited for behind Ctrl-C, and the status says what it was.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	if got, err := within(ctx, func() (string, error) { return "y", nil }); got != "y" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	why := errors.New("why")
	if err := interrupted(ctx, why); err != why {
		t.Errorf("not interrupted: %v", err)
	}
	cancel()
	never := make(chan string)
	if _, err := within(ctx, func() (string, error) { return <-never, nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var exit *cmdenv.ExitError
	if err := interrupted(ctx, why); !errors.As(err, &exit) || exit.Status != 130 || !errors.Is(err, why) {
		t.Errorf("interrupted: %v", err)
	}
	if err := interrupted(ctx, nil); err != nil {
		t.Error(err)
	}
}
