//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// interrupted starts a command of carrel, gives it Ctrl-C after a while, and wants it to
// end at once.
func (s *stay) interrupted(after time.Duration, input, verb string, args ...string) result {
	t := s.w.t
	t.Helper()
	cmd := s.w.command(s.w.bin, s.words(verb, args...)...)
	cmd.Stdin = strings.NewReader(input)
	var out strings.Builder
	cmd.Stderr = &out
	s.w.must(s.w.start(cmd))
	time.Sleep(after)
	start := time.Now()
	_ = cmd.Process.Signal(syscall.SIGINT)
	err := cmd.Wait()
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("%s %q took %v to end", verb, args, took)
	}
	r := result{err: out.String()}
	s.w.ended(&r, cmd, err)
	return r
}

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
		if r := s.interrupted(400*time.Millisecond, "", c[0], c[1:]...); r.signal != syscall.SIGINT {
			t.Errorf("%q: %s", c, r)
		}
	}
	for after := range 12 { // at whatever moment
		r := s.interrupted(time.Duration(after)*4*time.Millisecond, "", "screenshot", "-o", "shot.png")
		if r.signal != syscall.SIGINT && r.code != 0 {
			t.Errorf("a picture: %s", r)
		}
		if data, err := os.ReadFile(w.project + "/shot.png"); err == nil && !strings.HasSuffix(string(data), "IEND\xaeB`\x82") {
			t.Errorf("half a picture of %d bytes", len(data))
		}
		_ = os.Remove(w.project + "/shot.png")
	}
	if r := s.interrupted(500*time.Millisecond, strings.Repeat("LONG text, Grüße 你好. ", 20_000), "type", "-"); r.signal != syscall.SIGINT {
		t.Errorf("typing: %s", r)
	}
	waitABit()
	typed := len(s.file("taken"))
	if time.Sleep(500 * time.Millisecond); len(s.file("taken")) != typed || typed == 0 {
		t.Errorf("%d bytes were typed, then %d", typed, len(s.file("taken")))
	}
	held := regexp.MustCompile(`(key|button)\[\d+\]=down`)
	if out := s.sh(`for id in $(xinput list --id-only); do xinput query-state $id; done`); held.MatchString(out) || !strings.Contains(out, "key[") {
		t.Errorf("held down: %s", held.FindAllString(out, -1))
	}

	for _, ending := range []string{"mkv", "mp4", "webm"} {
		if r := s.interrupted(1500*time.Millisecond, "", "record", "-o", "v."+ending); r.code != 0 {
			t.Errorf("recording: %s", r)
		}
		out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", w.project+"/v."+ending).CombinedOutput()
		if n, _ := strconv.Atoi(strings.Trim(string(out), ", \n")); err != nil || n < 3 {
			t.Errorf("%s has %s frames, %v", ending, out, err)
		}
	}
	if r := s.interrupted(500*time.Millisecond, "", "watch"); r.code != 0 || !strings.Contains(r.err, "Ctrl-C ends it") {
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
