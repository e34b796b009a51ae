package clipboard

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
	"carrel/internal/supervisor"
)

// Config says what a clipboard is made of.
type Config struct {
	// Display gives the connection to the workspace's own display, nil where it has none.
	Display func(context.Context) (*xclient.Clipboard, error)
	// Person reads the environment of the person's session. Their clipboard can be read just
	// after their key for pasting; nil where it cannot.
	Person func(name string) string
}

// Clipboard is what the programs of one workspace copy to and paste from. With a
// virtual display it is that one's; without, and for the selection that the X client
// does not serve, it is kept here, as long as the workspace lives. It is never the one
// of the person's desktop: that is read where they have allowed it, see lent.
type Clipboard struct {
	display func(context.Context) (*xclient.Clipboard, error) // nil without one
	lent    *lent                                             // nil where the person's is out of reach

	mu   sync.Mutex
	held map[string]clipped // by selection
	told *supervisor.Server // who hears what crosses; nil for nobody yet
}

// New makes the clipboard of a workspace.
func New(of Config) *Clipboard {
	c := &Clipboard{display: of.Display}
	if of.Person != nil {
		c.lent = &lent{emit: c.emit, open: func(ctx context.Context) (host, error) { return openHost(ctx, of.Person) }}
	}
	return c
}

// Gesture is the person's key for pasting.
func (c *Clipboard) Gesture() { c.lent.gesture() }

// AnswersTo tells who hears of what crosses.
func (c *Clipboard) AnswersTo(server *supervisor.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = server
}

func (c *Clipboard) emit(e api.Event) {
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
	ErrEmpty  = errors.New("nothing was copied")
	ErrNoType = errors.New("what was copied is not there in this format")
)

const (
	maxKind  = 200                  // bytes of the name of a format
	maxBytes = xclient.MaxClipboard // of what is copied
	maxWords = 2 << 10              // of what a program says
)

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
func (c *Clipboard) selectionNamed(name string) (s xclient.Selection, ok bool, err error) {
	switch name {
	case "", inside.Clipboard:
		return xclient.Copied, c.display != nil, nil
	case inside.Primary:
		return xclient.Marked, c.display != nil, nil
	case inside.Secondary:
		return "", false, nil
	}
	return "", false, fmt.Errorf("there is no selection %.40q: %s, %s or %s", name, inside.Clipboard, inside.Primary, inside.Secondary)
}

// Types lists the formats of what was copied in a selection, "" being the clipboard.
func (c *Clipboard) Types(ctx context.Context, selection string) ([]string, error) {
	if list := c.lent.types(ctx, selection); len(list) > 0 {
		return list, nil
	}
	return c.Own(ctx, selection)
}

// Own lists the formats of what is the workspace's own.
func (c *Clipboard) Own(ctx context.Context, selection string) ([]string, error) {
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return nil, err
	}
	if shown {
		x, err := c.display(ctx)
		if err != nil {
			return nil, err
		}
		list, err := x.Targets(ctx, s)
		if errors.Is(err, xclient.ErrEmpty) {
			err = ErrEmpty
		}
		return list, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	what, ok := c.held[selectionKey(selection)]
	if !ok {
		return nil, ErrEmpty
	}
	return what.types(), nil
}

// Read gives what was copied, in one format.
func (c *Clipboard) Read(ctx context.Context, selection, kind string) ([]byte, error) {
	kind, err := kindOf(kind)
	if err != nil {
		return nil, err
	}
	if data, ok, err := c.lent.read(ctx, selection, kind); ok {
		return data, err
	}
	return c.ReadOwn(ctx, selection, kind)
}

// ReadOwn is Read for what is the workspace's own.
func (c *Clipboard) ReadOwn(ctx context.Context, selection, kind string) ([]byte, error) {
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
		return nil, ErrEmpty
	case !offers(what.types(), kind):
		return nil, ErrNoType
	}
	return what.data, nil // which nobody changes
}

func (c *Clipboard) readDisplay(ctx context.Context, s xclient.Selection, kind string) ([]byte, error) {
	x, err := c.display(ctx)
	if err != nil {
		return nil, err
	}
	return readX(ctx, x, s, kind)
}

// readX reads a selection of a display in a format that it is offered in.
func readX(ctx context.Context, x *xclient.Clipboard, s xclient.Selection, kind string) ([]byte, error) {
	list, err := x.Targets(ctx, s)
	if errors.Is(err, xclient.ErrEmpty) {
		return nil, ErrEmpty
	}
	if err == nil && !offers(list, kind) {
		return nil, ErrNoType
	}
	if kind == "" { // also of an owner that lists nothing
		text, err := x.Text(ctx, s)
		if errors.Is(err, xclient.ErrEmpty) {
			err = ErrEmpty
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

// Set has something be what was copied. data is the clipboard's from then on.
func (c *Clipboard) Set(ctx context.Context, selection, kind string, data []byte) error {
	kind, err := kindOf(kind)
	if err != nil {
		return err
	}
	if len(data) > maxBytes {
		return fmt.Errorf("more than %d bytes", maxBytes)
	}
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return err
	}
	if shown {
		x, err := c.display(ctx)
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
	if total > maxBytes { // the others go: all selections together are bounded
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

// Clear empties a selection.
func (c *Clipboard) Clear(ctx context.Context, selection string) error {
	s, shown, err := c.selectionNamed(selection)
	if err != nil {
		return err
	}
	if shown {
		x, err := c.display(ctx)
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
