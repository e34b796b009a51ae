package clipboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/memfile"
	"carrel/internal/supervisor"
)

// Carry answers the two requests by which a person carries something between their
// desktop's clipboard and the workspace's. That it is a person has been found out.
func (c *Clipboard) Carry(ctx context.Context, call *supervisor.Call) api.Reply {
	req := &call.Request
	reply, err := c.carried(ctx, call)
	if err == nil {
		reply.OK = true
		return reply
	}
	hint := ""
	if errors.Is(err, ErrEmpty) || errors.Is(err, ErrNoType) {
		hint = "copy something there first"
	}
	return api.Reply{Error: api.Refused(api.CodeRequest, req.Op, c.nameOf(), err.Error(), hint)}
}

func (c *Clipboard) nameOf() string {
	c.mu.Lock()
	to := c.told
	c.mu.Unlock()
	m := to.Manifest()
	if m.Name != "" {
		return m.Name
	}
	return m.ID
}

func (c *Clipboard) carried(ctx context.Context, call *supervisor.Call) (api.Reply, error) {
	d := call.Request.Desktop
	switch {
	case call.Request.Op == api.OpClipboardSend && d != nil && d.Copy != nil && len(call.Files) == 1:
		data, err := memfile.Read(call.Files[0], maxBytes)
		if err == nil {
			err = c.Set(ctx, d.Copy.Selection, d.Copy.Type, data)
		}
		if err == nil {
			c.emit(api.Event{Kind: api.EventClipboardSent, Text: fmt.Sprintf("%d bytes of %s", len(data), shownKind(d.Copy.Type))})
		}
		return api.Reply{}, err
	case call.Request.Op == api.OpClipboardTake && d != nil && d.Paste != nil && d.Paste.Targets:
		list, err := c.Own(ctx, d.Paste.Selection)
		if err != nil {
			return api.Reply{}, err
		}
		text, err := json.Marshal(list)
		return api.Reply{Desktop: &api.DesktopReply{Text: string(text)}}, err
	case call.Request.Op == api.OpClipboardTake && d != nil && d.Paste != nil:
		data, err := c.ReadOwn(ctx, d.Paste.Selection, d.Paste.Type)
		if err != nil {
			return api.Reply{}, err
		}
		f, err := memfile.Sealed("clipboard", data)
		if err != nil {
			return api.Reply{}, err
		}
		defer f.Close()
		c.emit(api.Event{Kind: api.EventClipboardTaken, Text: fmt.Sprintf("%d bytes of %s", len(data), shownKind(d.Paste.Type))})
		said := &api.DesktopReply{Type: d.Paste.Type, Bytes: int64(len(data))}
		return api.Reply{Desktop: said}, call.Send(api.Reply{Desktop: said}, f)
	}
	return api.Reply{}, errors.New("what is to be copied comes as one descriptor, and what is to be pasted needs a format")
}

// pictures are the formats of pictures that are carried, best first.
var pictures = []string{api.TypePNG, api.TypeJPEG, "image/webp", "image/gif", "image/bmp"}

// chosen is the format that is carried: a text, or a picture where there is no text or
// where one is wanted.
func chosen(list []string, image bool) (string, error) {
	if !image && offers(list, "") {
		return "", nil
	}
	for _, kind := range pictures {
		if slices.Contains(list, kind) {
			return kind, nil
		}
	}
	if image {
		return "", fmt.Errorf("there is no picture on the clipboard: it is offered as %.300q", list)
	}
	return "", fmt.Errorf("there is neither text nor a picture on the clipboard: it is offered as %.300q", list)
}

func carriedAs(kind string, n int) Carried {
	if kind == "" {
		kind = api.TypeText
	}
	return Carried{kind, n}
}

// Send reads the clipboard of the desktop that getenv's variables lead to, once,
// and puts it on a workspace's: text, or a picture where there is none or where image asks
// for one.
func Send(ctx context.Context, e supervisor.Entry, getenv func(string) string, image bool) (Carried, error) {
	// Who may not is told before the clipboard is touched.
	if _, err := e.Call(ctx, api.Request{Op: api.OpClipboardSend, Check: true}); err != nil {
		return Carried{}, err
	}
	h, err := openHost(ctx, getenv)
	if err != nil {
		return Carried{}, err
	}
	defer h.close()
	list, err := h.types(ctx)
	if errors.Is(err, ErrEmpty) {
		err = errors.New("the clipboard of your desktop is empty")
	}
	var kind string
	if err == nil {
		kind, err = chosen(list, image)
	}
	var data []byte
	if err == nil {
		data, err = h.read(ctx, kind)
	}
	if err != nil {
		return Carried{}, err
	}
	f, err := memfile.Sealed("clipboard", data)
	if err != nil {
		return Carried{}, err
	}
	defer f.Close()
	talk, err := e.Open(ctx, api.Request{Op: api.OpClipboardSend, Desktop: &api.Desktop{Copy: &api.Clip{Type: kind}}}, f)
	if err != nil {
		return Carried{}, err
	}
	defer talk.Close()
	_, _, err = talk.Next()
	return carriedAs(kind, len(data)), err
}

// Take puts what a workspace has on its clipboard on that of the desktop that
// getenv's variables lead to. A process of our own stays behind and hands it out until
// something else is copied there, as desktops want it.
func Take(ctx context.Context, e supervisor.Entry, getenv func(string) string, environ []string, image bool) (Carried, error) {
	r, err := e.Call(ctx, api.Request{Op: api.OpClipboardTake, Desktop: &api.Desktop{Paste: &api.Clip{Targets: true}}})
	if err != nil {
		return Carried{}, err
	}
	var list []string
	if r.Desktop == nil || json.Unmarshal([]byte(r.Desktop.Text), &list) != nil {
		return Carried{}, errors.New("the workspace did not say what it has on its clipboard")
	}
	kind, err := chosen(list, image)
	if err != nil {
		return Carried{}, err
	}
	talk, err := e.Open(ctx, api.Request{Op: api.OpClipboardTake, Desktop: &api.Desktop{Paste: &api.Clip{Type: kind}}})
	if err != nil {
		return Carried{}, err
	}
	defer talk.Close()
	_, files, err := talk.Next()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err == nil && len(files) != 1 {
		err = errors.New("the workspace gave nothing")
	}
	if err != nil {
		return Carried{}, err
	}
	data, err := memfile.Read(files[0], maxBytes)
	if err != nil {
		return Carried{}, err
	}
	return carriedAs(kind, len(data)), startHolder(ctx, files[0], kind, environ)
}

// holderTime is how long it may take until the clipboard is its own.
const holderTime = 20 * time.Second

// startHolder starts the process that stays behind, and waits until it holds.
func startHolder(ctx context.Context, content *os.File, kind string, environ []string) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/proc/self/exe", kind)
	cmd.Args[0] = HolderArg0
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout = environ, "/", content, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return fmt.Errorf("starting what holds the clipboard: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })()
	_ = r.SetReadDeadline(time.Now().Add(holderTime))
	said, err := io.ReadAll(io.LimitReader(r, 4<<10))
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("the desktop did not take it: %w", err)
	}
	if why := strings.TrimSpace(string(said)); why != isHeld {
		return fmt.Errorf("the desktop did not take it: %.500s", why)
	}
	return cmd.Process.Release()
}

// isHeld is what the process says that stays behind.
const isHeld = "held"

// Hold is that process. It owns the clipboard with what its standard input has, in a format,
// until another program copies something. What goes wrong is said on standard output, too.
func Hold(kind string, getenv func(string) string) error {
	said := os.Stdout
	ready := func() {
		fmt.Fprintln(said, isHeld)
		said.Close()
	}
	err := func() error {
		data, err := memfile.Read(os.Stdin, maxBytes)
		if err != nil {
			return err
		}
		h, err := openHost(context.Background(), getenv)
		if err != nil {
			return err
		}
		defer h.close()
		return h.hold(context.Background(), kind, bytes.Clone(data), ready)
	}()
	if err != nil {
		fmt.Fprintln(said, err)
	}
	return err
}
