//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupted starts a command of carrel, waits, gives it Ctrl-C, and wants it to end at once. wait is
// given what the command has written to standard error.
func (s *stay) interrupted(wait func(said func() string), input, verb string, args ...string) result {
	t := s.w.t
	t.Helper()
	cmd := s.w.command(s.w.bin, s.words(verb, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := os.Create(t.TempDir() + "/said")
	s.w.must(err)
	defer out.Close()
	cmd.Stderr = out
	said := func() string { return s.w.read(out.Name()) }
	s.w.must(s.w.start(cmd))
	wait(said)
	start := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	err = cmd.Wait()
	if took := time.Since(start); took > 10*time.Second { // the waits are for three times as long
		t.Errorf("%s %q took %v to end", verb, args, took)
	}
	r := result{err: said()}
	s.w.ended(&r, cmd, err)
	return r
}

func after(d time.Duration) func(func() string) { return func(func() string) { time.Sleep(d) } }

// TestDesktopInterrupted: Ctrl-C ends what looks, waits and acts, and nothing of it goes
// on or stays; a video that it ends can be watched.
func TestDesktopInterrupted(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm", "ffmpeg", "ffprobe", "xinput", "x11vnc")
	s := w.stays("ctrlc", "--display", "virtual")
	s.launch("taker", `exec xterm -title taker -e sh -c 'stty -echo -icanon; touch ready; exec cat > taken'`)
	s.window("--title", "taker")
	eventually(t, "it reads", func() bool { return exists(w.project + "/ready") })

	waits := [][]string{
		{"windows", "--wait", "--title", "never"}, {"windows", "--gone"}, {"screen", "--changes", "--area", "0,0,5,5"},
		{"a11y find", "--name", "never", "--wait"}, {"key", "F7", "--hold", "30s"}, {"drag", "10", "10", "700", "700", "--for", "30s"},
	}
	for _, c := range waits {
		if r := s.interrupted(after(400*time.Millisecond), "", c[0], c[1:]...); r.signal != syscall.SIGINT {
			t.Errorf("%q: %s", c, r)
		}
	}
	for moment := range 12 { // whatever that is
		r := s.interrupted(after(time.Duration(moment)*4*time.Millisecond), "", "screenshot", "-o", "shot.png")
		if r.signal != syscall.SIGINT && r.code != 0 {
			t.Errorf("a picture: %s", r)
		}
		if data, err := os.ReadFile(w.project + "/shot.png"); err == nil && !strings.HasSuffix(string(data), "IEND\xaeB`\x82") {
			t.Errorf("half a picture of %d bytes", len(data))
		}
		_ = os.Remove(w.project + "/shot.png")
	}
	long, typed := strings.Repeat("LONG text, Grüße 你好. ", 20_000), 0
	types := func(func() string) { eventually(t, "it types", func() bool { return len(s.file("taken")) > 0 }) }
	if r := s.interrupted(types, long, "type", "-"); r.signal != syscall.SIGINT {
		t.Errorf("typing: %s", r)
	}
	eventually(t, "no more is typed", func() bool { // than what is on its way
		before := len(s.file("taken"))
		time.Sleep(500 * time.Millisecond)
		typed = len(s.file("taken"))
		return typed == before
	})
	if typed >= len(long) {
		t.Errorf("%d bytes were typed", typed)
	}
	held := regexp.MustCompile(`(key|button)\[\d+\]=down`)
	if out := s.sh(`for id in $(xinput list --id-only); do xinput query-state $id; done`); held.MatchString(out) || !strings.Contains(out, "key[") {
		t.Errorf("held down: %s", held.FindAllString(out, -1))
	}

	for i, ending := range []string{"mkv", "mp4", "webm"} {
		records := func(func() string) {
			eventually(t, "it records", func() bool {
				begun := slices.DeleteFunc(s.events(), func(e toldEvent) bool { return e.Kind != "record" || !strings.HasPrefix(e.Text, "begins") })
				return len(begun) > i
			})
			time.Sleep(time.Second)
		}
		if r := s.interrupted(records, "", "record", "-o", "v."+ending); r.code != 0 {
			t.Errorf("recording: %s", r)
		}
		out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", w.project+"/v."+ending).CombinedOutput()
		if n, _ := strconv.Atoi(strings.Trim(string(out), ", \n")); err != nil || n < 3 {
			t.Errorf("%s has %s frames, %v", ending, out, err)
		}
	}
	watches := func(said func() string) {
		eventually(t, "it watches", func() bool { return strings.Contains(said(), "Ctrl-C ends it") })
	}
	if r := s.interrupted(watches, "", "watch"); r.code != 0 {
		t.Errorf("watching: %s", r)
	}
	eventually(t, "nothing more of the encoder and of watching", func() bool { return !s.runs("ffmpeg") && !s.runs("x11vnc") })
	if left, _ := filepath.Glob(w.project + "/.[^.]*"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	s.fine("type", "after")
	eventually(t, "typing goes on", func() bool { return strings.HasSuffix(string(s.file("taken")), "after") })
	s.stopsClean()
}
