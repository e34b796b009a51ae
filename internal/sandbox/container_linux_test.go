package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// slowContainer is an engine that does not come to an end by itself.
type slowContainer struct {
	dir            string
	ended, removed bool
	early          bool // it was removed while the engine still worked on it
}

func (c *slowContainer) Dir() string { return c.dir }

func (c *slowContainer) Start(ctx context.Context, _ []HostBind, _ []string, _ bool) error {
	<-ctx.Done()
	c.ended = true
	return ctx.Err()
}

func (c *slowContainer) Remove() { c.removed, c.early = true, !c.ended }

// TestContainerThatDoesNotAnswer: the engine's program ends before the container is removed,
// which that would hold otherwise.
func TestContainerThatDoesNotAnswer(t *testing.T) {
	defer func(was time.Duration) { containerTime = was }(containerTime)
	containerTime = 10 * time.Millisecond
	c := &slowContainer{dir: t.TempDir()}
	s := startInContainer(&Plan{Container: c, NewNet: true})
	if s.err == nil || !c.removed || c.early {
		t.Errorf("%v, removed %v, before the engine had ended %v", s.err, c.removed, c.early)
	}
}

// answering is an engine; the first process of its container does as the test says.
type answering struct {
	dir     string
	first   func(dir string) error
	removed bool
}

func (c *answering) Dir() string { return c.dir }

func (c *answering) Start(_ context.Context, _ []HostBind, argv []string, _ bool) error {
	if argv[0] != ContainerStage || argv[1] != ContainerArg {
		return fmt.Errorf("started as %q", argv)
	}
	return c.first(c.dir)
}

func (c *answering) Remove() { c.removed = true }

// dialControl connects to the socket of a container as another user or this one.
func dialControl(dir string, uid int) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	done := make(chan error)
	go func() { // on a thread that ends with it
		runtime.LockOSThread()
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
			done <- e
			return
		}
		done <- unix.Connect(fd, &unix.SockaddrUnix{Name: dir + "/control"})
	}()
	return <-done
}

// TestContainerThatAnswers: the first process of this user's that connects is the stage, and no other
// user's; what an engine says is told, and the container is removed where nothing comes of it.
func TestContainerThatAnswers(t *testing.T) {
	defer func(was time.Duration) { containerTime = was }(containerTime)
	containerTime = 100 * time.Millisecond
	broken := errors.New("no such image")
	for name, c := range map[string]struct {
		first func(dir string) error
		says  string
	}{
		"this user's": {func(dir string) error { return dialControl(dir, os.Getuid()) }, ""},
		"another user's": {func(dir string) error { err := dialControl(dir, 4242); time.Sleep(2 * containerTime); return err },
			"did not answer"},
		"one after it":    {func(dir string) error { return errors.Join(dialControl(dir, 4242), dialControl(dir, os.Getuid())) }, ""},
		"an engine's end": {func(string) error { return broken }, "no such image"},
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		e := &answering{dir: dir, first: func(dir string) error {
			err := os.Chmod(dir+"/control", 0o777) // it is the directory that keeps others out
			return errors.Join(err, os.Chmod(filepath.Dir(dir), 0o755), c.first(dir))
		}}
		w, err := connectContainer(&Plan{Container: e}, nil)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
		if w != nil {
			w.Close()
		}
	}
	e := &answering{dir: t.TempDir() + "/none"}
	if s := startInContainer(&Plan{Container: e}); s.err == nil || !e.removed {
		t.Errorf("without its directory: %v, removed %v", s.err, e.removed)
	}
	if s := startInContainer(&Plan{}); s.err == nil || !strings.Contains(s.err.Error(), "nothing starts one") {
		t.Errorf("without an engine: %v", s.err)
	}
}
