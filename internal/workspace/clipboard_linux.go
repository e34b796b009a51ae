package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"carrel/internal/api"
	xclient "carrel/internal/desktop"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// clipboard is what the programs of one workspace copy to and paste from. With a
// virtual display it is that one's; without, and for the selection that the X client
// does not serve, it is kept here, as long as the workspace lives. It is never the one
// of the person's desktop: that is read where they have allowed it, see lent.
type clipboard struct {
	desktop *desktop // nil without one
	lent    *lent    // nil where the person's is out of reach

	mu   sync.Mutex
	held map[string]clipped // by selection
	told *supervisor.Server // who hears what crosses; nil for nobody yet
}

// newClipboard makes the one of a workspace.
func (p *Prepared) newClipboard() *clipboard {
	c := &clipboard{desktop: p.desktop}
	if p.lends() {
		c.lent = &lent{emit: c.emit, open: func(ctx context.Context) (hostClipboard, error) { return openHostClipboard(ctx, p.getenv) }}
	}
	return c
}

// lends says whether the person's own can be read inside, after their key for pasting.
func (p *Prepared) lends() bool {
	return p.Policy.Clipboard == policy.ClipboardPaste && (p.getenv("DISPLAY") != "" || p.getenv("WAYLAND_DISPLAY") != "")
}

// answersTo tells who hears of what crosses.
func (c *clipboard) answersTo(server *supervisor.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = server
}

func (c *clipboard) emit(e api.Event) {
	c.mu.Lock()
	to := c.told
	c.mu.Unlock()
	to.Emit(e)
}

// clipped is something that was copied, in one format: "" is text.
type clipped struct {
	kind string
	data []byte
}

// types are the formats in which it is given: a text of some kind is one of any kind.
func (c *clipped) types() []string {
	switch {
	case c.kind == "":
		return inside.TextTypes()
	case strings.HasPrefix(c.kind, "text/"):
		return append([]string{c.kind}, inside.TextTypes()...)
	}
	return []string{c.kind}
}

// Why there is nothing to paste.
var (
	errClipEmpty  = errors.New("nothing was copied")
	errClipNoType = errors.New("what was copied is not there in this format")
)

// maxKind bounds the name of a format, in bytes.
const maxKind = 200

// kindOf gives a format the one name that it has here.
func kindOf(kind string) (string, error) {
	if inside.IsText(kind) {
		return "", nil
	}
	if len(kind) > maxKind || strings.ContainsFunc(kind, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", fmt.Errorf("format %.60q: want a name of 1 to %d letters, as image/png", kind, maxKind)
	}
	return kind, nil
}

// selectionNamed gives the X client's name of a selection; ok is false where that
// serves none.
func (c *clipboard) selectionNamed(name string) (s xclient.Selection, ok bool, err error) {
	switch name {
	case "", inside.Clipboard:
		return xclient.Copied, c.desktop != nil, nil
	case inside.Primary:
		return xclient.Marked, c.desktop != nil, nil
	case inside.Secondary:
		return "", false, nil
	}
	return "", false, fmt.Errorf("there is no selection %.40q: %s, %s or %s", name, inside.Clipboard, inside.Primary, inside.Secondary)
}

// types lists the formats of what was copied.
func (c *clipboard) types(ctx context.Context, selection string) ([]string, error) {
	if list := c.lent.types(ctx, selection); len(list) > 0 {
		return list, nil
	}
	return c.own(ctx, selection)
}

// own lists the formats of what is the workspace's own.
func (c *clipboard) own(ctx context.Context, selection string) ([]string, error) {
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return nil, err
	}
	if shown {
		x, err := c.desktop.clipboard(ctx)
		if err != nil {
			return nil, err
		}
		list, err := x.Targets(ctx, s)
		if errors.Is(err, xclient.ErrEmpty) {
			err = errClipEmpty
		}
		return list, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	what, ok := c.held[selectionKey(selection)]
	if !ok {
		return nil, errClipEmpty
	}
	return what.types(), nil
}

// read gives what was copied, in one format.
func (c *clipboard) read(ctx context.Context, selection, kind string) ([]byte, error) {
	kind, err := kindOf(kind)
	if err != nil {
		return nil, err
	}
	if data, ok, err := c.lent.read(ctx, selection, kind); ok {
		return data, err
	}
	return c.ownIn(ctx, selection, kind)
}

// ownIn gives what is the workspace's own.
func (c *clipboard) ownIn(ctx context.Context, selection, kind string) ([]byte, error) {
	kind, err := kindOf(kind)
	if err != nil {
		return nil, err
	}
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return nil, err
	}
	if shown {
		return c.readDisplay(ctx, s, kind)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	what, ok := c.held[selectionKey(selection)]
	switch {
	case !ok:
		return nil, errClipEmpty
	case !offers(what.types(), kind):
		return nil, errClipNoType
	}
	return what.data, nil // which nobody changes
}

func (c *clipboard) readDisplay(ctx context.Context, s xclient.Selection, kind string) ([]byte, error) {
	x, err := c.desktop.clipboard(ctx)
	if err != nil {
		return nil, err
	}
	return readX(ctx, x, s, kind)
}

// readX reads a selection of a display in a format that it is offered in.
func readX(ctx context.Context, x *xclient.Clipboard, s xclient.Selection, kind string) ([]byte, error) {
	list, err := x.Targets(ctx, s)
	if errors.Is(err, xclient.ErrEmpty) {
		return nil, errClipEmpty
	}
	if err == nil && !offers(list, kind) {
		return nil, errClipNoType
	}
	if kind == "" { // also of an owner that lists nothing
		text, err := x.Text(ctx, s)
		if errors.Is(err, xclient.ErrEmpty) {
			err = errClipEmpty
		}
		return []byte(text), err
	}
	if err != nil {
		return nil, err
	}
	return x.Data(ctx, s, kind)
}

// offers says whether a list of formats has one.
func offers(list []string, kind string) bool {
	if kind == "" {
		return slices.ContainsFunc(list, inside.IsText)
	}
	return slices.Contains(list, kind)
}

// set has something be what was copied. data is the clipboard's from then on.
func (c *clipboard) set(ctx context.Context, selection, kind string, data []byte) error {
	kind, err := kindOf(kind)
	if err != nil {
		return err
	}
	if len(data) > maxClip {
		return fmt.Errorf("more than %d bytes", maxClip)
	}
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return err
	}
	if shown {
		x, err := c.desktop.clipboard(ctx)
		if err != nil {
			return err
		}
		return x.Set(ctx, s, contentAs(kind, data))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key, total := selectionKey(selection), len(data)
	for name, what := range c.held {
		if total += len(what.data); name == key {
			total -= len(what.data)
		}
	}
	if total > maxClip { // the others go: all selections together are bounded
		clear(c.held)
	}
	if c.held == nil {
		c.held = make(map[string]clipped)
	}
	c.held[key] = clipped{kind, data}
	return nil
}

// contentAs gives data in the formats by which programs ask for it.
func contentAs(kind string, data []byte) xclient.Content {
	if kind == "" {
		return xclient.TextContent(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	content := xclient.Content{}
	if strings.HasPrefix(kind, "text/") {
		content = contentAs("", data)
	}
	content[kind] = data
	return content
}

// clear empties a selection.
func (c *clipboard) clear(ctx context.Context, selection string) error {
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return err
	}
	if shown {
		x, err := c.desktop.clipboard(ctx)
		if err != nil {
			return err
		}
		return x.Set(ctx, s, nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, selectionKey(selection))
	return nil
}

func selectionKey(name string) string {
	if name == "" {
		return inside.Clipboard
	}
	return name
}
