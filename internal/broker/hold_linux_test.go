package broker

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// settled is longer than any pause between two tries of the same call.
const settled = 10 * leasePause

// TestB21HeldRetries: a call that waits for a lease waits on while the workspace
// is held, though the lease is gone.
func TestB21HeldRetries(t *testing.T) {
	for name, call := range map[string]func(*bench) answer{
		"truncate": func(n *bench) answer {
			text := []byte(n.dir + "/leased\x00")
			defer runtime.KeepAlive(text)
			return n.raw(unix.SYS_TRUNCATE, uint64(uintptr(unsafe.Pointer(&text[0]))))
		},
		"open and cut": func(n *bench) answer { return n.call(unix.SYS_OPENAT, "leased", unix.O_WRONLY|unix.O_TRUNC) },
		"open and make": func(n *bench) answer {
			return n.call(unix.SYS_OPENAT, "leased", unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := newBench(t)
			file := n.dir + "/leased"
			if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
				t.Fatal(err)
			}
			lease, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(lease)
			if _, err := unix.FcntlInt(uintptr(lease), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
				t.Fatal(err)
			}
			content := func() string { data, _ := os.ReadFile(file); return string(data) }
			done := make(chan string)
			go func() {
				defer close(done)
				time.Sleep(settled)
				n.b.Hold(true)
				_, _ = unix.FcntlInt(uintptr(lease), unix.F_SETLEASE, unix.F_UNLCK)
				time.Sleep(settled)
				if got := content(); got != "kept" {
					t.Errorf("while held the file became %q", got)
				}
				n.b.Hold(false)
			}()
			a := call(n)
			<-done
			if got := content(); a.errno != 0 || got != "" {
				t.Errorf("afterwards: %+v, %q", a, got)
			}
		})
	}
}

// TestB9LeasedAreBounded: calls that wait for a lease keep nobody else waiting,
// and more than some do not wait at all.
func TestB9LeasedAreBounded(t *testing.T) {
	n, m := newBench(t), new(memory)
	defer runtime.KeepAlive(m)
	if err := os.WriteFile(n.dir+"/leased", []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	lease, err := unix.Open(n.dir+"/leased", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(lease)
	if _, err := unix.FcntlInt(uintptr(lease), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		t.Fatal(err)
	}
	m.put(n.dir, []any{"leased"})
	for range maxLeased {
		n.send(unix.SYS_TRUNCATE, m.at(0))
	}
	time.Sleep(settled)
	if a := n.raw(unix.SYS_TRUNCATE, m.at(0)); a.errno != unix.EAGAIN {
		t.Errorf("one more: %+v", a)
	}
	if a := n.call(unix.SYS_MKDIRAT, "d", 0o755); a != (answer{}) || !n.exists("d") {
		t.Errorf("another call: %+v", a)
	}
	if _, err := unix.FcntlInt(uintptr(lease), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		t.Fatal(err)
	}
	for i := range maxLeased {
		if a := n.answer(); a != (answer{}) {
			t.Errorf("%d: %+v", i, a)
		}
	}
}

// TestB21HoldWaits: when holding begins, what was already being carried out is
// done.
func TestB21HoldWaits(t *testing.T) {
	n := newBench(t)
	deciding, held := make(chan struct{}), make(chan bool)
	n.notes.never = func(*Change) bool {
		close(deciding)
		time.Sleep(settled / 2)
		return false
	}
	go func() {
		<-deciding
		n.b.Hold(true)
		before := n.exists("d")
		time.Sleep(settled)
		held <- before == n.exists("d")
		n.b.Hold(false)
	}()
	if a := n.call(unix.SYS_MKDIRAT, "d", 0o755); a != (answer{}) || !n.exists("d") {
		t.Errorf("%+v, made: %v", a, n.exists("d"))
	}
	if !<-held {
		t.Error("it was made while held")
	}
}
