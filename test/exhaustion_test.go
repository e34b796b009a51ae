//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// rlimitSigpending is RLIMIT_SIGPENDING of getrlimit(2).
const rlimitSigpending = 11

// TestWhatTheUserHasIsShared: the kernel counts some things for a user, inside and
// outside together. Who takes all that a workspace gets of them leaves the others
// theirs: another run starts, with its masks watched.
func TestWhatTheUserHasIsShared(t *testing.T) {
	var signals unix.Rlimit
	if err := unix.Getrlimit(rlimitSigpending, &signals); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		attack string
		most   int // that the workspace gets
		err    string
	}{
		{"watchers", 32, "EMFILE"},
		{"signals", int(min(signals.Max, 1<<20) / 8), "EAGAIN"},
		{"nests", 1000, "ENOSPC"},
	} {
		eachPersonAlone(t, func(t *testing.T, p person) {
			w := newWorld(t, p)
			w.litter = true // the runs are beside each other
			w.write(w.project+"/.env", "SECRET")
			more := strconv.Itoa(tt.most + 8)
			w.mustWork(tt.attack, more)
			cmd := w.command(w.bin, "run", "--read", built.attack, "--", built.attack, tt.attack, more, "hold")
			out, err := cmd.StdoutPipe()
			w.must(err)
			w.must(cmd.Start())
			waitFor(t, out, "holding\n")
			start := time.Now()
			if r := w.run("--", "sh", "-c", "echo fine > b; cat b; cat .env; sleep 0.1"); !strings.HasPrefix(r.out, "fine\n") || strings.Contains(r.out, "SECRET") || strings.Contains(r.err, "watched") || time.Since(start) > 20*time.Second {
				t.Errorf("beside one that took all its %s: %s", tt.attack, r)
			}
			w.mustWork(tt.attack, "8")
			w.write(w.project+"/end", "")
			said := new(strings.Builder)
			buf := make([]byte, 100)
			for n, err := out.Read(buf); n > 0 || err == nil; n, err = out.Read(buf) {
				said.Write(buf[:n])
			}
			_ = cmd.Wait()
			// How long a thousand namespaces take is the machine's business.
			if code, _, _ := strings.Cut(strings.TrimSpace(said.String()), " "); code != tt.err {
				t.Errorf("%s inside: %q, want %s", tt.attack, said, tt.err)
			}
		})
	}
}

// TestFewDescriptors: with too few to work with a run says so and starts nothing;
// whatever the number, it ends with an answer and nothing breaks in the middle.
func TestFewDescriptors(t *testing.T) {
	w := newWorld(t, ordinary(t))
	for n := 13; n <= 70; n += often(3, 1) {
		w.must(os.RemoveAll(w.project + "/made"))
		for _, taken := range []string{"", "for i in {10..50}; do eval \"exec $i</dev/null\" || break; done 2>/dev/null; "} {
			r := w.plain("bash", "-c", taken+"ulimit -n "+strconv.Itoa(n)+"; exec "+w.bin+" run -- sh -c 'echo x > made'")
			switch {
			case strings.Contains(r.err, "panic") || strings.Contains(r.err, "goroutine"):
				t.Fatalf("%d: %s", n, r)
			case n < 64 && (r.code != 125 || exists(w.project+"/made") || !strings.Contains(r.err, "limit of open files is "+strconv.Itoa(n))):
				t.Errorf("%d: %s", n, r)
			case n >= 64 && r.code == 0 && !exists(w.project+"/made"):
				t.Errorf("%d: it says that all is well, and nothing was made: %s", n, r)
			case n >= 64 && r.code != 0 && !strings.Contains(r.err, "open files"):
				t.Errorf("%d: %s", n, r)
			}
		}
	}
}

// TestCallbackConnectionsAreBounded: everybody on the machine can connect to a
// login's way back, and must not use up what the supervisor has for the command.
func TestCallbackConnectionsAreBounded(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("python3")
	port := freePort(t)
	w.write(w.home+"/.config/carrel/config.yaml", "open_urls: browser\n")
	w.write(w.project+"/deaf.py", program("exhaustion/deaf.py"))
	cmd := w.command(w.bin, "run", "--network", "local", "--", "python3", "deaf.py", strconv.Itoa(port))
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	waitFor(t, out, "ready\n")
	var conns []net.Conn
	for range 100 {
		c, err := net.Dial("tcp4", "127.0.0.1:"+strconv.Itoa(port))
		w.must(err)
		defer c.Close()
		conns = append(conns, c)
	}
	open := 0
	for _, c := range conns {
		w.must(c.SetReadDeadline(time.Now().Add(100 * time.Millisecond)))
		if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	if open == 0 || open > 16 {
		t.Errorf("%d of 100 connections are carried at once", open)
	}
	w.must(cmd.Process.Kill())
	_ = cmd.Wait()
}

// TestProcessNumbersAreLeft: a workspace gets half of the process numbers that the
// machine has, and cannot change that; the machine's own limit stays as it is.
func TestProcessNumbersAreLeft(t *testing.T) {
	const file = "/proc/sys/kernel/pid_max"
	number := func(file string) int {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	var major, minor int
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if _, scan := fmt.Sscanf(string(release), "%d.%d", &major, &minor); err != nil || scan != nil {
		t.Fatal(err, scan)
	}
	before := number(file)
	want := strconv.Itoa(min(before, number("/proc/sys/kernel/threads-max")) / 2)
	if major < 6 || major == 6 && minor < 14 {
		want = strconv.Itoa(before) // it is everybody's, and stays
	}
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		if out := w.sh("cat " + file + "; (echo 4000000 > " + file + ") 2>/dev/null; unshare -Ur sh -c 'echo 4000000 > " + file + "' 2>/dev/null; cat " + file); out != want+"\n"+want+"\n" {
			t.Errorf("inside: %q, want %s", out, want)
		}
		if now := number(file); now != before {
			t.Errorf("outside it was %d and is %d", before, now)
		}
	})
}
