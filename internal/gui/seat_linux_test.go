package gui

import (
	"context"
	"errors"
	"image"
	"regexp"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/supervisor"
)

// TestStepsOfInput: what each step of a request means, and what it has to have.
func TestStepsOfInput(t *testing.T) {
	at, from := &[2]int{3, 4}, &[2]int{-1, 2}
	to, begin := image.Pt(3, 4), image.Pt(-1, 2)
	for _, c := range []struct {
		in   api.DesktopInput
		want xclient.Input
	}{
		{api.DesktopInput{Do: "move", At: at}, xclient.Move{To: to}},
		{api.DesktopInput{Do: "click"}, xclient.Click{Button: xclient.Left}},
		{api.DesktopInput{Do: "click", Button: 3, Count: 2, Keys: "shift"}, xclient.Click{Button: xclient.Right, Count: 2, Keys: "shift"}},
		{api.DesktopInput{Do: "click", Button: 999}, xclient.Click{Button: 255}},
		{api.DesktopInput{Do: "press", Button: -3}, xclient.Press{}}, // which the client of the display refuses
		{api.DesktopInput{Do: "release"}, xclient.Release{Button: xclient.Left}},
		{api.DesktopInput{Do: "drag", At: at, From: from, Millis: 20},
			xclient.Drag{From: begin, To: to, Button: xclient.Left, For: 20 * time.Millisecond}},
		{api.DesktopInput{Do: "scroll", Direction: "left"}, xclient.Scroll{To: xclient.ToLeft, Notches: 1}},
		{api.DesktopInput{Do: "scroll", Direction: "down", Count: 5}, xclient.Scroll{To: xclient.Down, Notches: 5}},
		{api.DesktopInput{Do: "key", Keys: "ctrl+a", Count: 2, Millis: -5}, xclient.Keys{Keys: "ctrl+a", Times: 2}},
		{api.DesktopInput{Do: "type", Text: "a"}, xclient.Text{Text: "a"}},
		{api.DesktopInput{Do: "pause", Millis: 1 << 40}, xclient.Pause{For: (1 << 31) * time.Millisecond}},
	} {
		if got, err := stepOf(&c.in); err != nil || got != c.want {
			t.Errorf("%+v: %+v, %v, want %+v", c.in, got, err, c.want)
		}
	}
	click, err := stepOf(&api.DesktopInput{Do: "click", At: at})
	if c, ok := click.(xclient.Click); err != nil || !ok || c.At == nil || *c.At != to {
		t.Errorf("%+v, %v", click, err)
	}
	for want, list := range map[string][]api.DesktopInput{
		"step 2: move needs a place":       {{Do: "click"}, {Do: "move"}},
		"step 1: drag needs two places":    {{Do: "drag", At: at}},
		"step 1: there is no direction":    {{Do: "scroll", Direction: "sideways"}},
		`step 1: there is no step "`:       {{Do: strings.Repeat("x", 100)}},
		"step 1: drag needs two places: f": {{Do: "drag", From: from}},
	} {
		if got, err := stepsOf(list); err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 200 || got != nil {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestInputIsToldWithoutText: what was typed is not recorded, and a long list is bounded.
func TestInputIsToldWithoutText(t *testing.T) {
	list := []api.DesktopInput{{Do: "click"}, {Do: "type", Text: "geheimü"}}
	if got, want := tellSteps(list), "click, type 7 characters"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for len(list) < 13 {
		list = append(list, api.DesktopInput{Do: "key", Keys: "a"})
	}
	if got := tellSteps(list); strings.Count(got, ",") != 10 || !strings.HasSuffix(got, "key, and 3 more") {
		t.Errorf("%s", got)
	}
}

// TestNumbersOfDesktop: ids of windows, areas and times as requests have them, within what the
// display takes.
func TestNumbersOfDesktop(t *testing.T) {
	for text, want := range map[string]xclient.ID{"": 0, "0x5": 5, "5": 5, "0xffffffff": 0xffffffff} {
		if got, err := windowID(text); err != nil || got != want || want != 0 && idText(got) == "" {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "0x0", "-1", "0x100000000", "x", "5 ", strings.Repeat("9", 100)} {
		if got, err := windowID(text); err == nil || len(err.Error()) > 150 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if id, err := windowID(idText(0xabc)); err != nil || id != 0xabc {
		t.Errorf("%v, %v", id, err)
	}
	for _, area := range [][4]int{{1, 2, 3, 4}, {-5, 0, 1, 1}, {maxPlace, -maxPlace, maxPlace, 1}} {
		if got, err := rectangle(area); err != nil || fromRectangle(got) != area {
			t.Errorf("%d: %v, %v", area, got, err)
		}
	}
	for _, area := range [][4]int{{}, {1, 1, 0, 1}, {1, 1, 1, -1}, {maxPlace + 1, 0, 1, 1}, {0, -maxPlace - 1, 1, 1}, {0, 0, 1 << 60, 1}} {
		if got, err := rectangle(area); err == nil {
			t.Errorf("%d is %v", area, got)
		}
	}
	for millis, want := range map[int]time.Duration{-1: usualWait, 0: usualWait, 5: 5 * time.Millisecond, 1 << 40: maxDesktopWait} {
		if got := waitFor(millis); got != want {
			t.Errorf("%d: %s", millis, got)
		}
	}
}

// TestListedWindows: a list has what fits its filters; hidden windows too where all are asked for,
// but no others than fit.
func TestListedWindows(t *testing.T) {
	shown := xclient.Window{ID: 1, Title: "Shop", Class: "Web"}
	hidden := xclient.Window{ID: 2, Title: "Shop", Hidden: true}
	other := xclient.Window{ID: 3, Title: "Mail", Hidden: true}
	title := regexp.MustCompile("Shop")
	for _, c := range []struct {
		m    xclient.Match
		want [3]bool
	}{
		{xclient.Match{}, [3]bool{true, false, false}},
		{xclient.Match{All: true}, [3]bool{true, true, true}},
		{xclient.Match{Title: title}, [3]bool{true, false, false}},
		{xclient.Match{Title: title, All: true}, [3]bool{true, true, false}},
		{xclient.Match{ID: 1, All: true}, [3]bool{true, false, false}},
		{xclient.Match{All: true, Also: func(w xclient.Window) bool { return w.ID == 3 }}, [3]bool{false, false, true}},
	} {
		if got := [3]bool{listed(c.m, shown), listed(c.m, hidden), listed(c.m, other)}; got != c.want {
			t.Errorf("%+v: %v, want %v", c.m, got, c.want)
		}
	}
}

// TestPicturesAreTold: a picture that has not changed since comes without pixels.
func TestPicturesAreTold(t *testing.T) {
	p := &xclient.Picture{Width: 8, Height: 6, Area: image.Rect(1, 2, 9, 8), Token: "t", Format: xclient.JPEG, Data: []byte("x")}
	said, doc := pictured(p)
	if *said.Picture != (api.Picture{Width: 8, Height: 6, Area: [4]int{1, 2, 8, 6}, Token: "t"}) || doc.kind != api.TypeJPEG ||
		string(doc.data) != "x" {
		t.Errorf("%+v, %+v", said.Picture, doc)
	}
	p.Unchanged = true
	if said, doc := pictured(p); !said.Picture.Unchanged || doc.kind != "" || doc.data != nil {
		t.Errorf("%+v, %+v", said.Picture, doc)
	}
}

// TestRequestsWithoutDesktop: a workspace without a display says how to get one, and a request that
// asks for nothing is refused.
func TestRequestsWithoutDesktop(t *testing.T) {
	ask := func(seat *Seat, d *api.Desktop) error {
		_, err := seat.Do(t.Context(), &supervisor.Call{Request: api.Request{Op: api.OpDesktopSee, Desktop: d}})
		return err
	}
	var why *api.Denial
	if err := ask(&Seat{Name: "dev"}, &api.Desktop{Size: true}); !errors.As(err, &why) || why.Code != api.CodeNoDesktop ||
		!strings.Contains(why.Hint, "--display virtual") {
		t.Errorf("%v", err)
	}
	if err := ask(&Seat{Desktop: &Desktop{}}, nil); !errors.As(err, &why) || why.Code != api.CodeRequest {
		t.Errorf("%v", err)
	}
	seat := &Seat{}
	if err := seat.copy(t.Context(), &api.Clip{}, nil); err == nil || !strings.Contains(err.Error(), "0 came") {
		t.Errorf("a copy without content: %v", err)
	}
	for want, w := range map[string]*api.WindowChange{"is no window": {Window: "x", Do: "focus"},
		"cannot be": {Window: "0x1", Do: "explode"}} {
		if err := changeWindow(t.Context(), nil, w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", w, err)
		}
	}
	var none *Desktop
	none.Close()
	none.SetMode(api.ControlPaused)
	if _, err := none.Dial(t.Context()); !errors.Is(err, errNoDesktop) {
		t.Errorf("%v", err)
	}
	if _, err := none.DialBus(t.Context()); !errors.Is(err, errNoBus) || none.Watch() != nil {
		t.Errorf("%v", err)
	}
}

// TestActingEndsWithTheMode: what was begun under one mode of control ends when it changes; what
// begins afterwards does not.
func TestActingEndsWithTheMode(t *testing.T) {
	var c ownClients
	first, doneFirst := c.acting(t.Context())
	second, doneSecond := c.acting(t.Context())
	if doneSecond(); first.Err() != nil || second.Err() == nil {
		t.Error("the end of one action is that of another")
	}
	c.stopActing()
	later, doneLater := c.acting(t.Context())
	if !errors.Is(first.Err(), context.Canceled) || later.Err() != nil {
		t.Errorf("%v, %v", first.Err(), later.Err())
	}
	doneFirst()
	if doneLater(); len(c.cancels) != 0 {
		t.Errorf("%d are kept", len(c.cancels))
	}
}
