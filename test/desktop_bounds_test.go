//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// heldMemory is what a process holds, in MiB: now, and at most so far.
func heldMemory(t *testing.T, pid int) (now, most int) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "VmRSS:" {
			now, _ = strconv.Atoi(f[1])
		} else if len(f) > 1 && f[0] == "VmHWM:" {
			most, _ = strconv.Atoi(f[1])
		}
	}
	return now >> 10, most >> 10
}

// TestDesktopManyWindows: one program makes ten thousand windows. Who looks gets a bounded
// answer in bounded time, and the supervisor stays small.
func TestDesktopManyWindows(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox")
	s := w.stays("many", "--display", "virtual", "--read", built.attack)
	s.fine("launch", "--name", "flood", "--", built.attack, "xflood", "10000")
	eventually(t, "all windows", func() bool { return strings.Contains(s.do("logs", "flood").out, "all there") })
	s.fine("windows", "--wait", "--timeout", "120s")
	inTime := func(verb string, args ...string) string {
		t.Helper()
		start := time.Now()
		out := s.fine(verb, args...)
		if took := time.Since(start); took > 5*time.Second || len(out) > 2<<20 {
			t.Errorf("%s %q: %d bytes after %v", verb, args, len(out), took)
		}
		return out
	}
	inTime("screenshot", "-o", "many.png")
	inTime("screen", "--json")
	inTime("windows", "--all", "--json")
	inTime("click", "5", "5")
	inTime("type", "x")
	for _, flags := range [][]string{{"--wait"}, {"--wait", "--all"}, {"--gone"}} {
		start := time.Now()
		if r := s.do("windows", append(flags, "--title", "never", "--timeout", "1s")...); flags[0] == "--wait" && r.code != 125 || flags[0] == "--gone" && r.code != 0 || time.Since(start) > 5*time.Second {
			t.Errorf("%q after %v: %s", flags, time.Since(start), r)
		}
	}
	if n := len(s.windows("--all")); n == 0 || n > 2000 {
		t.Errorf("%d windows are listed", n)
	}
	if _, most := heldMemory(t, s.status().PID); most > 150 {
		t.Errorf("the supervisor has held %d MiB", most)
	}
	s.fine("kill", "flood")
	s.fine("windows", "--gone", "--timeout", "120s")
	s.stopsClean()
}

// TestDesktopEndlessClipboard: a program that owns the clipboard and never ends what it
// hands out costs whoever reads some time, and the supervisor a bounded amount of memory.
func TestDesktopEndlessClipboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb")
	s := w.stays("endless", "--display", "virtual", "--read", built.attack)
	s.fine("launch", "--name", "piles", "--", built.attack, "xowner", "piles")
	var piles strings.Builder
	for i := range 16 {
		piles.WriteString(strings.Repeat(string(rune('a'+i)), 200_001))
	}
	eventually(t, "canary: much at once comes as it is", func() bool { return s.do("clipboard get").out == piles.String() })
	s.fine("kill", "piles")
	for _, tt := range []struct {
		how, told string
		most      time.Duration
	}{
		{"pours", "bytes", 55 * time.Second},
		{"promises", "said nothing for 5s", 45 * time.Second},
		{"drips", "", 70 * time.Second},
	} {
		if tt.how == "drips" && !soaking {
			continue // it takes the minute that one reading may take, or a pause that is too long
		}
		s.fine("launch", "--name", tt.how, "--", built.attack, "xowner", tt.how)
		eventually(t, tt.how+" owns the clipboard", func() bool { return strings.Contains(s.do("logs", tt.how).out, "owns") })
		start := time.Now()
		var all []<-chan result
		for i := range 12 {
			verb, args := "clipboard get", []string{"-o", fmt.Sprintf("got%d", i)}
			if i%3 == 2 {
				verb, args = "exec", []string{"--", "wl-paste"}
			}
			all = append(all, s.later("", verb, args...))
		}
		for i, c := range all {
			if r := <-c; r.code == 0 || !strings.Contains(r.err, tt.told) || exists(fmt.Sprintf("%s/got%d", w.project, i)) {
				t.Errorf("%s: %s", tt.how, r)
			}
		}
		if took := time.Since(start); took > tt.most {
			t.Errorf("%s: %v", tt.how, took)
		}
		if _, most := heldMemory(t, s.status().PID); most > 600 {
			t.Errorf("%s: the supervisor has held %d MiB", tt.how, most)
		}
		if r := s.given("something else", "clipboard set"); r.code != 0 {
			t.Errorf("%s: setting it: %s", tt.how, r)
		}
		if got := s.fine("clipboard get"); got != "something else" {
			t.Errorf("%s: afterwards it has %q", tt.how, got)
		}
		s.fine("kill", tt.how)
	}
	s.stopsClean()
}

// TestDesktopReleased: half a minute after its last client a display ends, with the memory
// that it takes; the next client gets a new one.
func TestDesktopReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xprop")
	s := w.stays("released", "--display", "virtual")
	display := strings.TrimSpace(s.sh("xprop -root -f CARREL_TEST 8s -set CARREL_TEST old; xprop -root CARREL_TEST >&2; echo $DISPLAY"))
	before := servers(display)
	if len(before) != 1 {
		t.Fatalf("servers of %s: %v", display, before)
	}
	last := time.Now()
	for time.Sleep(25 * time.Second); len(servers(display)) > 0 && time.Since(last) < 45*time.Second; {
		time.Sleep(100 * time.Millisecond)
	}
	if took := time.Since(last); took < 29*time.Second || took > 40*time.Second {
		t.Errorf("the server ended after %v", took)
	}
	if s.runs("Xvfb") || s.runs("openbox") {
		t.Errorf("of the display there is still: %v", s.inside())
	}
	if out := s.sh("xprop -root CARREL_TEST"); !strings.Contains(out, "no such atom") && !strings.Contains(out, "not found") {
		t.Errorf("the next display is the one before: %s", out)
	}
	if after := servers(display); len(after) != 1 || after[0] == before[0] {
		t.Errorf("servers of %s: %v, before %v", display, after, before)
	}
	if k := kinds(s.events()); k["display_lost"] != 0 || k["display"] < 3 {
		t.Errorf("events: %v", k)
	}
	s.stopsClean()
}
