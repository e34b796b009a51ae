package a11y

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"carrel/internal/dbus"

	wire "github.com/godbus/dbus/v5"
)

// actTime is what a program has to do something that it was asked for.
const actTime = 5 * time.Second

const maxSetText = 1 << 20 // bytes

// errUncertain is added where a program was asked and did not answer.
var errUncertain = errors.New("the program may have done it or still be at it, with a dialog open or busy")

// Invoke does what a node offers: the action of that name, in any case, or its
// first one where action is empty. It returns the action's name.
func (b *Bus) Invoke(ctx context.Context, r Ref, action string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, r.ask(actionFace, "GetActions", "a(sss)"))
	if err != nil {
		return "", fmt.Errorf("asking %s for its actions: %w", r, err)
	}
	names := actionNames(vs[0])
	if len(names) == 0 {
		return "", fmt.Errorf("%s offers no action", r)
	}
	for i := range names {
		if names[i] != "" {
			continue
		}
		if vs, err := b.conn.Ask(ctx, r.ask(actionFace, "GetName", "s", int32(i))); err == nil {
			names[i] = dbus.Clip(stringOf(vs), maxName)
		}
	}
	index := 0
	if action != "" {
		for index < len(names) && !strings.EqualFold(names[index], action) {
			index++
		}
		if index == len(names) {
			return "", fmt.Errorf("%s has no action %q; it has %q", r, action, names)
		}
	}
	name := dbus.Clip(names[index], maxName)
	return name, b.do(ctx, r, fmt.Sprintf("doing %q", name), r.ask(actionFace, "DoAction", "b", int32(index)))
}

// ErrNotEditable is a node whose program does not let its text be set this way:
// Chromium offers that for nothing at all. [Bus.Focus] and [Bus.Select] prepare such
// a node for text from the keyboard.
var ErrNotEditable = errors.New("its program offers no way to set text; focus it, select its text and type")

// SetText replaces all of an editable node's text; at most 1 MiB of UTF-8 without
// zero bytes. The error may be an [ErrNotEditable].
func (b *Bus) SetText(ctx context.Context, r Ref, text string) error {
	if len(text) > maxSetText {
		return fmt.Errorf("setting the text of %s: %d bytes, want at most %d", r, len(text), maxSetText)
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, r.ask(accessibleFace, "GetInterfaces", "as"))
	if err != nil {
		return fmt.Errorf("%s: setting the text: %w", r, err)
	}
	if faceSet(vs[0])&hasEditable == 0 {
		return fmt.Errorf("%s: %w", r, ErrNotEditable)
	}
	return b.do(ctx, r, "setting the text", r.ask(editableFace, "SetTextContents", "b", text))
}

// SetValue sets the number that a node such as a slider shows. The program may
// round it or keep to its bounds: the value that it has then is returned.
func (b *Bus) SetValue(ctx context.Context, r Ref, v float64) (float64, error) {
	if !finite(v) {
		return 0, fmt.Errorf("setting the value of %s: %v is no value", r, v)
	}
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	if _, err := b.conn.Ask(ctx, r.ask(propertyFace, "Set", "", valueFace, "CurrentValue", wire.MakeVariant(v))); err != nil {
		return 0, fmt.Errorf("setting the value of %s: %w", r, uncertain(err))
	}
	vs, err := b.conn.Ask(ctx, r.property(valueFace, "CurrentValue", "d"))
	if err != nil {
		return 0, fmt.Errorf("asking %s for its value: %w", r, err)
	}
	got, _ := vs[0].(float64)
	return got, nil
}

// Focus gives a node the keyboard within its program. That the program's window is
// the active one is the window manager's matter.
func (b *Bus) Focus(ctx context.Context, r Ref) error {
	return b.do(ctx, r, "focusing", r.ask(componentFace, "GrabFocus", "b"))
}

// ScrollTo brings a node into sight. GTK 3 and Qt 5 do not have it.
func (b *Bus) ScrollTo(ctx context.Context, r Ref) error {
	const anywhere = 6
	return b.do(ctx, r, "scrolling to", r.ask(componentFace, "ScrollTo", "b", uint32(anywhere)))
}

// do asks for something that is answered with whether it was done.
func (b *Bus) do(ctx context.Context, r Ref, what string, c *dbus.Call) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, c)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", r, what, uncertain(err))
	}
	if done, _ := vs[0].(bool); !done {
		return fmt.Errorf("%s: %s: the program says that it did not", r, what)
	}
	return nil
}

func uncertain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w; %w", err, errUncertain)
	}
	return err
}

// Text returns the characters of a node from one number to another, counted from
// 0, and how many it has. Of one call come at most 4 MiB.
func (b *Bus) Text(ctx context.Context, r Ref, from, to int) (text string, characters int, err error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, r.property(textFace, "CharacterCount", "i"))
	if err != nil {
		return "", 0, fmt.Errorf("asking %s for its text: %w", r, err)
	}
	count, _ := vs[0].(int32)
	count = max(count, 0)
	from, to = max(from, 0), min(to, int(count), math.MaxInt32)
	if from >= to {
		return "", int(count), nil
	}
	vs, err = b.conn.Ask(ctx, r.ask(textFace, "GetText", "s", int32(from), int32(to)))
	if err != nil {
		return "", 0, fmt.Errorf("asking %s for its text: %w", r, err)
	}
	return dbus.Clip(stringOf(vs), dbus.MaxBody), int(count), nil
}

// Selection returns the first selected part of a node's text and where it begins
// and ends, in characters; nothing is selected where these are equal.
func (b *Bus) Selection(ctx context.Context, r Ref) (text string, from, to int, err error) {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	vs, err := b.conn.Ask(ctx, r.ask(textFace, "GetNSelections", "i"))
	if err != nil {
		return "", 0, 0, fmt.Errorf("asking %s for its selection: %w", r, err)
	}
	if n, _ := vs[0].(int32); n <= 0 {
		return "", 0, 0, nil
	}
	vs, err = b.conn.Ask(ctx, r.ask(textFace, "GetSelection", "ii", int32(0)))
	if err != nil {
		return "", 0, 0, fmt.Errorf("asking %s for its selection: %w", r, err)
	}
	first, _ := vs[0].(int32)
	last, _ := vs[1].(int32)
	text, _, err = b.Text(ctx, r, int(first), int(last))
	return text, int(first), int(last), err
}

// Select selects a node's text from one character to another, counted from 0, and
// nothing else of it; to below zero is the end.
func (b *Bus) Select(ctx context.Context, r Ref, from, to int) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	count, selections := r.property(textFace, "CharacterCount", "i"), r.ask(textFace, "GetNSelections", "i")
	if err := b.conn.Begin(count, selections); err != nil {
		return err
	}
	var n [2]int32
	for i, c := range []*dbus.Call{count, selections} {
		vs, err := b.conn.Wait(ctx, c)
		if err != nil {
			return fmt.Errorf("asking %s for its text: %w", r, err)
		}
		n[i], _ = vs[0].(int32)
	}
	if to < 0 || to > int(n[0]) {
		to = int(max(n[0], 0))
	}
	from = min(max(from, 0), to)
	if n[1] > 0 {
		return b.do(ctx, r, "selecting text", r.ask(textFace, "SetSelection", "b", int32(0), int32(from), int32(to)))
	}
	return b.do(ctx, r, "selecting text", r.ask(textFace, "AddSelection", "b", int32(from), int32(to)))
}
