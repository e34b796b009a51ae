package gui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"

	"carrel/internal/a11y"
	"carrel/internal/api"
)

// tree gives what the programs tell of themselves, or what fits of it.
func (d *Seat) tree(ctx context.Context, q *api.Tree) (document, error) {
	bus, err := d.Desktop.buses.accessibility(ctx)
	if err != nil {
		return document{}, err
	}
	defer bus.Close()
	find := a11y.Query{Role: q.Role, States: q.States}
	find.Depth, find.Hidden = q.Depth, q.Hidden
	for _, p := range []struct {
		to   **regexp.Regexp
		text string
		what string
	}{{&find.Name, q.Name, "name"}, {&find.Content, q.Text, "text"}, {&find.App, q.App, "app"}} {
		if *p.to, err = pattern(p.what, p.text); err != nil {
			return document{}, err
		}
	}
	var out bytes.Buffer
	kind := api.TypeJSON
	if q.Lines {
		kind = api.TypeText
	}
	if find.Role == "" && find.Name == nil && find.Content == nil && len(find.States) == 0 && !q.Wait {
		t, err := bus.Tree(ctx, find.Options)
		if err == nil && q.Lines {
			err = t.WriteText(&out)
		} else if err == nil {
			err = t.WriteJSON(&out)
		}
		return document{kind: kind, data: out.Bytes()}, err
	}
	var found *a11y.Found
	if q.Wait {
		ctx, cancel := context.WithTimeout(ctx, waitFor(q.Millis))
		defer cancel()
		found, err = bus.Wait(ctx, find, q.Gone)
	} else {
		found, err = bus.Find(ctx, find)
	}
	if err != nil {
		return document{}, err
	}
	if !q.Lines {
		text, err := json.Marshal(found)
		return document{kind: kind, data: text}, err
	}
	for _, n := range found.Nodes {
		fmt.Fprintln(&out, n)
	}
	for _, p := range found.Problems {
		fmt.Fprintf(&out, "(incomplete: %+q)\n", p)
	}
	return document{kind: kind, data: out.Bytes()}, nil
}

func pattern(what, text string) (*regexp.Regexp, error) {
	const most = 1024
	if text == "" {
		return nil, nil
	}
	if len(text) > most {
		return nil, fmt.Errorf("%s: a regular expression has at most %d bytes, this one has %d", what, most, len(text))
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return re, nil
}

// element does something with one of the tree.
func (d *Seat) element(ctx context.Context, e *api.Element) (string, error) {
	ref, err := a11y.ParseRef(e.Ref)
	if err != nil {
		return "", err
	}
	bus, err := d.Desktop.buses.accessibility(ctx)
	if err != nil {
		return "", err
	}
	defer bus.Close()
	if e.Do != api.ElementText && d.Server.Control().Mode != api.ControlActive {
		done, err := d.Desktop.rules.admit(ctx, bus)
		if err != nil {
			return "", err
		}
		defer done()
	}
	switch e.Do {
	case api.ElementInvoke:
		return bus.Invoke(ctx, ref, e.Action)
	case api.ElementSet:
		switch {
		case e.Text != nil && e.Value == nil:
			return "", bus.SetText(ctx, ref, *e.Text)
		case e.Value != nil && e.Text == nil:
			now, err := bus.SetValue(ctx, ref, *e.Value)
			return fmt.Sprint(now), err
		}
		return "", errors.New("set takes a text or a value")
	case api.ElementFocus:
		return "", bus.Focus(ctx, ref)
	case api.ElementScroll:
		return "", bus.ScrollTo(ctx, ref)
	case api.ElementText:
		text, _, err := bus.Text(ctx, ref, 0, math.MaxInt32)
		return text, err
	}
	return "", fmt.Errorf("nothing is known of %.40q: invoke, set, focus, scroll or text", e.Do)
}
