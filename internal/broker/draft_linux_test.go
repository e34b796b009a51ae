package broker

import (
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const cwd = ^uint64(99) // AT_FDCWD

// drafted gives a bench on which each file called "judged" is vetted, and what opens one
// there and leaves text in it.
func drafted(t *testing.T, vet func(before, after []byte) error) (n *bench, leave func(text string)) {
	n = newBench(t)
	n.notes.vet = func(ch *Change) func(before, after []byte) error {
		if ch.Name != "judged" {
			return nil
		}
		return vet
	}
	given := make(chan int, 1)
	n.trap.addFD = func(fd int) (int, error) {
		fd, err := unix.Dup(fd)
		given <- fd
		return fd, err
	}
	return n, func(text string) {
		t.Helper()
		n.send(unix.SYS_OPENAT, cwd, n.text("judged"), unix.O_CREAT|unix.O_WRONLY, 0o600)
		fd := <-given
		defer unix.Close(fd)
		if _, err := unix.Write(fd, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDraftsAreSettledAlone: a draft is vetted before another change is decided, or after
// that has been made, whichever of both began first.
func TestDraftsAreSettledAlone(t *testing.T) {
	for _, first := range []string{"the draft", "the change"} {
		t.Run(first, func(t *testing.T) {
			var n *bench
			var leave func(text string)
			var vetted, seen atomic.Bool
			n, leave = drafted(t, func(_, _ []byte) error {
				seen.Store(n.exists("other"))
				vetted.Store(true)
				return nil
			})
			deciding, goOn := make(chan struct{}), make(chan struct{})
			n.notes.never = func(ch *Change) bool {
				if ch.Name == "other" {
					close(deciding)
					<-goOn
				}
				return false
			}
			create := func() { n.send(unix.SYS_MKDIRAT, cwd, n.text("other"), 0o700); <-deciding }
			if first == "the change" {
				create()
				leave("text")
			} else {
				n.b.still.RLock() // not before the change
				leave("text")
				n.b.still.RUnlock()
				create()
			}
			time.Sleep(settled)
			early := vetted.Load()
			close(goOn)
			n.answer()
			n.answer()
			for end := time.Now().Add(5 * time.Second); !vetted.Load() && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			if first == "the change" && (early || !seen.Load()) || first != "the change" && early == seen.Load() {
				t.Errorf("vetted before the change was made: %v; it was seen: %v", early, seen.Load())
			}
		})
	}
}

// TestRefusedDraftLeavesNothing: of a file that was made for what was refused nothing stays,
// but what has its name meanwhile does.
func TestRefusedDraftLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		name, before, wants string
		meanwhile           func(at string) error
	}{
		{"new", "", "", nil},
		{"there before", "old", "old", nil},
		{"replaced", "", "other", func(at string) error {
			return errors.Join(os.WriteFile(at+"2", []byte("other"), 0o600), os.Rename(at+"2", at))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, leave := drafted(t, func(_, after []byte) error { return errors.New("no " + string(after)) })
			refused := make(chan struct{})
			n.b.config.Refused = func(*Change, Verdict) { close(refused) }
			at := n.dir + "/judged"
			if c.before != "" {
				if err := os.WriteFile(at, []byte(c.before), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			n.b.still.RLock() // it is settled after this
			leave("text")
			if c.meanwhile != nil {
				if err := c.meanwhile(at); err != nil {
					t.Fatal(err)
				}
			}
			n.b.still.RUnlock()
			<-refused
			text, err := os.ReadFile(at)
			if string(text) != c.wants || os.IsNotExist(err) != (c.wants == "") {
				t.Errorf("there is %q: %v", text, err)
			}
		})
	}
}
