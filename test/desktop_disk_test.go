//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestDesktopFullDisk: where the disks of a workspace are full its desktop is there; what
// cannot be written is told with the name of the file, and no half of it stays.
func TestDesktopFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xterm", "ffmpeg", "ffprobe")
	w.litter = true
	disk, runtime, state := w.outside+"/disk", w.outside+"/runtime", w.outside+"/state"
	for dir, size := range map[string]string{disk: "256k", runtime: "256k", state: "4m"} {
		w.mount("tmpfs", dir, "mode=0700,size="+size)
		t.Cleanup(func() { w.unmount(dir) })
	}
	w.setenv("XDG_STATE_HOME", state)
	w.setenv("XDG_RUNTIME_DIR", runtime)
	w.fill(runtime + "/fill")
	s := w.stays("full", "--display", "virtual")
	w.fill(state + "/fill")
	s.launch("busy", `exec xterm -geometry 100x40+0+0 -e sh -c 'while :; do head -c 2000 /dev/urandom | od -c; done'`)
	s.fine("windows", "--wait")
	s.fine("screenshot", "-o", "there.png")
	w.must(os.WriteFile(w.project+"/copied", make([]byte, 300<<10), 0o644))
	s.given("copied before", "clipboard set")

	empty := func(when string) {
		t.Helper()
		entries, _ := os.ReadDir(disk)
		for _, e := range entries {
			if e.Name() != "fill" {
				t.Errorf("%s: left on the full disk: %s", when, e.Name())
				w.must(os.Remove(disk + "/" + e.Name()))
			}
		}
	}
	full := func(file, verb string, args ...string) {
		t.Helper()
		r := s.do(verb, append(args, "-o", disk+"/"+file)...)
		if r.code != 125 || !strings.Contains(r.err, disk+"/"+file) || !strings.Contains(r.err, "no space left on device") {
			t.Errorf("%s %q to a full disk: %s", verb, args, r)
		}
		empty(verb)
	}
	full("large.raw", "screenshot") // some of which there is room for
	w.fill(disk + "/fill")
	full("a.png", "screenshot")
	full("a.jpeg", "screenshot", "--json")
	full("c.png", "computer", `{"action":"screenshot"}`)
	full("clip", "clipboard get")
	start := time.Now()
	full("v.mkv", "record") // ends by itself, though nobody says that it is enough
	if took := time.Since(start); took > 12*time.Second {
		t.Errorf("recording to a full disk takes %v", took)
	}

	// A video that the disk is full of can be watched as far as it goes.
	w.must(os.Remove(disk + "/fill"))
	r := s.do("record", "--fps", "30", "-o", disk+"/v.mkv")
	if r.code != 125 || !strings.Contains(r.err, disk+"/v.mkv") || !strings.Contains(r.err, "no space left") {
		t.Errorf("recording until the disk is full: %s", r)
	}
	out, err := exec.Command("ffprobe", "-v", "fatal", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0", disk+"/v.mkv").CombinedOutput()
	if n, _ := strconv.Atoi(strings.Trim(string(out), ", \n")); err != nil || n < 3 {
		t.Errorf("the video has %s frames, %v", out, err)
	}

	// What was there before is whole still.
	w.must(os.Remove(disk + "/v.mkv"))
	s.fine("screenshot", "--area", "0,600,10,10", "-o", disk+"/kept.png")
	before := w.read(disk + "/kept.png")
	w.fill(disk + "/fill")
	if r := s.do("screenshot", "-o", disk+"/kept.png"); r.code != 125 || w.read(disk+"/kept.png") != before {
		t.Errorf("over a file that is there: %s", r)
	}
	w.must(os.Remove(disk + "/kept.png"))
	empty("at the end")
	w.must(os.Remove(state + "/fill"))
	s.stopsClean()
}

// TestDesktopOutputs: a link in the place of a picture or a video is replaced, so that a
// program that puts one into the project writes nowhere else; a pipe is written to.
func TestDesktopOutputs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "ffmpeg")
	s := w.stays("links", "--display", "virtual")
	mine := w.write(w.outside+"/mine", "kept")
	s.given("copied", "clipboard set")
	for file, c := range map[string][]string{
		"a.png": {"screenshot"}, "clip": {"clipboard get"}, "c.png": {"computer", `{"action":"screenshot"}`}, "v.mkv": {"record", "--for", "500ms"},
	} {
		s.sh("ln -s " + mine + " " + file)
		s.fine(c[0], append(c[1:], "-o", file)...)
		if st, err := os.Lstat(w.project + "/" + file); err != nil || !st.Mode().IsRegular() || st.Size() == 0 || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, st, err)
		}
		if got := w.read(mine); got != "kept" {
			t.Fatalf("%s has written through a link: %.20q", c[0], got)
		}
	}
	if out := w.outsideSh("mkfifo p.png; cat p.png > got & " + w.bin + " screenshot links -o p.png; wait; head -c 4 got | tail -c 3; stat -c %F p.png"); out != "PNGfifo\n" {
		t.Errorf("to a pipe: %q", out)
	}
	if r := s.do("screenshot", "-o", "/dev/full"); r.code != 125 || !strings.Contains(r.err, "/dev/full") {
		t.Errorf("to a device: %s", r)
	}
}
