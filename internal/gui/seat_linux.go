package gui

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/clipboard"
	xclient "carrel/internal/desktop"
	"carrel/internal/inside"
	"carrel/internal/memfile"
	"carrel/internal/supervisor"
)

// Bounds on requests to a desktop.
const (
	maxDesktopWait = 10 * time.Minute
	usualWait      = 30 * time.Second
)

// keysSeen is what a person has to know who acts there.
const keysSeen = "what is typed on this desktop can be seen by the programs of the workspace"

// document is what a request gives besides a few words.
type document struct {
	kind string
	data []byte
	file *os.File // where they are already, instead
}

// sealed gives it as a file that nobody can change any more.
func (d document) sealed() (*os.File, error) {
	if d.file != nil {
		return d.file, nil
	}
	return memfile.Sealed("answer", d.data)
}

// Seat is where requests to the desktop of a workspace arrive.
type Seat struct {
	Desktop   *Desktop // nil in a workspace without one
	Clipboard *clipboard.Clipboard
	Name      string                           // of the workspace
	Server    *supervisor.Server               // hears of what is done
	Label     func(app string) (uint64, error) // the label of the connections of an app
	Apps      func() map[uint64]string         // the ids of the apps that run, by their labels
}

// Do carries out a request to the desktop. Whether the caller may act has been
// decided by the operation: a request to look does nothing else.
func (d *Seat) Do(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	req := c.Request.Desktop
	x := d.Desktop
	if x == nil {
		return api.Reply{}, api.Refused(api.CodeNoDesktop, c.Request.Op, d.Name, "this workspace has no virtual display", "--display virtual, of `carrel start` and `carrel run`, gives it one")
	}
	if req == nil {
		return api.Reply{}, api.Refused(api.CodeRequest, c.Request.Op, d.Name, "nothing was asked for", "")
	}
	var said *api.DesktopReply
	var doc document
	var err error
	if c.Request.Op == api.OpDesktopSee {
		said, doc, err = d.see(ctx, x, req, c)
	} else {
		acting, done := x.acting(ctx)
		if why := c.Blocked(); why != nil { // it has changed meanwhile
			done()
			return api.Reply{}, why
		}
		said, doc, err = d.act(acting, x, req, c.Files)
		if err != nil && acting.Err() != nil && ctx.Err() == nil {
			err = api.Refused(api.CodeControl, c.Request.Op, d.Name, "it was ended, as the control of the workspace changed meanwhile", "")
		}
		done()
		if said != nil && d.Server.Control().Mode == api.ControlTakeover {
			said.Human = keysSeen
		}
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = api.Refused(api.CodeTimeout, c.Request.Op, d.Name, err.Error(), "")
	}
	if err != nil {
		return api.Reply{}, err
	}
	if doc.kind == "" {
		return api.Reply{Desktop: said}, nil
	}
	f, err := doc.sealed()
	if err != nil {
		return api.Reply{}, err
	}
	defer f.Close()
	if said.Bytes, err = f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return api.Reply{}, err
	}
	said.Type = doc.kind
	return api.Reply{}, c.Send(api.Reply{Desktop: said}, f)
}

// see looks, reads or waits.
func (d *Seat) see(ctx context.Context, x *Desktop, req *api.Desktop, call *supervisor.Call) (*api.DesktopReply, document, error) {
	said := &api.DesktopReply{}
	if req.Paste != nil {
		doc, err := d.paste(ctx, req.Paste)
		return said, doc, err
	}
	if req.Tree != nil {
		doc, err := d.tree(ctx, req.Tree)
		return said, doc, err
	}
	if e := req.Element; e != nil && e.Do == api.ElementText {
		text, err := d.element(ctx, e)
		return said, document{kind: api.TypeText, data: []byte(text)}, err
	}
	c, done, err := x.client(ctx)
	if err != nil {
		return nil, document{}, err
	}
	defer done()
	switch {
	case req.Shot != nil:
		d.Server.Emit(api.Event{Kind: api.EventScreenshot, Text: req.Shot.Window})
		return shoot(ctx, c, req.Shot)
	case req.Windows != nil:
		return d.windows(ctx, x, c, req.Windows)
	case req.ScreenWait != nil:
		return said, document{}, still(ctx, c, req.ScreenWait)
	case req.Record != nil:
		return said, document{}, x.record(ctx, c, req.Record, call)
	case req.Pointer:
		p, err := c.Pointer(ctx)
		said.Pointer = &[2]int{p.X, p.Y}
		return said, document{}, err
	case req.PictureSize != nil:
		p, err := computer(c, *req.PictureSize).PictureSize(ctx)
		said.Size = &[2]int{p.X, p.Y}
		return said, document{}, err
	case req.Size:
		w, h, err := c.Size(ctx)
		said.Size = &[2]int{w, h}
		return said, document{}, err
	}
	return nil, document{}, errors.New("nothing to look at was asked for")
}

func shoot(ctx context.Context, c *xclient.Desktop, s *api.Shot) (*api.DesktopReply, document, error) {
	window, err := windowID(s.Window)
	if err != nil {
		return nil, document{}, err
	}
	if s.Window == "" {
		window = 0
	}
	want := xclient.Shot{Window: window, MaxWidth: s.MaxWidth, MaxHeight: s.MaxHeight, Cursor: s.Cursor, Format: xclient.Format(s.Format), Quality: s.Quality, Since: s.Since}
	if s.Area != nil {
		if want.Area, err = rectangle(*s.Area); err != nil {
			return nil, document{}, err
		}
	}
	var file *os.File
	want.To = func(data []byte) (err error) {
		file, err = memfile.Sealed("answer", data)
		return err
	}
	p, err := c.Screenshot(ctx, want)
	if err != nil {
		if file != nil {
			file.Close()
		}
		return nil, document{}, err
	}
	said, doc := pictured(&p)
	doc.file = file
	return said, doc, nil
}

func pictured(p *xclient.Picture) (*api.DesktopReply, document) {
	said := &api.DesktopReply{Picture: &api.Picture{Width: p.Width, Height: p.Height, Area: fromRectangle(p.Area), Token: p.Token, Unchanged: p.Unchanged}}
	if p.Unchanged {
		return said, document{}
	}
	kind := map[xclient.Format]string{xclient.PNG: api.TypePNG, xclient.JPEG: api.TypeJPEG, xclient.Raw: api.TypeRaw}[p.Format]
	return said, document{kind: kind, data: p.Data}
}

// still waits for changes of a part of the screen, or for none.
func still(ctx context.Context, c *xclient.Desktop, s *api.ScreenWait) error {
	var area image.Rectangle
	if s.Area != nil {
		var err error
		if area, err = rectangle(*s.Area); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, waitFor(s.Millis))
	defer cancel()
	if !s.Changes {
		return c.WaitIdle(ctx, area, time.Duration(s.Quiet)*time.Millisecond)
	}
	p, err := c.Screenshot(ctx, xclient.Shot{Area: area, Format: xclient.Raw, MaxWidth: 1, MaxHeight: 1})
	if err == nil {
		_, err = c.WaitPixels(ctx, xclient.Pixels{Area: area, NotToken: p.Token})
	}
	return err
}

// windows lists those that fit, or waits for one.
func (d *Seat) windows(ctx context.Context, x *Desktop, c *xclient.Desktop, q *api.Windows) (*api.DesktopReply, document, error) {
	m := xclient.Match{PID: q.PID, All: q.All}
	var err error
	if q.Window != "" {
		if m.ID, err = windowID(q.Window); err != nil {
			return nil, document{}, err
		}
	}
	if m.Title, err = xclient.Pattern(q.Title); err != nil {
		return nil, document{}, fmt.Errorf("title: %w", err)
	}
	if m.Class, err = xclient.Pattern(q.Class); err != nil {
		return nil, document{}, fmt.Errorf("class: %w", err)
	}
	if q.App != "" {
		if _, err := d.Label(q.App); err != nil && !q.Wait {
			return nil, document{}, err
		}
		m.Also = func(w xclient.Window) bool { // one that is started while somebody waits counts too
			label, err := d.Label(q.App)
			return err == nil && x.labelOf(w.ID) == label
		}
	}
	said := &api.DesktopReply{}
	if q.Wait {
		ctx, cancel := context.WithTimeout(ctx, waitFor(q.Millis))
		defer cancel()
		if q.Gone {
			err = c.WaitGone(ctx, m)
		} else {
			var w xclient.Window
			if w, err = c.Wait(ctx, m); err == nil {
				said.Window = idText(w.ID)
			}
		}
		if err != nil {
			return nil, document{}, err
		}
	}
	list, err := c.Windows(ctx, q.All)
	if err != nil {
		return nil, document{}, err
	}
	apps, out := d.Apps(), []api.Window{}
	for _, w := range list {
		if said.Window == idText(w.ID) || listed(m, w) {
			out = append(out, api.Window{ID: idText(w.ID), Title: w.Title, Class: w.Class, Instance: w.Instance, PID: w.PID, App: apps[x.labelOf(w.ID)], Type: w.Type, Area: fromRectangle(w.Area),
				Active: w.Active, Minimised: w.Minimised, Maximised: w.Maximised, Fullscreen: w.Fullscreen, Hidden: w.Hidden, Urgent: w.Urgent, Modal: w.Modal, Override: w.Override})
		}
	}
	text, err := json.Marshal(out)
	return said, document{kind: api.TypeJSON, data: text}, err
}

// listed says whether a window belongs to a list: a hidden one only where all are asked for.
func listed(m xclient.Match, w xclient.Window) bool {
	w.Hidden = w.Hidden && !m.All
	return m.Fits(w)
}

// act changes something.
func (d *Seat) act(ctx context.Context, x *Desktop, req *api.Desktop, files []*os.File) (*api.DesktopReply, document, error) {
	said := &api.DesktopReply{}
	switch {
	case req.Copy != nil:
		d.Server.Emit(api.Event{Kind: api.EventCopied, Text: req.Copy.Type})
		return said, document{}, d.copy(ctx, req.Copy, files)
	case req.Element != nil:
		d.Server.Emit(api.Event{Kind: api.EventElement, Text: req.Element.Do})
		text, err := d.element(ctx, req.Element)
		said.Text = text
		return said, document{}, err
	}
	c, done, err := x.client(ctx)
	if err != nil {
		return nil, document{}, err
	}
	defer done()
	switch {
	case len(req.Steps) > 0:
		steps, err := stepsOf(req.Steps)
		if err != nil {
			return nil, document{}, err
		}
		d.Server.Emit(api.Event{Kind: api.EventDesktopInput, Text: tellSteps(req.Steps)})
		return said, document{}, c.Input(ctx, steps...)
	case req.Window != nil:
		d.Server.Emit(api.Event{Kind: api.EventWindow, Text: req.Window.Do + " " + req.Window.Window})
		return said, document{}, changeWindow(ctx, c, req.Window)
	case req.Resize != nil:
		return said, document{}, c.SetSize(ctx, req.Resize[0], req.Resize[1])
	case req.Action != nil:
		return d.computerAct(ctx, c, req.Action)
	}
	return nil, document{}, errors.New("nothing to do was asked for")
}

func computer(c *xclient.Desktop, s api.ComputerSize) *xclient.Computer {
	out := c.Computer()
	out.Size = image.Point{X: s.Width, Y: s.Height}
	return out
}

// computerAct does one action of a model.
func (d *Seat) computerAct(ctx context.Context, c *xclient.Desktop, a *api.Computer) (*api.DesktopReply, document, error) {
	action, err := xclient.ParseAction(a.Input, a.Version)
	if err != nil {
		return nil, document{}, err
	}
	d.Server.Emit(api.Event{Kind: api.EventDesktopInput, Text: action.Name})
	r, err := computer(c, a.ComputerSize).Act(ctx, action)
	if err != nil {
		return nil, document{}, err
	}
	said := &api.DesktopReply{}
	var doc document
	if r.Picture != nil {
		said, doc = pictured(r.Picture)
	}
	if said.Text = r.Text; r.Pointer != nil {
		said.Pointer = &[2]int{r.Pointer.X, r.Pointer.Y}
	}
	return said, doc, nil
}

func changeWindow(ctx context.Context, c *xclient.Desktop, w *api.WindowChange) error {
	id, err := windowID(w.Window)
	if err != nil {
		return err
	}
	switch w.Do {
	case api.WindowFocus:
		return c.Focus(ctx, id)
	case api.WindowRaise:
		return c.Raise(ctx, id)
	case api.WindowMove:
		return c.Move(ctx, id, w.To[0], w.To[1])
	case api.WindowResize:
		return c.Resize(ctx, id, w.To[0], w.To[1])
	case api.WindowMinimise:
		return c.Minimise(ctx, id)
	case api.WindowShow:
		return c.Show(ctx, id)
	case api.WindowClose:
		return c.CloseWindow(ctx, id)
	case api.WindowKill:
		return c.Kill(ctx, id)
	}
	return fmt.Errorf("a window cannot be %.40q: focus, raise, move, resize, minimise, show, close or kill", w.Do)
}

// paste gives what was copied on the desktop, never the person's.
func (d *Seat) paste(ctx context.Context, q *api.Clip) (document, error) {
	if q.Targets {
		list, err := d.Clipboard.Own(ctx, q.Selection)
		if err != nil {
			return document{}, err
		}
		text, err := json.Marshal(list)
		return document{kind: api.TypeJSON, data: text}, err
	}
	data, err := d.Clipboard.ReadOwn(ctx, q.Selection, q.Type)
	if inside.IsText(q.Type) {
		return document{kind: api.TypeText, data: data}, err
	}
	return document{kind: q.Type, data: data}, err
}

func (d *Seat) copy(ctx context.Context, q *api.Clip, files []*os.File) error {
	if len(files) != 1 {
		return fmt.Errorf("what is to be copied comes as one descriptor, and %d came", len(files))
	}
	data, err := memfile.Read(files[0], xclient.MaxClipboard)
	if err != nil {
		return err
	}
	return d.Clipboard.Set(ctx, q.Selection, q.Type, data)
}

// Numbers as they are written.

func idText(id xclient.ID) string { return fmt.Sprintf("%#x", uint32(id)) }

func windowID(s string) (xclient.ID, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 0, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%.40q is no window: its id, as `carrel desktop windows` lists it", s)
	}
	return xclient.ID(n), nil
}

// maxPlace bounds coordinates: those of the X protocol have 16 bits.
const maxPlace = 1 << 15

func rectangle(a [4]int) (image.Rectangle, error) {
	for _, n := range a {
		if n < -maxPlace || n > maxPlace {
			return image.Rectangle{}, fmt.Errorf("the area %d is beyond any screen", a)
		}
	}
	if a[2] <= 0 || a[3] <= 0 {
		return image.Rectangle{}, fmt.Errorf("the area %d has no pixels: x, y, width, height", a)
	}
	return image.Rect(a[0], a[1], a[0]+a[2], a[1]+a[3]), nil
}

func fromRectangle(r image.Rectangle) [4]int {
	return [4]int{r.Min.X, r.Min.Y, r.Dx(), r.Dy()}
}

func waitFor(millis int) time.Duration {
	if millis <= 0 {
		return usualWait
	}
	return min(time.Duration(min(millis, 1<<31))*time.Millisecond, maxDesktopWait)
}
