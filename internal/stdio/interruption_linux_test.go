package stdio

import (
	"syscall"
	"testing"
	"time"
)

// TestInterruption: a signal ends a start after the time of patience, and no signal does not.
func TestInterruption(t *testing.T) {
	ctx, stop := Interruption(10*time.Millisecond, syscall.SIGUSR2)
	defer stop()
	select {
	case <-ctx.Done():
		t.Fatal("it has ended without a signal")
	case <-time.After(50 * time.Millisecond):
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("the signal has not ended it")
	}
}
