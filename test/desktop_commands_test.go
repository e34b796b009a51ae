//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// given runs a command with something on its standard input.
func (s *stay) given(input, verb string, args ...string) result {
	s.w.t.Helper()
	cmd := s.w.command(s.w.bin, s.words(verb, args...)...)
	cmd.Stdin = strings.NewReader(input)
	return s.w.finish(cmd)
}

// file is a file in the project, as a command of carrel is told it.
func (s *stay) file(name string) []byte {
	s.w.t.Helper()
	data, err := os.ReadFile(s.w.project + "/" + name)
	s.w.must(err)
	return data
}

// TestDesktopPictures: a picture of the screen, of a part and of a window, in each
// format, and none where nothing has changed.
func TestDesktopPictures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm")
	s := w.stays("pictures", "--display", "virtual", "--size", "800x600")
	s.launch("term", "exec xterm -bg '#102030' -geometry 60x10+100+100 -title shown -e sleep 1000")
	v := s.window("--title", "shown")
	for _, tt := range []struct {
		file  string
		flags []string
		size  image.Point
	}{
		{"a.png", nil, image.Pt(800, 600)},
		{"a.jpeg", nil, image.Pt(800, 600)},
		{"a.jpg", []string{"--quality", "30"}, image.Pt(800, 600)},
		{"b.png", []string{"--area", "10,20,300,200"}, image.Pt(300, 200)},
		{"c.png", []string{"--area", "700,500,300,200"}, image.Pt(100, 100)},
		{"d.png", []string{"--fit", "400x400"}, image.Pt(400, 300)},
		{"e.png", []string{"--window", v.ID}, image.Pt(v.Area[2], v.Area[3])},
		{"f.png", []string{"--window", v.ID, "--area", "5,5,20,10", "--cursor"}, image.Pt(20, 10)},
	} {
		s.fine("screenshot", append(tt.flags, "-o", tt.file)...)
		c, format, err := image.DecodeConfig(bytes.NewReader(s.file(tt.file)))
		if err != nil || image.Pt(c.Width, c.Height) != tt.size || !strings.HasPrefix(tt.file[2:], format[:2]) {
			t.Errorf("%s %q: %s %dx%d %v", tt.file, tt.flags, format, c.Width, c.Height, err)
		}
	}
	if n := colour(s.picture("--window", v.ID), 0x10, 0x20, 0x30); n < v.Area[2]*v.Area[3]/2 {
		t.Errorf("%d pixels of the window have its colour", n)
	}
	if raw := s.fine("screenshot", "--format", "raw", "--window", v.ID, "--area", "200,50,1,1"); len(raw) != 4 || raw[:3] != "\x30\x20\x10" {
		t.Errorf("a raw pixel: %q", raw)
	}
	s.fine("click", "--move", "500", "500")
	if with, without := s.fine("screenshot", "--cursor"), s.fine("screenshot"); with == without {
		t.Error("the pointer is in no picture")
	}
	var told struct {
		Picture struct {
			Token     string
			Unchanged bool
			Area      [4]int
		}
	}
	s.json(&told, "screenshot", "--window", v.ID, "-o", "since.png")
	if told.Picture.Token == "" || told.Picture.Area != v.Area {
		t.Errorf("told of a picture: %+v, the window is %v", told, v.Area)
	}
	w.must(os.Remove(w.project + "/since.png"))
	token := told.Picture.Token
	if s.json(&told, "screenshot", "--window", v.ID, "-o", "since.png", "--since", token); !told.Picture.Unchanged || exists(w.project+"/since.png") {
		t.Errorf("nothing has changed: %+v", told)
	}
	told.Picture.Unchanged = false
	if s.json(&told, "screenshot", "-o", "since.png", "--since", token); told.Picture.Unchanged || !exists(w.project+"/since.png") {
		t.Errorf("of something else: %+v", told)
	}
}

// TestDesktopWindows: windows are listed, waited for and changed.
func TestDesktopWindows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm")
	s := w.stays("windows", "--display", "virtual")
	if out := s.fine("windows"); out != "no windows\n" {
		t.Errorf("none: %q", out)
	}
	if r := s.do("windows", "--wait", "--title", "never", "--timeout", "300ms"); r.code != 125 || !strings.Contains(r.err, "in time") {
		t.Errorf("waited for in vain: %s", r)
	}
	a := s.launch("one", "exec xterm -class Odd -title 'one (1)' -geometry 40x10+50+50 -e sleep 1000")
	s.launch("two", "sleep 0.3; exec xterm -title two -geometry 40x10+400+300 -e sleep 1000")
	one, two := s.window("--title", `^one \(1\)$`), s.window("--title", "^two$")
	for _, tt := range []struct {
		flags []string
		want  []string
	}{
		{nil, []string{two.ID, one.ID}},
		{[]string{"--class", "^Odd$"}, []string{one.ID}},
		{[]string{"--app", "one"}, []string{one.ID}},
		{[]string{"--app", a}, []string{one.ID}},
		{[]string{"--window", two.ID}, []string{two.ID}},
		{[]string{"--title", "o"}, []string{two.ID, one.ID}},
		{[]string{"--title", "one", "--app", "two"}, nil},
		{[]string{"--pid", strconv.Itoa(one.PID)}, []string{one.ID}},
	} {
		var got []string
		for _, v := range s.windows(tt.flags...) {
			got = append(got, v.ID)
		}
		if tt.flags != nil && len(tt.want) == 1 && tt.flags[0] == "--pid" && one.PID == 0 {
			continue // this xterm does not tell
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("windows %q: %v, want %v", tt.flags, got, tt.want)
		}
	}
	if one.App != a || one.Class != "Odd" || one.Instance != "xterm" {
		t.Errorf("the first: %+v", one)
	}
	is := func(what string, id string, ok func(toldWindow) bool) {
		t.Helper()
		eventually(t, what, func() bool {
			all := s.windows("--all", "--window", id)
			return len(all) > 0 && ok(all[0])
		})
	}
	s.fine("window", one.ID, "move", "200", "150")
	is("moved", one.ID, func(v toldWindow) bool { return v.Area[0] == 200 && v.Area[1] == 150 })
	s.fine("window", one.ID, "resize", "500x400")
	is("resized", one.ID, func(v toldWindow) bool { return v.Area[2] > 480 && v.Area[2] <= 500 && v.Area[3] > 380 })
	s.fine("window", one.ID, "focus")
	is("focused", one.ID, func(v toldWindow) bool { return v.Active })
	s.fine("window", two.ID, "raise")
	eventually(t, "raised", func() bool { return s.windows()[0].ID == two.ID })
	s.fine("window", one.ID, "minimise")
	is("minimised", one.ID, func(v toldWindow) bool { return v.Minimised })
	s.fine("window", one.ID, "show")
	is("shown", one.ID, func(v toldWindow) bool { return !v.Minimised })
	s.fine("window", one.ID, "close")
	s.fine("windows", "--gone", "--title", "^one", "--timeout", "120s")
	if r := s.do("windows", "--gone", "--title", "^two", "--timeout", "200ms"); r.code != 125 {
		t.Errorf("waited in vain until it is gone: %s", r)
	}
	s.fine("window", two.ID, "kill")
	s.fine("windows", "--gone")
	if r := s.do("wait", "two", "--timeout", "120s"); r.code == 124 {
		t.Errorf("the killed window's program: %s", r)
	}
	for _, do := range []string{"focus", "raise", "close", "kill", "minimise", "show"} {
		if r := s.do("window", two.ID, do); r.code != 125 || !strings.Contains(r.err, two.ID) || strings.Contains(r.err, "panic") {
			t.Errorf("%s of a window that is gone: %s", do, r)
		}
	}
	if r := s.do("screenshot", "--window", two.ID, "-o", "gone.png"); r.code != 125 || exists(w.project+"/gone.png") {
		t.Errorf("a picture of what is gone: %s", r)
	}
}

// TestDesktopInput: each kind of input arrives at a program as what it is.
func TestDesktopInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xev", "xterm")
	s := w.stays("input", "--display", "virtual", "--size", "1000x800")
	s.launch("ev", "exec xev -geometry 400x300+100+100 -event mouse -event keyboard -event button")
	v := s.window("--title", "Event Tester")
	x, y := strconv.Itoa(v.Area[0]+50), strconv.Itoa(v.Area[1]+60)
	x2, y2 := strconv.Itoa(v.Area[0]+250), strconv.Itoa(v.Area[1]+160)
	seen := func(what, pattern string, want int) {
		t.Helper()
		re := regexp.MustCompile(pattern)
		n := 0
		for range 100 {
			if n = len(re.FindAllString(s.do("logs", "ev").out, -1)); n >= want {
				break
			}
			time.Sleep(30 * time.Millisecond)
		}
		if n != want {
			t.Errorf("%s: %q was told %d times, want %d", what, pattern, n, want)
		}
	}
	s.fine("click", x, y)
	seen("click", `(?s)ButtonPress event[^\n]*\n[^\n]*\(50,60\)[^\n]*\n[^\n]*button 1,`, 1)
	s.fine("click", x, y, "--button", "3", "--keys", "ctrl+shift")
	seen("click with keys", `state 0x5, button 3`, 1)
	s.fine("click", "--double")
	seen("double click", `state 0x0, button 1,`, 3)
	s.fine("drag", x, y, x2, y2, "--for", "100ms", "--button", "2")
	seen("drag", `state 0x0, button 2,`, 1)
	if n := len(regexp.MustCompile(`(?s)MotionNotify event[^\n]*\n[^\n]*\n[^\n]*state 0x200`).FindAllString(s.do("logs", "ev").out, -1)); n < 3 {
		t.Errorf("drag: %d motions with the button held", n)
	}
	s.fine("scroll", "down", "4", "--at", x+","+y)
	seen("scroll down", `state 0x0, button 5,`, 4)
	s.fine("scroll", "left")
	seen("scroll left", `ButtonPress event[^\n]*\n[^\n]*\n[^\n]*button 6,`, 1)
	s.fine("window", v.ID, "focus")
	s.fine("key", "F5", "ctrl+shift+t", "Return", "--count", "2")
	seen("key", `KeyPress event[^\n]*\n[^\n]*\n[^\n]*keysym 0xffc2, F5`, 2)
	seen("chord", `KeyPress event[^\n]*\n[^\n]*\n[^\n]*state 0x5, keycode \d+ \(keysym 0x54, T`, 2)

	r := s.given(`[{"do":"key","keys":"F6"},{"do":"click","at":[5000,5000]},{"do":"key","keys":"F7"}]`, "input")
	if r.code != 125 || !strings.Contains(r.err, "input 2") || !strings.Contains(r.err, "5000,5000") || !strings.Contains(r.err, "1000x800") {
		t.Errorf("a batch with a mistake: %s", r)
	}
	if r := s.given(`[{"do":"key","keys":"F8"},{"do":"move","at":[`+x+`,`+y+`]},{"do":"press"},{"do":"pause","millis":50},{"do":"release"},{"do":"scroll","direction":"up","count":2},{"do":"type","text":"q"}]`, "input"); r.code != 0 {
		t.Errorf("a batch: %s", r)
	}
	seen("batch: key", `KeyPress event[^\n]*\n[^\n]*\n[^\n]*, F8\)`, 1)
	seen("batch: wheel", `state 0x0, button 4,`, 2)
	seen("the batch with a mistake", `, F[67]\)`, 0)
	for _, bad := range []string{`{}`, `[{"do":"fly"}]`, `[{"do":"click","where":1}]`, `[{"do":"move"}]`, `[{"do":"scroll","direction":"in"}]`, `[{"do":"key","keys":"NoSuchKey"}]`, ``, `[`, `[{"do":"type","text":"\u0007"}]`} {
		if r := s.given(bad, "input"); r.code != 125 || strings.Contains(r.err, "panic") {
			t.Errorf("steps %s: %s", bad, r)
		}
	}
	if r := s.given(`[]`, "input"); r.code == 0 {
		t.Errorf("no steps: %s", r)
	}
}

// TestDesktopLongText: much text arrives whole and in order; what begins with dashes is
// text.
func TestDesktopLongText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm")
	s := w.stays("long", "--display", "virtual")
	s.launch("term", `exec xterm -title taker -e sh -c 'stty -echo; touch ready; head -n 1 > first; touch more; cat > taken'`)
	s.window("--title", "taker")
	eventually(t, "it reads", func() bool { return exists(w.project + "/ready") })
	s.fine("type", "--", "--help -- 'x' $HOME\n")
	eventually(t, "what looks like an option", func() bool { return exists(w.project+"/first") && len(s.file("first")) > 0 })
	if got := string(s.file("first")); got != "--help -- 'x' $HOME\n" {
		t.Errorf("typed %q", got)
	}
	eventually(t, "it reads on", func() bool { return exists(w.project + "/more") })
	var text strings.Builder
	for i := 0; text.Len() < 100_000; i++ {
		text.WriteString(strconv.Itoa(i) + " The quick brown fox jumps over the lazy dog; Zürich, Grüße!\n")
	}
	if r := s.given(text.String(), "type", "-"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	s.fine("key", "ctrl+d")
	s.fine("windows", "--gone", "--title", "taker", "--timeout", "120s")
	if got := string(s.file("taken")); got != text.String() {
		i := 0
		for i < len(got) && i < text.Len() && got[i] == text.String()[i] {
			i++
		}
		t.Errorf("%d bytes arrived of %d; they differ at %d: %.60q", len(got), text.Len(), i, got[i:])
	}
	for _, e := range s.events() {
		if strings.Contains(e.Text, "quick brown") {
			t.Errorf("what was typed is written down: %.80q", e.Text)
		}
	}
	if r := s.do("type", "\xff"); r.code != 125 {
		t.Errorf("no UTF-8: %s", r)
	}
}

// TestDesktopClipboard: what programs copy is read, and what is set they paste.
func TestDesktopClipboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "xclip")
	s := w.stays("clips", "--display", "virtual")
	text := "Grüße, 你好\n" + strings.Repeat("a line of it\n", 40_000)
	if r := s.given(text, "clipboard set"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	if got := s.sh("/usr/bin/xclip -o -selection clipboard"); got != text {
		t.Errorf("pasted inside: %d bytes of %d, %.40q", len(got), len(text), got)
	}
	if got := s.fine("clipboard get"); got != text {
		t.Errorf("read again: %d bytes of %d", len(got), len(text))
	}
	s.given("marked", "clipboard set", "--primary")
	if got := s.sh("/usr/bin/xclip -o -selection primary"); got != "marked" {
		t.Errorf("marked: %q", got)
	}
	w.write(w.project+"/copied", text+"and more")
	s.launch("copier", "exec /usr/bin/xclip -quiet -i -selection clipboard copied")
	eventually(t, "what was copied inside", func() bool { return s.do("clipboard get").out == text+"and more" })
	var picture bytes.Buffer
	img := image.NewNRGBA(image.Rect(0, 0, 300, 200))
	img.Set(7, 7, color.NRGBA{1, 2, 3, 255})
	w.must(png.Encode(&picture, img))
	if r := s.given(picture.String(), "clipboard set", "--type", "image/png"); r.code != 0 {
		t.Fatalf("%s", r)
	}
	s.sh("/usr/bin/xclip -o -selection clipboard -t image/png > pasted.png")
	if !bytes.Equal(s.file("pasted.png"), picture.Bytes()) {
		t.Error("the picture is another one inside")
	}
	if out := s.fine("clipboard get", "--types"); !json.Valid([]byte(out)) || !strings.Contains(out, `"image/png"`) {
		t.Errorf("types: %s", out)
	}
	if r := s.do("clipboard get", "--type", "text/html"); r.code != 125 {
		t.Errorf("a format that is not there: %s", r)
	}
	s.launch("painter", "exec /usr/bin/xclip -quiet -i -selection clipboard -t image/png pasted.png")
	eventually(t, "the picture that was copied inside", func() bool {
		return s.do("clipboard get", "--type", "image/png", "-o", "out.png").code == 0 && bytes.Equal(s.file("out.png"), picture.Bytes())
	})
}

// recorded records a video of the screen of 640x480, which moves. A busy machine records fewer
// frames in a second than it was asked for: then for longer.
func (s *stay) recorded(file string) {
	t, w := s.w.t, s.w
	t.Helper()
	for _, seconds := range []int{1, 5, 20} {
		if r := s.do("record", "--for", strconv.Itoa(seconds)+"s", "--fps", "10", "-o", file); r.code != 0 {
			t.Errorf("recording %s: %s", file, r)
			return
		}
		out, err := exec.Command("ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0",
			"-show_entries", "stream=width,height,nb_read_frames", "-of", "csv=p=0", w.project+"/"+file).CombinedOutput()
		f := strings.Split(strings.TrimSpace(string(out)), ",")
		if err != nil || len(f) != 3 || f[0] != "640" || f[1] != "480" {
			t.Errorf("%s: %s %v", file, out, err)
			return
		}
		frames, _ := strconv.Atoi(f[2])
		if frames > 30*seconds {
			t.Errorf("%s has %d frames of %d s", file, frames, seconds)
		}
		if frames >= 3 {
			return
		}
	}
	t.Errorf("%s never has three frames", file)
}

// TestDesktopScreen: size, stillness, and a video of it.
func TestDesktopScreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm", "ffmpeg", "ffprobe", "xdpyinfo")
	s := w.stays("screen", "--display", "virtual", "--size", "1000x700")
	var told struct{ Size, Pointer [2]int }
	s.fine("click", "--move", "123", "45")
	if s.json(&told, "screen"); told.Size != [2]int{1000, 700} || told.Pointer != [2]int{123, 45} {
		t.Errorf("told %+v", told)
	}
	s.fine("screen", "640x480")
	if out := s.sh("xdpyinfo | grep dimensions"); !strings.Contains(out, " 640x480 ") {
		t.Errorf("a smaller one: %s", out)
	}
	for _, bad := range []string{"2000x2000", "0x10", "10", "99999999999x3"} {
		if r := s.do("screen", bad); r.code != 125 {
			t.Errorf("the size %s: %s", bad, r)
		}
	}
	s.fine("screen", "--still", "200ms", "--timeout", "120s")
	if r := s.do("screen", "--changes", "--timeout", "200ms"); r.code != 125 {
		t.Errorf("changes where nothing moves: %s", r)
	}
	s.launch("busy", `exec xterm -title busy -geometry 40x10+0+0 -e sh -c 'n=0; while :; do n=$((n+1)); echo $n; sleep 0.02; done'`)
	s.appears("busy")
	s.fine("screen", "--changes", "--timeout", "120s")
	if r := s.do("screen", "--still", "1s", "--timeout", "1500ms"); r.code != 125 {
		t.Errorf("still where something moves: %s", r)
	}
	s.fine("screen", "--still", "300ms", "--area", "600,440,30,30", "--timeout", "120s")
	for _, ending := range []string{"mkv", "mp4", "webm"} {
		s.recorded("video." + ending)
	}
	if r := s.do("record", "--for", "1s", "-o", "video.gif"); r.code != 125 || !strings.Contains(r.err, "gif") {
		t.Errorf("a format that is not there: %s", r)
	}
}

// appears waits for a window and leaves it as it is.
func (s *stay) appears(title string) { s.fine("windows", "--wait", "--title", title) }
