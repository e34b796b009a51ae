//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDesktopRefusals: what cannot be done is said in words, and nothing half-done stays.
func TestDesktopRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox")
	s, blind := w.stays("seen", "--display", "virtual", "--size", "640x480"), w.stays("blind")
	for _, tt := range []struct {
		s    *stay
		line string
		word string
	}{
		{blind, "screenshot -o x.png", "no virtual display"},
		{blind, "windows", "no virtual display"},
		{blind, "click 1 1", "no virtual display"},
		{blind, "a11y tree", "no virtual display"},
		{blind, "clipboard get", "no virtual display"},
		{blind, "record -o x.mkv", "no virtual display"},
		{s, "click 640 10", "640x480"},
		{s, "click -- -1 10", "640x480"},
		{s, "click 1", "takes"},
		{s, "click a b", "no place"},
		{s, "click 5 5 --button 77", "button"},
		{s, "drag 1 1 9999 9999", "9999"},
		{s, "scroll sideways", "up, down, left or right"},
		{s, "scroll up 0", "notches"},
		{s, "key NoSuchKey", "NoSuchKey"},
		{s, "windows --title (", "title"},
		{s, "windows --window nonsense", "nonsense"},
		{s, "windows --app nobody", "nobody"},
		{s, "window 0x123456 focus", "0x123456"},
		{s, "window 0x123456 fly", "fly"},
		{s, "window 0x123456 resize 10", "WIDTHxHEIGHT"},
		{s, "screenshot --format gif -o x", "gif"},
		{s, "screenshot --area 700,500,10,10 -o x.png", "outside"},
		{s, "screenshot --area 1,1,0,0 -o x.png", "--area"},
		{s, "screenshot --window 0x123456 -o x.png", "0x123456"},
		{s, "screenshot --quality 200 -o x.jpeg", "quality"},
		{s, "a11y invoke :9.9:1", ":9.9"},
		{s, "a11y find --name (", "name"},
		{s, "a11y focus nonsense", "nonsense"},
		{s, `computer {"action":"fly"}`, "fly"},
		{s, `computer {"action":"left_click","coordinate":[99999,1]}`, "99999"},
		{s, `computer {"action":"scroll","scroll_direction":"up","scroll_amount":1} --version 20241022`, "20241022"},
		{s, "computer nonsense", "JSON"},
		{s, "screen 100000x100000", "640x480"},
		{&stay{w: w, name: "nobody"}, "screenshot -o x.png", "nobody"},
		{&stay{w: w, name: "nobody"}, "type x", "nobody"},
	} {
		words := strings.Fields(tt.line)
		verb, rest := words[0], words[1:]
		if verb == "a11y" || verb == "clipboard" {
			verb, rest = verb+" "+rest[0], rest[1:]
		}
		if r := tt.s.do(verb, rest...); r.code != 125 || !strings.HasPrefix(r.err, "carrel: ") || !strings.Contains(r.err, tt.word) || strings.Contains(r.err, "goroutine") {
			t.Errorf("%s: want %q: %s", tt.line, tt.word, r)
		}
	}
	if exists(w.project+"/x.png") || exists(w.project+"/x") || exists(w.project+"/x.mkv") {
		t.Error("a file of a picture that there is not")
	}
	if out := s.fine("screen"); !strings.HasPrefix(out, "640x480") {
		t.Errorf("the screen is %s", out)
	}
}

// TestDesktopHiddenElements: an item of a menu that nobody has opened is found and used
// where it is asked for, and is not in the way otherwise.
func TestDesktopHiddenElements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "mousepad", "dbus-daemon")
	s := w.stays("hidden", "--display", "virtual")
	w.write(w.project+"/pad.txt", "")
	s.fine("launch", "--name", "pad", "--", "mousepad", "--disable-server", "pad.txt")
	area := s.element("--role", "text", "--state", "multi line", "--state", "showing")
	s.fine("a11y set", area, "by a closed menu")
	save := []string{"--role", "menu item", "--name", "^Save$"}
	if out := s.fine("a11y find", save...); out != "" {
		t.Errorf("unasked: %s", out)
	}
	save = append(save, "--hidden")
	if out := s.fine("a11y find", save...); strings.Count(out, "\n") != 1 || !strings.Contains(out, "hidden]") {
		t.Errorf("asked for: %q", out)
	}
	var found struct {
		Nodes []struct {
			Ref, Name string
			States    []string
		}
	}
	s.json(&found, "a11y find", save...)
	if len(found.Nodes) != 1 || found.Nodes[0].Name != "Save" || slices.Contains(found.Nodes[0].States, "showing") {
		t.Fatalf("as JSON: %+v", found)
	}
	if usual, all := s.fine("a11y tree"), s.fine("a11y tree", "--hidden"); strings.Contains(usual, `"Save"`) || !strings.Contains(all, `"Save"`) {
		t.Errorf("the tree has %d bytes, with what is hidden %d", len(usual), len(all))
	}
	s.fine("a11y invoke", found.Nodes[0].Ref)
	s.saved("pad", "pad.txt", "by a closed menu")
}

// TestDesktopComputer: the actions of a model, with its coordinates.
func TestDesktopComputer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xterm")
	s := w.stays("model", "--display", "virtual", "--size", "1280x800")
	if out := s.fine("computer", "--told", "--size", "640x400"); out != "640x400\n" {
		t.Errorf("told %q", out)
	}
	s.launch("term", `exec xterm -title taker -geometry 40x10+100+100 -e sh -c 'touch ready; cat > taken'`)
	s.window("--title", "taker")
	act := func(input string, flags ...string) string {
		t.Helper()
		return s.fine("computer", append([]string{input, "--size", "640x400"}, flags...)...)
	}
	act(`{"action":"mouse_move","coordinate":[320,200]}`)
	if out := s.fine("screen"); !strings.Contains(out, "the pointer is at 641,401") && !strings.Contains(out, "the pointer is at 640,400") {
		t.Errorf("after a move in the model's coordinates: %s", out)
	}
	if out := act(`{"action":"cursor_position"}`); out != "X=320,Y=200\n" {
		t.Errorf("the pointer: %q", out)
	}
	for _, version := range []string{"20241022", "20250124", "computer_20250124"} {
		act(`{"action":"left_click"}`, "--version", version)
		act(`{"action":"screenshot"}`, "--version", version, "-o", "seen.png")
	}
	act(`{"action":"take_screenshot"}`, "-o", "alias.png")
	act(`{"action":"click_at","x":100,"y":80}`)
	if out := s.fine("screen"); !strings.Contains(out, "at 201,161") && !strings.Contains(out, "at 200,160") {
		t.Errorf("after click_at: %s", out)
	}
	eventually(t, "it reads", func() bool { return exists(w.project + "/ready") })
	act(`{"action":"type_text","text":"by a "}`)
	act(`{"action":"type","text":"model\n"}`)
	if r := s.given(`{"action":"key","text":"ctrl+d"}`, "computer", "-"); r.code != 0 {
		t.Errorf("from standard input: %s", r)
	}
	s.fine("windows", "--gone", "--title", "taker", "--timeout", "120s")
	if got := string(s.file("taken")); got != "by a model\n" {
		t.Errorf("typed %q", got)
	}
	var told struct{ Pointer *[2]int }
	if s.json(&told, "computer", `{"action":"cursor_position"}`); told.Pointer == nil {
		t.Error("no pointer in JSON")
	}
	for _, file := range []string{"seen.png", "alias.png"} {
		if len(s.file(file)) < 100 {
			t.Errorf("%s is empty", file)
		}
	}
}

// TestDesktopModes: who may act in which mode, inside and outside; what is under way ends
// with the mode, and nothing stays pressed.
func TestDesktopModes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xdotool", "xev")
	s := w.stays("modes", "--display", "virtual")
	s.launch("ev", "exec xev -geometry 400x300+100+100 -event keyboard -event button")
	v := s.window("--title", "Event Tester")
	pointer := func() [2]int {
		t.Helper()
		var told struct{ Pointer [2]int }
		s.json(&told, "screen")
		return told.Pointer
	}
	// What a program inside does goes on in the modes that keep others from starting one.
	s.launch("mover", `n=0; while :; do n=$((n+1)); xdotool mousemove $((200 + n % 100)) 333; sleep 0.05; done`)
	moves := func() bool {
		t.Helper()
		before := pointer()
		for range 20 {
			if time.Sleep(30 * time.Millisecond); pointer() != before {
				return true
			}
		}
		return false
	}
	eventually(t, "canary: a program inside moves the pointer", moves)

	batch := s.later(`[{"do":"move","at":[`+strings.Join(v.middle(), ",")+`]},{"do":"press"},{"do":"key","keys":"F9","millis":60000}]`, "input")
	told := func(pattern string) bool { return strings.Contains(s.do("logs", "ev").out, pattern) }
	eventually(t, "the batch presses a key", func() bool { return told("KeyPress") && told("F9") && told("ButtonPress") })
	s.fine("control", "read_only")
	if r := ends(t, "the batch", batch); r.code != 125 || !strings.Contains(r.err, "control") {
		t.Errorf("a batch under way: %s", r)
	}
	eventually(t, "what was pressed is released", func() bool { return told("KeyRelease") && told("ButtonRelease") })
	check := func(mode string) {
		t.Helper()
		if moves() {
			t.Errorf("%s: a program inside moves the pointer", mode)
		}
		before := pointer()
		for _, c := range [][]string{{"click", "1", "1"}, {"type", "x"}, {"key", "a"}, {"window", v.ID, "minimise"}, {"screen", "800x600"}, {"computer", `{"action":"mouse_move","coordinate":[5,5]}`}, {"drag", "1", "1", "2", "2"}} {
			if r := s.do(c[0], c[1:]...); r.code != 125 || !strings.Contains(r.err, "control "+mode) {
				t.Errorf("%s: %q: %s", mode, c, r)
			}
		}
		if r := s.given("text", "clipboard set"); r.code != 125 {
			t.Errorf("%s: clipboard set: %s", mode, r)
		}
		if after := pointer(); after != before {
			t.Errorf("%s: the pointer was moved from %v to %v", mode, before, after)
		}
		s.fine("screenshot", "-o", "look.png")
		if all := s.windows("--title", "Event"); len(all) != 1 || all[0].Minimised {
			t.Errorf("%s: the window is %+v", mode, all)
		}
	}
	check("read_only")
	s.person("control", "takeover")
	check("takeover")
	if said := s.person("click", "321", "123"); !strings.Contains(said, "can be seen") || pointer() != [2]int{321, 123} {
		t.Errorf("a person who has taken over clicks: %q, the pointer is at %v", said, pointer())
	}
	s.fine("control", "paused")
	check("paused")
	s.person("control", "active")
	eventually(t, "a program inside moves the pointer again", moves)
	s.fine("kill", "mover")
	s.fine("click", "10", "10")
	if pointer() != [2]int{10, 10} {
		t.Errorf("active again: the pointer is at %v", pointer())
	}
	s.stopsClean()
}
