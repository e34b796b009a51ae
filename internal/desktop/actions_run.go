package desktop

import (
	"context"
	"fmt"
	"image"
	"math"
	"time"

	"carrel/internal/picture"
)

// Computer is a desktop as a model uses it: with pictures that may be smaller
// than the screen, and coordinates in them.
type Computer struct {
	d *Desktop
	// Size bounds the pictures. The zero value stands for the sizes that models
	// were found to see best: 1024x768, 1280x800 or 1366x768, whichever has the
	// proportions of a larger screen; screens of other proportions and smaller
	// ones are shown as they are.
	Size image.Point
	// Look, if not 0, ends every action with a picture, taken so long after it.
	// Without it only screenshot and wait have one.
	Look time.Duration
}

// Result is what an action gives.
type Result struct {
	Picture *Picture     // PNG, with the pointer; nil where there is none
	Pointer *image.Point // of cursor_position, in pixels of the picture
	Text    string       // of cursor_position, as models know it: "X=10,Y=20"
}

// Computer gives a desktop to a model.
func (d *Desktop) Computer() *Computer { return &Computer{d: d} }

// scalingTargets are the sizes of Anthropic's reference implementation.
var scalingTargets = []image.Point{{1024, 768}, {1280, 800}, {1366, 768}}

// PictureSize is the size of the pictures, which is to be told to the model as
// display_width_px and display_height_px.
func (c *Computer) PictureSize(ctx context.Context) (image.Point, error) {
	screen, err := c.d.extent(ctx)
	if err != nil {
		return image.Point{}, err
	}
	return c.told(screen), nil
}

func (c *Computer) told(screen image.Point) image.Point {
	bound := c.Size
	if bound == (image.Point{}) {
		bound = scalingTarget(screen)
	}
	w, h := picture.Fit(screen.X, screen.Y, bound.X, bound.Y)
	return image.Point{w, h}
}

// scalingTarget is the size for a screen: proportions may differ a little, as
// no size is exactly 16:9.
func scalingTarget(screen image.Point) image.Point {
	ratio := float64(screen.X) / float64(screen.Y)
	for _, t := range scalingTargets {
		if math.Abs(float64(t.X)/float64(t.Y)-ratio) < 0.02 {
			if t.X < screen.X {
				return t
			}
			break
		}
	}
	return screen
}

// scale gives the pixel of a surface that lies where the middle of a pixel of
// another one is.
func scale(p, from, to image.Point) image.Point {
	return image.Point{(2*p.X + 1) * to.X / (2 * from.X), (2*p.Y + 1) * to.Y / (2 * from.Y)}
}

// Act does one action.
func (c *Computer) Act(ctx context.Context, a Action) (Result, error) {
	screen, err := c.d.extent(ctx)
	if err != nil {
		return Result{}, err
	}
	told := c.told(screen)
	for _, p := range []**image.Point{&a.Coordinate, &a.Start} {
		if *p == nil {
			continue
		}
		if err := inside(**p, told); err != nil {
			return Result{}, fmt.Errorf("action %s: %w", a.Name, err)
		}
		at := scale(**p, told, screen)
		*p = &at
	}
	switch a.Name {
	case "screenshot":
		return c.look(ctx, told)
	case "zoom":
		if !a.Region.In(image.Rectangle{Max: told}) {
			return Result{}, fmt.Errorf("action zoom: the region %v leaves the picture, which has %dx%d pixels", a.Region, told.X, told.Y)
		}
		return c.zoom(ctx, onScreen(a.Region, told, screen), told)
	case "cursor_position":
		p, err := c.d.Pointer(ctx)
		if err != nil {
			return Result{}, err
		}
		p = scale(p, screen, told)
		return Result{Pointer: &p, Text: fmt.Sprintf("X=%d,Y=%d", p.X, p.Y)}, nil
	}
	step, err := c.step(ctx, a)
	if err != nil {
		return Result{}, fmt.Errorf("action %s: %w", a.Name, err)
	}
	if err := c.d.Input(ctx, step); err != nil {
		return Result{}, fmt.Errorf("action %s: %w", a.Name, err)
	}
	if c.Look == 0 && a.Name != "wait" {
		return Result{}, nil
	}
	if err := (&hands{d: &c.d.inputDevice}).wait(ctx, c.Look); err != nil {
		return Result{}, err
	}
	return c.look(ctx, told)
}

func (c *Computer) look(ctx context.Context, told image.Point) (Result, error) {
	p, err := c.d.Screenshot(ctx, Shot{MaxWidth: told.X, MaxHeight: told.Y, Cursor: true})
	return Result{Picture: &p}, err
}

// zoom shows an area of the screen in as many pixels as it has, and a picture may have.
func (c *Computer) zoom(ctx context.Context, area image.Rectangle, told image.Point) (Result, error) {
	p, err := c.d.Screenshot(ctx, Shot{Area: area, MaxWidth: told.X, MaxHeight: told.Y, Cursor: true})
	return Result{Picture: &p}, err
}

// onScreen is the area of the screen that a region of a picture shows, whole pixels of it.
func onScreen(r image.Rectangle, told, screen image.Point) image.Rectangle {
	return image.Rect(r.Min.X*screen.X/told.X, r.Min.Y*screen.Y/told.Y,
		(r.Max.X*screen.X+told.X-1)/told.X, (r.Max.Y*screen.Y+told.Y-1)/told.Y)
}

// step is what an action means for mouse and keyboard.
func (c *Computer) step(ctx context.Context, a Action) (Input, error) {
	click := func(b Button, count int) (Input, error) {
		return Click{At: a.Coordinate, Button: b, Count: count, Keys: a.Text}, nil
	}
	switch a.Name {
	case "key":
		return Keys{Keys: a.Text}, nil
	case "hold_key":
		return Keys{Keys: a.Text, Hold: a.Duration}, nil
	case "type":
		return Text{a.Text}, nil
	case "wait":
		return Pause{a.Duration}, nil
	case "left_click":
		return click(Left, 1)
	case "double_click":
		return click(Left, 2)
	case "triple_click":
		return click(Left, 3)
	case "middle_click":
		return click(Middle, 1)
	case "right_click":
		return click(Right, 1)
	case "left_mouse_down":
		return Press{a.Coordinate, Left}, nil
	case "left_mouse_up":
		return Release{a.Coordinate, Left}, nil
	case "scroll":
		return Scroll{At: a.Coordinate, To: a.Direction, Notches: a.Amount, Keys: a.Text}, nil
	case "mouse_move", "left_click_drag":
		if a.Coordinate == nil {
			return nil, fmt.Errorf("coordinate is missing")
		}
		if a.Name == "mouse_move" {
			return Move{*a.Coordinate}, nil
		}
		if a.Start == nil {
			p, err := c.d.Pointer(ctx)
			if err != nil {
				return nil, err
			}
			a.Start = &p
		}
		return Drag{From: *a.Start, To: *a.Coordinate, Button: Left, Keys: a.Text}, nil
	}
	return nil, fmt.Errorf("there is no such action; there are %s", actionNames(Version20251124))
}
