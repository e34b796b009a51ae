package seccomp

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkTrappedCall is the round trip of a call that is answered at once.
// sync and plain are with and without SYNC_WAKE_UP; blocking waits in Receive
// alone, polled in poll(2) first.
func BenchmarkTrappedCall(b *testing.B) {
	for _, sync := range []bool{true, false} {
		for _, polled := range []bool{false, true} {
			name := map[bool]string{true: "sync", false: "plain"}[sync] + "/" + map[bool]string{true: "polled", false: "blocking"}[polled]
			b.Run(name, func(b *testing.B) {
				c := startMeasured(b, sync)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				b.ReportAllocs()
				for b.Loop() {
					if polled {
						waitPolled(b, c.fd)
					}
					answerOne(b, c)
				}
			})
		}
	}
}

// BenchmarkReceivers is the same with other receivers waiting: the kernel wakes
// all of them for each call (since 6.6).
func BenchmarkReceivers(b *testing.B) {
	for _, count := range []int{1, 2, 4, 8} {
		for _, sync := range []bool{true, false} {
			name := fmt.Sprint(count, map[bool]string{true: "/sync", false: "/plain"}[sync])
			b.Run(name, func(b *testing.B) { measureReceivers(b, count, sync) })
		}
	}
}

func measureReceivers(b *testing.B, count int, wake bool) {
	c := startMeasured(b, wake)
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range count {
		group.Go(func() {
			runtime.LockOSThread()
			share := b.N / count
			if i == 0 {
				share = b.N - (count-1)*(b.N/count)
			}
			for range share {
				answerOne(b, c)
			}
		})
	}
	group.Wait()
}

// BenchmarkRequests is what one more request to the listener costs per call.
func BenchmarkRequests(b *testing.B) {
	fd, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer unix.Close(fd)
	rows := map[string]func(c *trappedChild, id uint64){
		"valid": func(c *trappedChild, id uint64) { c.Valid(id) },
		"addfd": func(c *trappedChild, id uint64) {
			if _, err := c.AddFD(id, fd, 0); err != nil && err != unix.EMFILE {
				b.Fatal(err)
			}
		},
	}
	for name, request := range rows {
		b.Run(name, func(b *testing.B) {
			c := startMeasured(b, true)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var n Notification
			for b.Loop() {
				if err := c.Receive(&n); err != nil {
					b.Fatal(err)
				}
				request(c, n.ID)
				_ = c.Answer(n.ID, 0, 0)
			}
		})
	}
}

func startMeasured(b *testing.B, wake bool) *trappedChild {
	b.Helper()
	c, fd := startBare(b, "", "endless")
	l, err := newListener(fd, wake)
	if err != nil {
		b.Fatal(err)
	}
	c.Listener = l
	b.Cleanup(l.Close)
	return c
}

func waitPolled(b *testing.B, fd int) {
	polled := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(polled[:], -1); err == nil {
			return
		} else if err != unix.EINTR {
			b.Fatal(err)
		}
	}
}

func answerOne(b *testing.B, c *trappedChild) {
	var n Notification
	if err := c.Receive(&n); err != nil {
		b.Error(err)
		return
	}
	if err := c.Answer(n.ID, 0, 0); err != nil {
		b.Error(err)
	}
}
