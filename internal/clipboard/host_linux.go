package clipboard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"carrel/internal/capped"
	xclient "carrel/internal/desktop"
	"carrel/internal/wlclip"
	"carrel/internal/xhost"
)

// host is the clipboard of the desktop that a person sits at. Formats have one
// name here: "" is text.
type host interface {
	// types lists the formats as the desktop names them.
	types(ctx context.Context) ([]string, error)
	// read gives what was copied in a format that types has.
	read(ctx context.Context, kind string) ([]byte, error)
	// hold puts something there, calls ready, and returns when something else has taken
	// its place.
	hold(ctx context.Context, kind string, data []byte, ready func()) error
	close()
}

// openHost finds the desktop that a person's variables lead to: Wayland where
// there is one, through the compositor's extension or else wl-clipboard's programs, and
// then X11.
func openHost(ctx context.Context, getenv func(string) string) (host, error) {
	var wayland error
	if socket := wlclip.Socket(getenv); socket != "" {
		w, err := wlclip.Open(ctx, socket)
		if err == nil {
			return waylandHost{w}, nil
		}
		if errors.Is(err, wlclip.ErrNoExtension) && isProgram(wlPasteProgram) && isProgram(wlCopyProgram) {
			return programHost{env: []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "WAYLAND_DISPLAY=" + socket, "XDG_RUNTIME_DIR=" + getenv("XDG_RUNTIME_DIR")}}, nil
		}
		wayland = err
	}
	if getenv("DISPLAY") == "" {
		if wayland == nil {
			wayland = errors.New("neither WAYLAND_DISPLAY nor DISPLAY is set")
		}
		return nil, fmt.Errorf("there is no desktop here whose clipboard can be reached: %w", wayland)
	}
	dial, cookie, err := xhost.Named(getenv)
	if err != nil {
		return nil, err
	}
	x, err := xclient.OpenClipboard(ctx, dial, cookie)
	if err != nil {
		return nil, errors.Join(err, wayland)
	}
	return x11Host{x}, nil
}

// isProgram says whether a path is a file that can be started.
func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

// x11Host is the clipboard of an X server.
type x11Host struct{ x *xclient.Clipboard }

func (h x11Host) types(ctx context.Context) ([]string, error) {
	list, err := h.x.Targets(ctx, xclient.Copied)
	if errors.Is(err, xclient.ErrEmpty) {
		err = ErrEmpty
	}
	return list, err
}

func (h x11Host) read(ctx context.Context, kind string) ([]byte, error) {
	return readX(ctx, h.x, xclient.Copied, kind)
}

// ownerEye is how often a holder looks whether it holds something still.
const ownerEye = 500 * time.Millisecond

func (h x11Host) hold(ctx context.Context, kind string, data []byte, ready func()) error {
	if err := h.x.Set(ctx, xclient.Copied, contentAs(kind, data)); err != nil {
		return err
	}
	ready()
	for h.x.Owns(xclient.Copied) {
		select {
		case <-h.x.Done():
			return nil
		case <-ctx.Done():
			return nil
		case <-time.After(ownerEye):
		}
	}
	return nil
}

func (h x11Host) close() { _ = h.x.Close() }

// offeredAs gives the name by which a format is offered.
func offeredAs(ctx context.Context, h host, kind string) (string, error) {
	list, err := h.types(ctx)
	if err != nil {
		return "", err
	}
	name, ok := nameOffered(list, kind)
	if !ok {
		return "", ErrNoType
	}
	return name, nil
}

// waylandHost is the clipboard of a compositor with the extension for it.
type waylandHost struct{ w *wlclip.Clipboard }

func (h waylandHost) types(ctx context.Context) ([]string, error) {
	list, err := h.w.Types(ctx)
	if errors.Is(err, wlclip.ErrEmpty) {
		err = ErrEmpty
	}
	return list, err
}

func (h waylandHost) read(ctx context.Context, kind string) ([]byte, error) {
	name, err := offeredAs(ctx, h, kind)
	if err != nil {
		return nil, err
	}
	return h.w.Data(ctx, name)
}

func (h waylandHost) hold(ctx context.Context, kind string, data []byte, ready func()) error {
	all := make(map[string][]byte)
	for name := range contentAs(kind, data) {
		all[name] = data
	}
	if err := h.w.Set(ctx, all); err != nil {
		return err
	}
	ready()
	_ = h.w.Serve(ctx) // the compositor's end is the end
	return nil
}

func (h waylandHost) close() { h.w.Close() }

// nameOffered gives the desktop's own name of a format.
func nameOffered(list []string, kind string) (string, bool) {
	if kind != "" {
		return kind, offers(list, kind)
	}
	for _, name := range []string{"text/plain;charset=utf-8", "UTF8_STRING", "text/plain", "STRING", "TEXT"} {
		if offers(list, name) {
			return name, true
		}
	}
	return "", false
}

// wl-clipboard's programs, which make a window for a moment where nothing else helps.
const (
	wlPasteProgram = "/usr/bin/wl-paste"
	wlCopyProgram  = "/usr/bin/wl-copy"
	programTime    = 10 * time.Second
)

// programHost asks those.
type programHost struct{ env []string }

func (h programHost) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, wlPasteProgram, args...)
	cmd.Env, cmd.Dir, cmd.WaitDelay = h.env, "/", time.Second
	out, said := &capped.Buffer{Most: maxBytes, Over: cancel}, &capped.Buffer{Most: maxWords}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	switch {
	case out.Full():
		return nil, fmt.Errorf("%s gives more than %d bytes", wlPasteProgram, maxBytes)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s has not ended: %w", wlPasteProgram, ctx.Err())
	case err != nil && (strings.HasPrefix(said.Text(), "No selection") || strings.HasPrefix(said.Text(), "Nothing is copied")):
		return nil, ErrEmpty
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %.200q", wlPasteProgram, err, said.Text())
	}
	return out.Bytes(), nil
}

func (h programHost) types(ctx context.Context) ([]string, error) {
	out, err := h.run(ctx, "--list-types")
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(out)), nil
}

func (h programHost) read(ctx context.Context, kind string) ([]byte, error) {
	name, err := offeredAs(ctx, h, kind)
	if err != nil {
		return nil, err
	}
	return h.run(ctx, "--no-newline", "--type", name)
}

func (h programHost) hold(ctx context.Context, kind string, data []byte, ready func()) error {
	if kind == "" {
		kind = "text/plain;charset=utf-8"
	}
	cmd := exec.CommandContext(ctx, wlCopyProgram, "--foreground", "--type", kind)
	cmd.Env, cmd.Dir, cmd.Stdin = h.env, "/", bytes.NewReader(data)
	if err := cmd.Start(); err != nil {
		return err
	}
	ready()
	return cmd.Wait()
}

func (programHost) close() {}
