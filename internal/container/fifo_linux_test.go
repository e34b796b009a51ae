package container

import (
	"syscall"
	"testing"
)

func fifo(t *testing.T, at string) {
	t.Helper()
	if err := syscall.Mkfifo(at, 0o600); err != nil {
		t.Fatal(err)
	}
}
