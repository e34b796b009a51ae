package stdio

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// target writes down what a command is told.
type target struct{ told chan string }

func (c target) Signal(sig syscall.Signal) { c.told <- sig.String() }
func (c target) Interrupt()                { c.told <- "interrupt" }
func (c target) LetEnd()                   { c.told <- "let end" }

func (c target) since() string {
	synctest.Wait()
	var all []string
	for len(c.told) > 0 {
		all = append(all, <-c.told)
	}
	return strings.Join(all, ", ")
}

// TestForward: what a command is told of each signal, and when its grace is over. It runs by a
// clock of its own.
func TestForward(t *testing.T) {
	typed := InForeground() // the terminal has sent it to the command, too
	const grace = 5 * time.Second
	synctest.Test(t, func(t *testing.T) {
		r := &Signals{in: make(chan os.Signal, 64), done: make(chan struct{})}
		c := target{make(chan string, 100)}
		r.in <- syscall.SIGUSR1
		r.in <- syscall.SIGINT
		r.Starting()
		if len(r.in) != 0 {
			t.Error("a signal from before the start is left")
		}
		r.Forward(c, grace)
		if got := c.since(); got != "user defined signal 1, interrupt" {
			t.Errorf("from before the start: %s", got)
		}
		for _, step := range []struct {
			sig  syscall.Signal
			wait time.Duration
			want string
		}{
			{syscall.SIGUSR2, 0, "user defined signal 2"}, {syscall.SIGINT, 0, "interrupt, interrupt"}, {syscall.SIGQUIT, 0, "quit, interrupt"},
			{syscall.SIGTERM, 0, "terminated, let end"}, {0, grace - 1, ""}, {0, 1, "killed, let end"},
			{syscall.SIGHUP, 0, "hangup, let end, killed, let end"}, // it was asked before
		} {
			if step.sig != 0 {
				r.in <- step.sig
			}
			time.Sleep(step.wait)
			if typed && strings.HasSuffix(step.want, ", interrupt") {
				step.want = "interrupt"
			}
			if got := c.since(); got != step.want {
				t.Errorf("%v after %s: %s, want %s", step.sig, step.wait, got, step.want)
			}
		}
		r.Stop()
		time.Sleep(2 * grace)
		if got := c.since(); got != "" {
			t.Errorf("after the end: %s", got)
		}
	})
}

// TestHoldSignals: what our caller had ignored stays ignored, and nothing else is lost.
func TestHoldSignals(t *testing.T) {
	r := HoldSignals()
	defer r.Stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-r.in:
		if s != syscall.SIGUSR1 {
			t.Errorf("%v came", s)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing came")
	}
}
