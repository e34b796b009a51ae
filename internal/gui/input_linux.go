package gui

import (
	"fmt"
	"image"
	"strings"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
)

// stepsOf reads what a person would do.
func stepsOf(list []api.DesktopInput) ([]xclient.Input, error) {
	var out []xclient.Input
	for i := range list {
		s, err := stepOf(&list[i])
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		out = append(out, s)
	}
	return out, nil
}

func stepOf(s *api.DesktopInput) (xclient.Input, error) {
	button := xclient.Button(max(0, min(s.Button, 255)))
	if s.Button == 0 {
		button = xclient.Left
	}
	takes := time.Duration(min(max(s.Millis, 0), 1<<31)) * time.Millisecond
	switch s.Do {
	case "move":
		if s.At == nil {
			return nil, fmt.Errorf("%s needs a place: at", s.Do)
		}
		return xclient.Move{To: *pointOf(s.At)}, nil
	case "click":
		return xclient.Click{At: pointOf(s.At), Button: button, Count: s.Count, Keys: s.Keys}, nil
	case "press":
		return xclient.Press{At: pointOf(s.At), Button: button}, nil
	case "release":
		return xclient.Release{At: pointOf(s.At), Button: button}, nil
	case "drag":
		if s.At == nil || s.From == nil {
			return nil, fmt.Errorf("%s needs two places: from and at", s.Do)
		}
		return xclient.Drag{From: *pointOf(s.From), To: *pointOf(s.At), Button: button, For: takes, Keys: s.Keys}, nil
	case "scroll":
		to, ok := map[string]xclient.Direction{"up": xclient.Up, "down": xclient.Down, "left": xclient.ToLeft, "right": xclient.ToRight}[s.Direction]
		if !ok {
			return nil, fmt.Errorf("there is no direction %.40q: up, down, left or right", s.Direction)
		}
		return xclient.Scroll{At: pointOf(s.At), To: to, Notches: max(s.Count, 1), Keys: s.Keys}, nil
	case "key":
		return xclient.Keys{Keys: s.Keys, Times: s.Count, Hold: takes}, nil
	case "type":
		return xclient.Text{Text: s.Text}, nil
	case "pause":
		return xclient.Pause{For: takes}, nil
	}
	return nil, fmt.Errorf("there is no step %.40q: move, click, press, release, drag, scroll, key, type or pause", s.Do)
}

func pointOf(p *[2]int) *image.Point {
	if p == nil {
		return nil
	}
	return &image.Point{X: p[0], Y: p[1]}
}

// tellSteps says what was done, without what was typed.
func tellSteps(list []api.DesktopInput) string {
	var words []string
	for i := range list {
		word := list[i].Do
		if list[i].Do == "type" {
			word = fmt.Sprintf("type %d characters", utf8.RuneCountInString(list[i].Text))
		}
		if i == 10 {
			words = append(words, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
