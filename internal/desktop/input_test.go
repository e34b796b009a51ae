package desktop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jezek/xgb/xproto"
)

const everyScript = "Zürich 你好 🎉 Ω\n\t--help"

// xterm is a terminal whose keyboard is read without echo and editing by a
// script, which has OUT for a file.
func (s *server) xterm(t testing.TB, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "typed")
	ready := filepath.Join(t.TempDir(), "ready")
	s.start(t, "xterm", "-e", "sh", "-c", "stty raw -echo; touch "+ready+"; "+strings.ReplaceAll(script, "OUT", file))
	eventually(t, "xterm", func() error { _, err := os.Stat(ready); return err })
	s.there(t, Match{Class: regexp.MustCompile("XTerm")})
	return file
}

func TestTextIntoXterm(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	file := s.xterm(t, "exec cat >OUT")
	if err := d.Input(t.Context(), Move{image.Point{100, 100}}, Text{everyScript}); err != nil {
		t.Fatal(err)
	}
	same(t, file, strings.ReplaceAll(everyScript, "\n", "\r"))
}

func TestLongTextIntoXterm(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	file := s.xterm(t, "exec cat >OUT")
	text := strings.Repeat("The quick brown fox; jumps >over< THE lazy dog {0123}. äöüß ", 170)
	began := time.Now()
	if err := d.Input(t.Context(), Move{image.Point{100, 100}}, Text{text}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes in %v", len(text), time.Since(began))
	same(t, file, text)
}

// TestManyCharacters needs more characters than there are free keys, several
// times over.
func TestManyCharacters(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	file := s.xterm(t, "exec cat >OUT")
	var text strings.Builder
	for r := rune(0x4e00); r < 0x4e00+300; r++ {
		text.WriteRune(r)
	}
	began := time.Now()
	if err := d.Input(t.Context(), Move{image.Point{100, 100}}, Text{text.String()}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d keys may be given away; %v", len(d.keys.spare), time.Since(began))
	same(t, file, text.String())
}

func same(t *testing.T, file, want string) {
	t.Helper()
	eventually(t, "what was typed", func() error {
		b, err := os.ReadFile(file)
		if err == nil && string(b) != want {
			i := 0
			for i < min(len(b), len(want)) && b[i] == want[i] {
				i++
			}
			err = fmt.Errorf("%d of %d bytes, from byte %d on %.80q, want %.80q", len(b), len(want), i, b[i:], want[i:])
		}
		return err
	})
}

// events follows what a window of xev is told.
func (s *server) events(t testing.TB) (seen func() string) {
	t.Helper()
	cmd := s.command(t, "xev", "-geometry", "400x300+0+0", "-event", "keyboard", "-event", "mouse")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	s.there(t, Match{Title: regexp.MustCompile("Event Tester")})
	lines := make(chan string, 10000)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			lines <- in.Text()
		}
	}()
	return func() string {
		var all []string
		for {
			select {
			case l, ok := <-lines:
				if !ok {
					return strings.Join(all, "\n")
				}
				all = append(all, l)
			case <-time.After(300 * time.Millisecond):
				return strings.Join(all, "\n")
			}
		}
	}
}

func TestMouse(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	seen := s.events(t)
	at := image.Point{50, 60}
	err := d.Input(t.Context(), Click{At: &at, Button: Left, Count: 2}, Click{Button: Forward, Keys: "ctrl+shift"},
		Scroll{To: ToRight, Notches: 3}, Drag{From: image.Point{10, 10}, To: image.Point{200, 100}, Button: Right, Moves: 7})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := d.Pointer(t.Context()); err != nil || p != (image.Point{200, 100}) {
		t.Errorf("the pointer is at %v, %v", p, err)
	}
	log := seen()
	for what, n := range map[string]int{"ButtonPress": 7, "ButtonRelease": 7, "button 1,": 4, "button 9,": 2, "button 7,": 6, "button 3,": 2, "state 0x5, button 9": 2, "KeyPress": 2, "KeyRelease": 2} {
		if got := strings.Count(log, what); got != n {
			t.Errorf("%s is there %d times, want %d", what, got, n)
		}
	}
	last := 0
	for _, m := range turned.FindAllStringSubmatch(log, -1) {
		at, _ := strconv.Atoi(m[1])
		if last != 0 && at-last < 5 {
			t.Errorf("%d ms between two notches of the wheel", at-last)
		}
		last = at
	}
	if last == 0 {
		t.Error("the wheel was not turned")
	}
	if n := strings.Count(log, "MotionNotify"); n < 7 {
		t.Errorf("%d motions, want 7 of the drag", n)
	}
	if t.Failed() {
		t.Log(log)
	}
}

// turned finds the times at which xev saw the wheel turned to the right.
var turned = regexp.MustCompile(`ButtonPress event,[^\n]*\n[^\n]*time (\d+),[^\n]*\n[^\n]*button 7,`)

func TestBatchStopsAndReleases(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	seen := s.events(t)
	// Checked before anything is done.
	err := d.Input(t.Context(), Move{image.Point{50, 50}}, Press{Button: Left}, Move{image.Point{1920, 0}})
	var step *InputError
	if !errors.As(err, &step) || step.Index != 2 || !strings.Contains(err.Error(), "1920x1080") {
		t.Errorf("a point beyond the screen: %v", err)
	}
	// Cancelled in the middle.
	ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
	defer cancel()
	err = d.Input(ctx, Move{image.Point{50, 50}}, Press{Button: Left}, Keys{Keys: "ctrl+x", Hold: 20 * time.Second}, Text{"never"})
	if !errors.As(err, &step) || step.Index != 2 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a batch that was cancelled: %v", err)
	}
	log := seen()
	for _, kind := range []string{"Button", "Key"} {
		if p, r := strings.Count(log, kind+"Press"), strings.Count(log, kind+"Release"); p == 0 || r == 0 || kind == "Button" && (p != 1 || r != 1) {
			t.Errorf("%s: %d presses, %d releases\n%s", kind, p, r, log)
		}
	}
	if strings.Contains(log, "keysym 0x6e, n") {
		t.Error("the step after the error was done")
	}
	if err := d.Input(t.Context(), Press{Button: Left}); err != nil {
		t.Fatal(err)
	}
	if err := d.Input(t.Context(), Move{image.Point{60, 60}}, Release{Button: Left}); err != nil {
		t.Fatal(err)
	}
	if log := seen(); strings.Count(log, "ButtonPress") != 1 || strings.Count(log, "state 0x100, button 1") != 1 {
		t.Errorf("a button held over two batches:\n%s", log)
	}
}

func TestLetGo(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	seen := s.events(t)
	if err := d.Input(t.Context(), Move{image.Point{50, 50}}, Press{Button: Left}, Press{Button: Right}); err != nil {
		t.Fatal(err)
	}
	if err := d.LetGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if log := seen(); strings.Count(log, "ButtonPress") != 2 || strings.Count(log, "ButtonRelease") != 2 {
		t.Error(log)
	}
}

// TestLetGoOfOthers: what another program holds is let go of too, and nothing is left
// of it for what comes after.
func TestLetGoOfOthers(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	s.tool(t, "xdotool", "mousemove", "50", "50", "keydown", "shift", "keydown", "a", "mousedown", "1")
	held := func() (string, bool) {
		r, err := xproto.QueryKeymap(d.x).Reply()
		p, err2 := xproto.QueryPointer(d.x, d.root).Reply()
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		return fmt.Sprintf("keys %x, mask %#x", r.Keys, p.Mask), slices.Max(r.Keys) > 0 || p.Mask&^uint16(xproto.ModMaskLock|xproto.ModMask2) != 0
	}
	if what, any := held(); !any {
		t.Fatalf("nothing is held: %s", what)
	}
	if err := d.LetGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if what, any := held(); any {
		t.Errorf("held: %s", what)
	}
}

func TestModifiersOfSomebodyElse(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	file := s.xterm(t, "exec cat >OUT")
	s.tool(t, "xdotool", "keydown", "shift", "keydown", "ctrl", "key", "Caps_Lock")
	if err := d.Input(t.Context(), Move{image.Point{100, 100}}, Text{"aB é"}); err != nil {
		t.Fatal(err)
	}
	same(t, file, "aB é")
	var mask string
	eventually(t, "the modifiers come back", func() error {
		mask = s.tool(t, "xdotool", "getmouselocation")
		return nil
	})
	k, err := s.held(t, d)
	if err != nil || !k[37] || !k[50] {
		t.Errorf("Shift and Control are not held any more: %v, %v, %s", k, err, mask)
	}
}

func (s *server) tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := s.command(t, name, args...)
	cmd.Stdin = strings.NewReader("")
	out, err := cmd.Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			t.Fatalf("%s %v: %v: %s", name, args, err, e.Stderr)
		}
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

// held gives the keys that are down.
func (s *server) held(t testing.TB, d *Desktop) (map[int]bool, error) {
	t.Helper()
	down := make(map[int]bool)
	return down, d.do(t.Context(), "asking", func() error {
		b, err := d.ask([]byte{44, 0, 1, 0}).Reply()
		for code := 8; err == nil && code < 256; code++ {
			if b[8+code/8]&(1<<(code%8)) != 0 {
				down[code] = true
			}
		}
		return err
	})
}

// there waits for a window.
func (s *server) there(t testing.TB, m Match) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.open(t).Wait(ctx, m); err != nil {
		t.Fatal(err)
	}
}
