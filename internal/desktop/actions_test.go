package desktop

import (
	"bytes"
	"image"
	"image/png"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseAction(t *testing.T) {
	for _, c := range []struct {
		version, in string
		want        Action
	}{
		{"", `{"action": "screenshot"}`, Action{Name: "screenshot"}},
		{"computer_20241022", `{"action": "take_screenshot"}`, Action{Name: "screenshot"}},
		{"20241022", `{"action": "left_click"}`, Action{Name: "left_click"}},
		{"20241022", `{"action": "left_click_drag", "coordinate": [7, 8]}`, Action{Name: "left_click_drag", Coordinate: &image.Point{7, 8}}},
		{"20250124", `{"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [7, 8]}`, Action{Name: "left_click_drag", Start: &image.Point{1, 2}, Coordinate: &image.Point{7, 8}}},
		{"", `{"action": "type", "text": "--help\n"}`, Action{Name: "type", Text: "--help\n"}},
		{"", `{"action": "type_text", "text": ""}`, Action{Name: "type"}},
		{"", `{"action": "key", "text": "ctrl+s"}`, Action{Name: "key", Text: "ctrl+s"}},
		{"", `{"action": "left_click", "coordinate": [3, 4], "key": "ctrl", "text": null}`, Action{Name: "left_click", Coordinate: &image.Point{3, 4}, Text: "ctrl"}},
		{"", `{"action": "click_at", "x": 3, "y": 4}`, Action{Name: "left_click", Coordinate: &image.Point{3, 4}}},
		{"20241022", `{"action": "click_at", "coordinate": [3, 4]}`, Action{Name: "left_click", Coordinate: &image.Point{3, 4}}},
		{"", `{"action": "scroll", "coordinate": [3, 4], "scroll_direction": "left", "scroll_amount": 5, "text": "shift"}`, Action{Name: "scroll", Coordinate: &image.Point{3, 4}, Direction: ToLeft, Amount: 5, Text: "shift"}},
		{"", `{"action": "hold_key", "text": "space", "duration": 1.5}`, Action{Name: "hold_key", Text: "space", Duration: 1500 * time.Millisecond}},
		{"", `{"action": "wait", "duration": 2}`, Action{Name: "wait", Duration: 2 * time.Second}},
		{"computer_20251124", `{"action": "zoom", "region": [1, 2, 30, 40]}`, Action{Name: "zoom", Region: image.Rect(1, 2, 30, 40)}},
	} {
		got, err := ParseAction([]byte(c.in), c.version)
		if err != nil || !got.equal(c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.in, got, err, c.want)
		}
	}
}

func (a Action) equal(b Action) bool {
	same := func(p, q *image.Point) bool { return (p == nil) == (q == nil) && (p == nil || *p == *q) }
	ok := same(a.Coordinate, b.Coordinate) && same(a.Start, b.Start)
	a.Coordinate, a.Start, b.Coordinate, b.Start = nil, nil, nil, nil
	return ok && a == b
}

func TestParseActionRefuses(t *testing.T) {
	for _, c := range []struct{ version, in, says string }{
		{"20230101", `{"action": "screenshot"}`, "20241022"},
		{"", `[]`, "object"},
		{"", `{}`, "screenshot"},
		{"", `{"action": 1}`, "screenshot"},
		{"", `{"action": "zoom"}`, "region is missing"},
		{"20250124", `{"action": "zoom", "region": [1, 2, 3, 4]}`, "version 20250124"},
		{"", `{"action": "zoom", "region": [1, 2, 3]}`, "[x1, y1, x2, y2]"},
		{"", `{"action": "zoom", "region": [3, 2, 3, 4]}`, "less than x2"},
		{"", `{"action": "screenshot", "region": [1, 2, 3, 4]}`, "no field"},
		{"", `{"action": "click_at (alias)"}`, "triple_click"},
		{"20241022", `{"action": "wait", "duration": 1}`, "version 20241022"},
		{"20241022", `{"action": "left_click", "coordinate": [1, 2]}`, "no field"},
		{"", `{"action": "screenshot", "text": "x"}`, "no field"},
		{"", `{"action": "mouse_move"}`, "coordinate is missing"},
		{"", `{"action": "mouse_move", "coordinate": [1]}`, "[x, y]"},
		{"", `{"action": "mouse_move", "coordinate": [1, -2]}`, "whole number"},
		{"", `{"action": "mouse_move", "coordinate": [1, 2.5]}`, "whole number"},
		{"", `{"action": "mouse_move", "coordinate": "1,2"}`, "[x, y]"},
		{"", `{"action": "mouse_move", "coordinate": [1, 2], "coordinate": [3, 4]}`, "coordinate"},
		{"", `{"action": "mouse_move", "Coordinate": [1, 2]}`, "no field"},
		{"", `{"action": "key", "text": "nonsense"}`, "nonsense"},
		{"", `{"action": "type", "text": "\u0007"}`, "U+0007"},
		{"", `{"action": "scroll", "scroll_direction": "north", "scroll_amount": 1}`, "up, down"},
		{"", `{"action": "scroll", "scroll_direction": "up", "scroll_amount": 1000}`, "200"},
		{"", `{"action": "wait", "duration": 1e9}`, "100"},
		{"", `{"action": "wait", "duration": "1"}`, "number"},
		{"", `{"action": "left_click", "key": "ctrl", "text": "shift"}`, "one of them"},
		{"", `{"action": "click_at", "x": 1}`, "x and y"},
		{"", `{"action": "left_click"} x`, "reading"},
	} {
		a, err := ParseAction([]byte(c.in), c.version)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v, %v, want an error that says %q", c.in, a, err, c.says)
		}
	}
}

func FuzzParseAction(f *testing.F) {
	for _, seed := range []string{`{"action": "screenshot"}`, `{"action": "left_click", "coordinate": [1, 2], "key": "ctrl+shift"}`, `{"action": "scroll", "scroll_direction": "up", "scroll_amount": 3}`, `{"action": "type", "text": "\ud83c\udf89"}`, `{"action":"wait","duration":1e-3}`, `{"action": "click_at", "x": 1, "y": 2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseAction(data, "")
		if err != nil {
			if a != (Action{}) {
				t.Fatalf("%q: %+v beside %v", data, a, err)
			}
			return
		}
		// What is taken can be done, on a screen that is large enough.
		if a.Name == "screenshot" || a.Name == "cursor_position" {
			return
		}
		if a.Start == nil {
			a.Start = &image.Point{}
		}
		step, err := (&Computer{}).step(t.Context(), a)
		if err == nil {
			err = step.check(image.Point{40000, 40000})
		}
		if err != nil {
			t.Fatalf("%q is taken and then refused: %v", data, err)
		}
	})
}

// TestScale holds that a model's pixel is hit, and comes back as itself.
func TestScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8192)
		screen := image.Point{size.Draw(t, "w"), size.Draw(t, "h")}
		c := Computer{Size: image.Point{rapid.IntRange(0, 8192).Draw(t, "mw"), rapid.IntRange(0, 8192).Draw(t, "mh")}}
		told := c.told(screen)
		p := image.Point{rapid.IntRange(0, told.X-1).Draw(t, "x"), rapid.IntRange(0, told.Y-1).Draw(t, "y")}
		at := scale(p, told, screen)
		if err := inside(at, screen); err != nil {
			t.Fatal(err)
		}
		if back := scale(at, screen, told); back != p {
			t.Fatalf("%v of %v is %v of %v, and that is %v", p, told, at, screen, back)
		}
	})
}

func TestScalingTargets(t *testing.T) {
	for screen, want := range map[image.Point]image.Point{
		{1920, 1080}: {1366, 768}, {1600, 1200}: {1024, 768}, {2560, 1600}: {1280, 800}, {1280, 800}: {1280, 800},
		{800, 600}: {800, 600}, {3000, 1000}: {3000, 1000}, {3840, 2160}: {1366, 768},
	} {
		if got := (&Computer{}).told(screen); got != want {
			t.Errorf("%v: %v, want %v", screen, got, want)
		}
	}
	if got := (&Computer{Size: image.Point{640, 640}}).told(image.Point{1920, 1080}); got != (image.Point{640, 360}) {
		t.Errorf("bounded by 640x640: %v", got)
	}
}

func TestAct(t *testing.T) {
	s := xvfb(t)
	d := s.open(t)
	seen := s.events(t)
	c := d.Computer()
	act := func(in string) Result {
		t.Helper()
		a, err := ParseAction([]byte(in), "")
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Act(t.Context(), a)
		if err != nil {
			t.Fatal(in, err)
		}
		return r
	}
	act(`{"action": "mouse_move", "coordinate": [100, 150]}`)
	if r := act(`{"action": "cursor_position"}`); r.Text != "X=100,Y=150" {
		t.Errorf("the pointer is at %s", r.Text)
	}
	p, _ := d.Pointer(t.Context())
	if p.X < 140 || p.X > 142 || p.Y < 210 || p.Y > 212 {
		t.Errorf("on the screen it is at %v", p)
	}
	for _, in := range []string{
		`{"action": "triple_click", "key": "shift"}`, `{"action": "right_click"}`, `{"action": "middle_click", "coordinate": [90, 90]}`,
		`{"action": "left_mouse_down"}`, `{"action": "left_mouse_up"}`, `{"action": "key", "text": "ctrl+s"}`, `{"action": "type", "text": "hi"}`,
		`{"action": "scroll", "scroll_direction": "down", "scroll_amount": 2}`, `{"action": "hold_key", "text": "a", "duration": 0.1}`,
		`{"action": "left_click_drag", "coordinate": [120, 120]}`,
	} {
		if r := act(in); r.Picture != nil {
			t.Errorf("%s has a picture", in)
		}
	}
	log := seen()
	for what, n := range map[string]int{"state 0x1, button 1": 3, "button 3,": 2, "button 2,": 2, "button 5,": 4} {
		if got := strings.Count(log, what); got != n {
			t.Errorf("%s is there %d times, want %d", what, got, n)
		}
	}
	for _, in := range []string{`{"action": "screenshot"}`, `{"action": "wait", "duration": 0}`} {
		r := act(in)
		img, err := png.Decode(bytes.NewReader(r.Picture.Data))
		if err != nil || img.Bounds().Dx() != 1366 || img.Bounds().Dy() != 768 {
			t.Errorf("%s: %v, %v", in, r.Picture.Area, err)
		}
	}
	_, err := c.Act(t.Context(), Action{Name: "mouse_move", Coordinate: &image.Point{1366, 0}})
	if err == nil || !strings.Contains(err.Error(), "1366x768") {
		t.Errorf("a coordinate beyond the picture: %v", err)
	}
}

// TestRegionIsOnScreen: a region is shown whole, and no more than the pixels around it.
func TestRegionIsOnScreen(t *testing.T) {
	told, screen := image.Point{1280, 800}, image.Point{2560, 1600}
	for region, want := range map[image.Rectangle]image.Rectangle{
		image.Rect(100, 200, 400, 350): image.Rect(200, 400, 800, 700), image.Rect(0, 0, 1280, 800): image.Rect(0, 0, 2560, 1600),
		image.Rect(1279, 799, 1280, 800): image.Rect(2558, 1598, 2560, 1600),
	} {
		if got := onScreen(region, told, screen); got != want {
			t.Errorf("%v is %v, want %v", region, got, want)
		}
	}
	if got := onScreen(image.Rect(1, 1, 2, 2), image.Point{1000, 1000}, image.Point{1500, 1500}); got != image.Rect(1, 1, 3, 3) {
		t.Errorf("%v", got)
	}
}
