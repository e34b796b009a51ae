package stdio

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// TestCaught: signals come in order by the pipe, from whichever thread took them, a descriptor is
// seen beside them, and afterwards package os/signal has them again.
func TestCaught(t *testing.T) {
	hangup, err := setAction(syscall.SIGHUP, nil) // nohup(1) has it ignored
	if err != nil {
		t.Fatal(err)
	}
	before := make(chan os.Signal, 8)
	signal.Notify(before, syscall.SIGUSR1)
	defer signal.Stop(before)
	c, err := CatchSignals()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	await := func(patience time.Duration) (syscall.Signal, bool) {
		t.Helper()
		end := time.Now().Add(patience)
		for {
			s, readable, err := c.Await(int(r.Fd()), time.Until(end).Abs())
			if err != nil {
				t.Fatal(err)
			}
			if s != 0 || readable || !time.Now().Before(end) { // the runtime's own signals end the wait
				return s, readable
			}
		}
	}
	if s, readable := await(10 * time.Millisecond); s != 0 || readable {
		t.Errorf("at first %v, %v", s, readable)
	}
	for _, want := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGALRM, syscall.SIGUSR2} {
		if want == syscall.SIGHUP && hangup.handler == ignoredHandler {
			continue
		}
		if err := syscall.Kill(os.Getpid(), want); err != nil {
			t.Fatal(err)
		}
		if s, readable := await(10 * time.Second); s != want || readable {
			t.Errorf("%v came as %v, %v", want, s, readable)
		}
	}
	if _, err := w.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	if s, readable := await(10 * time.Second); s != 0 || !readable {
		t.Errorf("of the descriptor %v, %v", s, readable)
	}
	if len(before) != 0 {
		t.Errorf("os/signal has %v", <-before)
	}
	c.Release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case <-before:
	case <-time.After(10 * time.Second):
		t.Error("after the release no signal comes")
	}
}

// TestCaughtLeavesIgnored: what is ignored stays so.
func TestCaughtLeavesIgnored(t *testing.T) {
	was, err := setAction(syscall.SIGHUP, &action{handler: ignoredHandler})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = setAction(syscall.SIGHUP, &was) }()
	c, err := CatchSignals()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if s, _, err := c.Await(-1, 0); s != 0 || err != nil {
		t.Errorf("an ignored signal came: %v, %v", s, err)
	}
}
