package desktop

import (
	"fmt"
	"image"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/jsontree"
	"carrel/internal/keysym"
)

// The versions of Anthropic's computer-use tool, as in the names of its types
// (computer_20241022). A later one has all actions of the earlier ones.
const (
	Version20241022 = "20241022"
	Version20250124 = "20250124"
	Version20251124 = "20251124"
)

var versions = []string{Version20241022, Version20250124, Version20251124}

// Action is one use of a computer by a model, as Anthropic's computer-use tool
// has it: https://docs.anthropic.com/en/docs/build-with-claude/computer-use
type Action struct {
	Name       string       // with aliases resolved: "left_click", "type"
	Text       string       // what to type; keys to press or to hold
	Coordinate *image.Point // in pixels of the picture that the model sees
	Start      *image.Point // of left_click_drag; nil is where the pointer is
	Direction  Direction
	Amount     int
	Duration   time.Duration
	Region     image.Rectangle // of zoom, in pixels of that picture
}

// fields says which of its fields an action has.
type fields struct {
	needs, takes []string
	later        []string // taken since 20250124
	since        string
}

var actionFields = map[string]fields{
	"key":              {needs: []string{"text"}},
	"type":             {needs: []string{"text"}},
	"mouse_move":       {needs: []string{"coordinate"}},
	"left_click":       {later: []string{"coordinate", "text", "key"}},
	"right_click":      {later: []string{"coordinate", "text", "key"}},
	"middle_click":     {later: []string{"coordinate", "text", "key"}},
	"double_click":     {later: []string{"coordinate", "text", "key"}},
	"left_click_drag":  {needs: []string{"coordinate"}, later: []string{"start_coordinate", "text", "key"}},
	"screenshot":       {},
	"cursor_position":  {},
	"triple_click":     {takes: []string{"coordinate", "text", "key"}, since: Version20250124},
	"left_mouse_down":  {takes: []string{"coordinate"}, since: Version20250124},
	"left_mouse_up":    {takes: []string{"coordinate"}, since: Version20250124},
	"scroll":           {needs: []string{"scroll_direction", "scroll_amount"}, takes: []string{"coordinate", "text", "key"}, since: Version20250124},
	"hold_key":         {needs: []string{"text", "duration"}, since: Version20250124},
	"wait":             {needs: []string{"duration"}, since: Version20250124},
	"zoom":             {needs: []string{"region"}, since: Version20251124},
	"click_at (alias)": {needs: []string{"coordinate"}, takes: []string{"text", "key"}},
}

// actionAliases are other names of actions; click_at has a coordinate, or x
// and y.
var actionAliases = map[string]string{"take_screenshot": "screenshot", "click_at": "click_at (alias)", "type_text": "type"}

// ParseAction reads the input of one call of the tool, a JSON object, strictly:
// an action of another version, a field that the action does not have, a value
// of another type or out of bounds are errors that say what would be right. The
// version is one of the constants, or empty for the latest.
func ParseAction(data []byte, version string) (Action, error) {
	version = strings.TrimPrefix(version, "computer_")
	if version == "" {
		version = Version20251124
	}
	if !slices.Contains(versions, version) {
		return Action{}, fmt.Errorf("computer-use version %.40q: want one of %s", version, strings.Join(versions, ", "))
	}
	root, err := jsontree.Parse(data)
	if err != nil {
		return Action{}, fmt.Errorf("reading an action: %w", err)
	}
	if root.Kind != jsontree.Object {
		return Action{}, fmt.Errorf(`reading an action: it is a %v; want an object as {"action": "screenshot"}`, root.Kind)
	}
	name := root.Get("action")
	if name == nil || name.Kind != jsontree.String {
		return Action{}, fmt.Errorf(`reading an action: "action" is missing or no string; want one of %s`, actionNames(version))
	}
	kind := name.Text
	if alias, ok := actionAliases[kind]; ok {
		kind = alias
	}
	f, ok := actionFields[kind]
	if !ok || kind == name.Text && strings.Contains(kind, " ") || f.since > version {
		return Action{}, fmt.Errorf("action %.40q: version %s of the tool has %s", name.Text, version, actionNames(version))
	}
	if version >= Version20250124 {
		f.takes = append(slices.Clone(f.takes), f.later...)
	}
	r := actionReader{name: name.Text, fields: f, a: Action{Name: kind}}
	if err := r.read(root); err != nil {
		return Action{}, fmt.Errorf("action %q: %w", name.Text, err)
	}
	if kind == "click_at (alias)" {
		r.a.Name = "left_click"
	}
	return r.a, nil
}

func actionNames(version string) string {
	var names []string
	for name, f := range actionFields {
		if f.since <= version && !strings.Contains(name, " ") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// actionReader fills an action from the members of an object.
type actionReader struct {
	name   string
	fields fields
	a      Action
	x, y   *int
}

func (r *actionReader) read(root *jsontree.Node) error {
	seen := make(map[string]bool)
	for _, m := range root.Members {
		if m.Name == "action" || m.Value.Kind == jsontree.Null {
			continue
		}
		seen[m.Name] = true
		if err := r.member(m); err != nil {
			return err
		}
	}
	if seen["x"] || seen["y"] {
		if r.x == nil || r.y == nil || r.a.Coordinate != nil {
			return fmt.Errorf("want x and y, or coordinate, not some of both")
		}
		r.a.Coordinate = &image.Point{*r.x, *r.y}
		seen["coordinate"] = true
	}
	if seen["text"] && seen["key"] {
		return fmt.Errorf("text and key both say which keys are held: want one of them")
	}
	for _, need := range r.fields.needs {
		if !seen[need] {
			return fmt.Errorf("%s is missing", need)
		}
	}
	return r.keys()
}

// keys checks what text means here: keys to press, keys to hold, or text.
func (r *actionReader) keys() error {
	switch r.a.Name {
	case "type":
		return Text{r.a.Text}.check(image.Point{})
	case "key":
		return Keys{Keys: r.a.Text}.check(image.Point{})
	case "hold_key":
		_, err := keysym.ParseChord(r.a.Text)
		return err
	}
	return checkHeld(r.a.Text)
}

func (r *actionReader) member(m jsontree.Member) (err error) {
	alias := r.a.Name == "click_at (alias)" && (m.Name == "x" || m.Name == "y")
	if !alias && !slices.Contains(r.fields.needs, m.Name) && !slices.Contains(r.fields.takes, m.Name) {
		all := append(slices.Clone(r.fields.needs), r.fields.takes...)
		if len(all) == 0 {
			return fmt.Errorf("it has no field %.40q, and no other", m.Name)
		}
		return fmt.Errorf("it has no field %.40q; it has %s", m.Name, strings.Join(all, ", "))
	}
	switch m.Name {
	case "text", "key":
		if m.Value.Kind != jsontree.String {
			return fmt.Errorf("%s is a %v: want a string", m.Name, m.Value.Kind)
		}
		r.a.Text = m.Value.Text
	case "coordinate":
		r.a.Coordinate, err = coordinate(m)
	case "start_coordinate":
		r.a.Start, err = coordinate(m)
	case "region":
		r.a.Region, err = region(m)
	case "x":
		r.x, err = whole(m.Name, m.Value, math.MaxInt16)
	case "y":
		r.y, err = whole(m.Name, m.Value, math.MaxInt16)
	case "scroll_direction":
		directions := map[string]Direction{"up": Up, "down": Down, "left": ToLeft, "right": ToRight}
		r.a.Direction = directions[m.Value.Text]
		if m.Value.Kind != jsontree.String || r.a.Direction == 0 {
			return fmt.Errorf("scroll_direction %.40q: want up, down, left or right", m.Value.Text)
		}
	case "scroll_amount":
		n, err := whole(m.Name, m.Value, MaxNotches)
		if err != nil {
			return err
		}
		r.a.Amount = *n
	case "duration":
		s, err := strconv.ParseFloat(m.Value.Text, 64)
		if m.Value.Kind != jsontree.Number || err != nil || s < 0 || s > MaxHold.Seconds() {
			return fmt.Errorf("duration %.40q: want a number of seconds from 0 to %g", m.Value.Text, MaxHold.Seconds())
		}
		r.a.Duration = time.Duration(s * float64(time.Second))
	}
	return err
}

func coordinate(m jsontree.Member) (*image.Point, error) {
	if m.Value.Kind != jsontree.List || len(m.Value.Items) != 2 {
		return nil, fmt.Errorf("%s: want a list of two whole numbers, [x, y]", m.Name)
	}
	x, err := whole(m.Name, m.Value.Items[0], math.MaxInt16)
	if err != nil {
		return nil, err
	}
	y, err := whole(m.Name, m.Value.Items[1], math.MaxInt16)
	if err != nil {
		return nil, err
	}
	return &image.Point{*x, *y}, nil
}

// region is a part of the picture: its upper left corner, and its lower right one.
func region(m jsontree.Member) (image.Rectangle, error) {
	if m.Value.Kind != jsontree.List || len(m.Value.Items) != 4 {
		return image.Rectangle{}, fmt.Errorf("%s: want a list of four whole numbers, [x1, y1, x2, y2]", m.Name)
	}
	var n [4]int
	for i, item := range m.Value.Items {
		v, err := whole(m.Name, item, math.MaxInt16)
		if err != nil {
			return image.Rectangle{}, err
		}
		n[i] = *v
	}
	if n[0] >= n[2] || n[1] >= n[3] {
		return image.Rectangle{}, fmt.Errorf("%s: x1 has to be less than x2, and y1 less than y2", m.Name)
	}
	return image.Rect(n[0], n[1], n[2], n[3]), nil
}

func whole(name string, n *jsontree.Node, most int) (*int, error) {
	v, err := strconv.Atoi(n.Text)
	if n.Kind != jsontree.Number || err != nil || v < 0 || v > most {
		return nil, fmt.Errorf("%s has %.40q: want a whole number from 0 to %d", name, n.Text, most)
	}
	return &v, nil
}
