package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/api"
	"carrel/internal/memfile"
	"carrel/internal/supervisor"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// desktop sends a request about the desktop. What comes beside the answer is read as a
// whole.
func (c *call) desktop(ctx context.Context, e supervisor.Entry, op string, d *api.Desktop, files ...*os.File) (*api.DesktopReply, []byte, error) {
	conv, err := e.Open(ctx, (api.Request{Op: op, Desktop: d}), files...)
	if err != nil {
		return nil, nil, err
	}
	defer conv.Close()
	var said *api.DesktopReply
	var data []byte
	for {
		r, got, err := conv.Next()
		if err == nil && r.Desktop != nil {
			said = r.Desktop
			if len(got) > 0 && said.Bytes > 0 {
				if said.Bytes > maxBeside {
					err = fmt.Errorf("%d bytes came, at most %d are taken", said.Bytes, maxBeside)
				} else {
					data = make([]byte, said.Bytes)
					_, err = io.ReadFull(got[0], data)
				}
			}
		}
		for _, f := range got {
			f.Close()
		}
		if err != nil {
			return said, nil, err
		}
		if !r.More {
			if said == nil {
				return nil, nil, errors.New("the workspace gave no answer")
			}
			return said, data, nil
		}
	}
}

// maxBeside bounds what comes with an answer: pictures go to the client in base64, and
// a line of the protocol has 16 MiB.
const maxBeside = 11 << 20

type shotIn struct {
	Named
	Window string  `json:"window,omitempty" jsonschema:"id of a window; the screen by default"`
	Area   *[4]int `json:"area,omitempty" jsonschema:"x, y, width, height in pixels"`
	Max    *[2]int `json:"fit,omitempty" jsonschema:"shrink it until it fits: width, height; 1280, 800 by default"`
	Format string  `json:"format,omitempty" jsonschema:"png or jpeg"`
	Cursor bool    `json:"cursor,omitempty" jsonschema:"with the pointer"`
	Since  string  `json:"since,omitempty" jsonschema:"token of a picture: none comes where the pixels are the same"`
}

// pictureOut is told beside a picture.
type pictureOut struct {
	Picture *api.Picture `json:"picture,omitempty"`
	Screen  *[2]int      `json:"screen,omitempty"`
	Type    string       `json:"type,omitempty"`

	data []byte
}

func (p pictureOut) content() []sdk.Content {
	var list []sdk.Content
	if len(p.data) > 0 {
		list = append(list, &sdk.ImageContent{Data: p.data, MIMEType: p.Type})
	}
	if text, err := plainJSON(p); err == nil {
		list = append(list, textOf(string(text))...)
	}
	return list
}

func (in *shotIn) shot() *api.Shot {
	s := &api.Shot{Window: in.Window, Area: in.Area, Cursor: in.Cursor, Format: in.Format, Since: in.Since, MaxWidth: 1280, MaxHeight: 800}
	if in.Max != nil {
		s.MaxWidth, s.MaxHeight = in.Max[0], in.Max[1]
	}
	return s
}

func takeScreenshot(ctx context.Context, c *call, in shotIn) (pictureOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return pictureOut{}, err
	}
	said, data, err := c.desktop(ctx, e, api.OpDesktopSee, &api.Desktop{Shot: in.shot()})
	if err != nil {
		return pictureOut{}, err
	}
	return pictureOut{Picture: said.Picture, Type: said.Type, data: data}, nil
}

type observeIn struct {
	Named
	Screenshot bool   `json:"screenshot,omitempty" jsonschema:"with a picture of the screen"`
	Events     bool   `json:"events,omitempty" jsonschema:"with the newest events"`
	Since      uint64 `json:"since,omitempty" jsonschema:"events after this number"`
	Tail       int    `json:"tail,omitempty" jsonschema:"at most so many events"`
	All        bool   `json:"all,omitempty" jsonschema:"menus, tooltips and hidden windows too"`
}

type observeOut struct {
	Size    *[2]int      `json:"size,omitempty"`
	Pointer *[2]int      `json:"pointer,omitempty"`
	Windows []api.Window `json:"windows"`
	Active  *api.Window  `json:"active_window,omitempty"`
	Control *api.Control `json:"control,omitempty"`
	Events  *eventsOut   `json:"events,omitempty"`
	Picture *api.Picture `json:"picture,omitempty"`

	picture pictureOut
}

func (o observeOut) content() []sdk.Content {
	text, err := fit(o)
	if err != nil {
		text = json.RawMessage(err.Error())
	}
	list := textOf(string(text))
	if len(o.picture.data) > 0 {
		list = append(list, &sdk.ImageContent{Data: o.picture.data, MIMEType: o.picture.Type})
	}
	return list
}

func observe(ctx context.Context, c *call, in observeIn) (observeOut, error) {
	out := observeOut{Windows: []api.Window{}}
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return out, err
	}
	if r, err := e.Call(ctx, api.Request{Op: api.OpStatus}); err == nil {
		out.Control = r.Status.Control
	}
	if out.Windows, err = c.windows(ctx, e, &api.Windows{All: in.All}); err != nil {
		return out, err
	}
	for i := range out.Windows {
		if out.Windows[i].Active {
			out.Active = &out.Windows[i]
		}
	}
	for _, ask := range []*api.Desktop{{Size: true}, {Pointer: true}} {
		said, _, err := c.desktop(ctx, e, api.OpDesktopSee, ask)
		if err != nil {
			return out, err
		}
		if ask.Size {
			out.Size = said.Size
		} else {
			out.Pointer = said.Pointer
		}
	}
	if in.Events {
		events, err := readEvents(ctx, c, eventsIn{Named: in.Named, Since: in.Since, Tail: in.Tail})
		if err != nil {
			return out, err
		}
		out.Events = &events
	}
	if in.Screenshot {
		out.picture, err = takeScreenshot(ctx, c, shotIn{Named: in.Named})
		out.Picture = out.picture.Picture
	}
	return out, err
}

// windows lists windows. Where it waits for one, one that does not come is an error.
func (c *call) windows(ctx context.Context, e supervisor.Entry, w *api.Windows) ([]api.Window, error) {
	list := []api.Window{}
	_, data, err := c.desktop(ctx, e, api.OpDesktopSee, &api.Desktop{Windows: w})
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func waitWindow(ctx context.Context, c *call, e supervisor.Entry, w *api.Windows) (*api.Window, bool, error) {
	if w.Millis <= 0 {
		w.Millis = int(usualWait.Milliseconds())
	}
	list, err := c.windows(ctx, e, w)
	var d *api.Denial
	if errors.As(err, &d) && d.Code == api.CodeTimeout || err == nil && len(list) == 0 {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	return &list[0], false, nil
}

type windowsIn struct {
	Named
	Window  string `json:"window,omitempty" jsonschema:"the one with this id"`
	Title   string `json:"title,omitempty" jsonschema:"regular expression"`
	Class   string `json:"class,omitempty" jsonschema:"regular expression"`
	App     string `json:"app,omitempty" jsonschema:"of this app, by id or name"`
	PID     int    `json:"pid,omitempty" jsonschema:"of this process, as it counts itself"`
	All     bool   `json:"all,omitempty" jsonschema:"menus, tooltips and hidden ones too"`
	Wait    bool   `json:"wait,omitempty" jsonschema:"until there is one"`
	Gone    bool   `json:"gone,omitempty" jsonschema:"wait until there is none"`
	Timeout int    `json:"timeout_ms,omitempty" jsonschema:"of the waiting; 30000 by default"`
}

type windowsOut struct {
	Windows []api.Window `json:"windows"`
}

func listWindows(ctx context.Context, c *call, in windowsIn) (windowsOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return windowsOut{Windows: []api.Window{}}, err
	}
	list, err := c.windows(ctx, e, &api.Windows{Window: in.Window, Title: in.Title, Class: in.Class, App: in.App, PID: in.PID, All: in.All, Wait: in.Wait, Gone: in.Gone, Millis: in.Timeout})
	return windowsOut{list}, err
}

type windowIn struct {
	Named
	Window string  `json:"window" jsonschema:"its id"`
	Do     string  `json:"do" jsonschema:"focus, raise, move, resize, minimise, show or close"`
	To     *[2]int `json:"to,omitempty" jsonschema:"move: x, y; resize: width, height"`
	DryRun bool    `json:"dry_run,omitempty" jsonschema:"only look that there is such a window"`
}

func changeWindow(ctx context.Context, c *call, in windowIn) (doneOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return doneOut{}, err
	}
	if in.DryRun {
		list, err := c.windows(ctx, e, &api.Windows{Window: in.Window})
		return doneOut{Text: fmt.Sprintf("%d windows would be meant", len(list))}, err
	}
	w := &api.WindowChange{Window: in.Window, Do: in.Do}
	if in.To != nil {
		w.To = *in.To
	}
	said, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Window: w})
	return acted(said, err)
}

func acted(said *api.DesktopReply, err error) (doneOut, error) {
	if err != nil {
		return doneOut{}, err
	}
	return doneOut{Done: true, Text: said.Human}, nil
}

type inputIn struct {
	Named
	Steps []api.DesktopInput `json:"steps" jsonschema:"each with do: move, click, press, release, drag, scroll, key, type or pause, and what that takes"`
}

func doInput(ctx context.Context, c *call, in inputIn) (doneOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return doneOut{}, err
	}
	said, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Steps: in.Steps})
	return acted(said, err)
}

type computerIn struct {
	Named
	Action json.RawMessage `json:"action"`
	computerFields
	Version string  `json:"version,omitempty" jsonschema:"of the tool; the latest by default"`
	Max     *[2]int `json:"fit,omitempty" jsonschema:"size of the pictures in whose pixels coordinates count"`
}

// computerFields are what actions of the tool have.
type computerFields struct {
	Coordinate *[2]int  `json:"coordinate,omitempty" jsonschema:"x, y"`
	Start      *[2]int  `json:"start_coordinate,omitempty" jsonschema:"left_click_drag: x, y"`
	Text       *string  `json:"text,omitempty" jsonschema:"type: the text; key and hold_key: the keys; else keys that are held"`
	Key        *string  `json:"key,omitempty" jsonschema:"keys that are held"`
	Direction  string   `json:"scroll_direction,omitempty"`
	Amount     *int     `json:"scroll_amount,omitempty"`
	Duration   *float64 `json:"duration,omitempty" jsonschema:"hold_key and wait: seconds"`
	Region     *[4]int  `json:"region,omitempty" jsonschema:"zoom: x1, y1, x2, y2"`
	X          *int     `json:"x,omitempty" jsonschema:"click_at"`
	Y          *int     `json:"y,omitempty"`
}

// input is what the tool takes: the fields beside the action, or all in an object that
// stands in its place.
func (in *computerIn) input() (json.RawMessage, error) {
	if bytes.HasPrefix(bytes.TrimSpace(in.Action), []byte("{")) {
		if in.computerFields != (computerFields{}) {
			return nil, errors.New("action is an object with all that belongs to it, or a word with the rest beside it, not both")
		}
		return in.Action, nil
	}
	return json.Marshal(struct {
		Action json.RawMessage `json:"action"`
		computerFields
	}{in.Action, in.computerFields})
}

type computerOut struct {
	Text    string       `json:"text,omitempty"`
	Pointer *[2]int      `json:"pointer,omitempty"`
	Picture *api.Picture `json:"picture,omitempty"`

	picture pictureOut
}

func (o computerOut) content() []sdk.Content {
	if len(o.picture.data) > 0 {
		return o.picture.content()
	}
	text, _ := plainJSON(o)
	return textOf(string(text))
}

func useComputer(ctx context.Context, c *call, in computerIn) (computerOut, error) {
	input, err := in.input()
	if err != nil {
		return computerOut{}, c.tool.badArguments("action", err.Error())
	}
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return computerOut{}, err
	}
	a := &api.Computer{Version: in.Version, Input: input}
	if in.Max != nil {
		a.Width, a.Height = in.Max[0], in.Max[1]
	}
	said, data, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Action: a})
	if err != nil {
		return computerOut{}, err
	}
	out := computerOut{Text: said.Text, Pointer: said.Pointer, Picture: said.Picture}
	out.picture = pictureOut{Picture: said.Picture, Type: said.Type, data: data}
	return out, nil
}

type clipIn struct {
	Named
	Selection string `json:"selection,omitempty" jsonschema:"clipboard or primary"`
	Type      string `json:"type,omitempty" jsonschema:"image/png for a picture; text by default"`
}

type clipOut struct {
	Text string `json:"-"`
	Type string `json:"type"`
	Size int    `json:"bytes"`

	data []byte
}

func (o clipOut) content() []sdk.Content {
	if o.Type == api.TypePNG || o.Type == api.TypeJPEG {
		return []sdk.Content{&sdk.ImageContent{Data: o.data, MIMEType: o.Type}}
	}
	return cutText(o.Text, "have a program inside paste it into a file")
}

// cutText is a text within what an answer takes, with how to get the rest.
func cutText(text, rest string) []sdk.Content {
	text, left := clip(text, mostText)
	if left > 0 {
		text += fmt.Sprintf("\n[truncated: %d bytes more; %s]", left, rest)
	}
	return textOf(text)
}

func getClipboard(ctx context.Context, c *call, in clipIn) (clipOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return clipOut{}, err
	}
	said, data, err := c.desktop(ctx, e, api.OpDesktopSee, &api.Desktop{Paste: &api.Clip{Selection: in.Selection, Type: in.Type}})
	if err != nil {
		return clipOut{}, err
	}
	out := clipOut{Type: said.Type, Size: len(data), data: data}
	if said.Type == api.TypeText {
		out.Text = string(data)
	}
	return out, nil
}

type copyIn struct {
	Named
	Selection string `json:"selection,omitempty" jsonschema:"clipboard or primary"`
	Text      string `json:"text" jsonschema:"what is copied"`
}

func setClipboard(ctx context.Context, c *call, in copyIn) (doneOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return doneOut{}, err
	}
	f, err := memfile.Sealed("content", []byte(in.Text))
	if err != nil {
		return doneOut{}, err
	}
	defer f.Close()
	said, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Copy: &api.Clip{Selection: in.Selection}}, f)
	return acted(said, err)
}

type treeIn struct {
	Named
	Role    string   `json:"role,omitempty" jsonschema:"only elements with this role"`
	Text    string   `json:"text,omitempty" jsonschema:"whose text matches this regular expression"`
	Title   string   `json:"element_name,omitempty" jsonschema:"whose name matches this regular expression"`
	App     string   `json:"app,omitempty" jsonschema:"of the applications whose name matches this"`
	States  []string `json:"states,omitempty" jsonschema:"that have these states"`
	Depth   int      `json:"depth,omitempty" jsonschema:"how deep"`
	Wait    bool     `json:"wait,omitempty" jsonschema:"until there is one"`
	Timeout int      `json:"timeout_ms,omitempty" jsonschema:"of the waiting"`
}

type treeOut struct {
	Text string `json:"-"`
}

func (o treeOut) content() []sdk.Content {
	return cutText(o.Text, "role, text, element_name, app and depth narrow it")
}

func readTree(ctx context.Context, c *call, in treeIn) (treeOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return treeOut{}, err
	}
	_, data, err := c.desktop(ctx, e, api.OpDesktopSee, &api.Desktop{Tree: &api.Tree{Role: in.Role, Name: in.Title, Text: in.Text, App: in.App, States: in.States, Depth: in.Depth, Lines: true, Wait: in.Wait, Millis: in.Timeout}})
	return treeOut{string(data)}, err
}

type elementIn struct {
	Named
	Ref    string   `json:"ref" jsonschema:"of an element, as a11y_tree has it"`
	Do     string   `json:"do" jsonschema:"invoke, set, focus or scroll"`
	Action string   `json:"action,omitempty" jsonschema:"invoke: which; the first by default"`
	Text   *string  `json:"text,omitempty" jsonschema:"set: its new text"`
	Value  *float64 `json:"value,omitempty" jsonschema:"set: its new value"`
}

func doElement(ctx context.Context, c *call, in elementIn) (doneOut, error) {
	e, err := c.desk(ctx, in.Name)
	if err != nil {
		return doneOut{}, err
	}
	said, _, err := c.desktop(ctx, e, api.OpDesktopDo, &api.Desktop{Element: &api.Element{Ref: in.Ref, Do: in.Do, Action: in.Action, Text: in.Text, Value: in.Value}})
	return acted(said, err)
}
