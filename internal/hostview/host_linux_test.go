package hostview

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWalk(t *testing.T) {
	root := build(t, tree{
		"/a/b/file": "x", "/l": "-> /a", "/a/up": "-> ../a/b", "/chain": "-> /l/up/file", "/self": "-> self",
		"/ping": "-> pong", "/pong": "-> ping", "/a/gone": "-> nothing/here", "/escape": "-> ../../../../a",
	})
	tests := []struct {
		in, want string
		found    bool
		hops     int
	}{
		{"/a/b/file", "/a/b/file", true, 0},
		{"/l/b/file", "/a/b/file", true, 1},
		{"/chain", "/a/b/file", true, 3},
		{"/l", "/a", true, 1},
		{"/escape/b", "/a/b", true, 1},
		{"/a/gone", "/a/nothing/here", false, 1},
		{"/a/missing/x", "/a/missing/x", false, 0},
		{"/a/b/file/x", "/a/b/file/x", false, 0},
		{"/", "/", true, 0},
	}
	for _, tt := range tests {
		at := newHost(root).walk(tt.in)
		if at.path != tt.want || at.found != tt.found || len(at.hops) != tt.hops {
			t.Errorf("walk(%q) = %q found=%v %d hops, want %q found=%v %d hops", tt.in, at.path, at.found, len(at.hops), tt.want, tt.found, tt.hops)
		}
	}
	for _, loop := range []string{"/self", "/ping", "/ping/x", strings.Repeat("/x", 3000), "/a\x00b"} {
		if newHost(root).walk(loop).found {
			t.Errorf("walk(%.20q) found something", loop)
		}
	}
}

// TestWalkAgainstTheKernel compares with what the system resolves.
func TestWalkAgainstTheKernel(t *testing.T) {
	for _, p := range []string{"/bin/sh", "/etc/mtab", "/proc/self/../version", "/usr/lib/../bin", "/etc/localtime", "/dev/stdin/../.."} {
		want, err := filepath.EvalSymlinks(p)
		if err != nil || strings.HasPrefix(want, "/proc") {
			continue
		}
		if at := newHost("").walk(filepath.Clean(p)); at.path != want {
			t.Errorf("walk(%q) = %q, want %q", p, at.path, want)
		}
	}
}

func TestReadNeverBlocks(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(root+"/pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/big", make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { _, err := newHost(root).read("/pipe", 10); done <- err }()
	select {
	case err := <-done:
		if !errors.Is(err, errNotRegular) {
			t.Errorf("reading a FIFO: %v, want %v", err, errNotRegular)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("reading a FIFO blocks")
	}
	if _, err := newHost(root).read("/big", 99); !errors.Is(err, errTooLarge) {
		t.Errorf("reading too much: %v, want %v", err, errTooLarge)
	}
	if data, err := newHost(root).read("/big", 100); err != nil || len(data) != 100 {
		t.Errorf("reading to the limit: %d bytes, %v", len(data), err)
	}
}
