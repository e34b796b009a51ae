package clipboard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/inside"
)

// How long after a gesture the person's clipboard can be read, and how long after it
// when somebody has begun to: programs ask for the formats first.
const (
	gestureTime = 2 * time.Second
	gestureHold = 5 * time.Second
	// gestureReads bounds what one gesture is good for.
	gestureReads = 16
	// lendTime bounds one reading.
	lendTime = 10 * time.Second
)

// lent is the person's own clipboard, for programs inside, where the policy says
// display.clipboard: paste. It is read at the moment when a program asks, and only just
// after the person has pressed the key for pasting in a terminal of this workspace.
// What is read is not kept. All methods may be called on nil, which lends nothing.
type lent struct {
	open func(context.Context) (host, error)
	emit func(api.Event)

	mu      sync.Mutex
	pressed time.Time
	begun   bool
	reads   int
}

// gesture is the person's key.
func (l *lent) gesture() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pressed, l.begun, l.reads = time.Now(), false, 0
}

// may says whether it can be read now, and counts.
func (l *lent) may(selection string) bool {
	if l == nil || selectionKey(selection) != inside.Clipboard {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	since := time.Since(l.pressed)
	if since > gestureHold || since > gestureTime && !l.begun || l.reads >= gestureReads {
		return false
	}
	l.begun = true
	l.reads++
	return true
}

// types lists the formats, none where there is nothing to lend.
func (l *lent) types(ctx context.Context, selection string) []string {
	if !l.may(selection) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lendTime)
	defer cancel()
	h, err := l.open(ctx)
	if err != nil {
		l.tell("asked for in vain: %v", err)
		return nil
	}
	defer h.close()
	list, err := h.types(ctx)
	if err != nil && !errors.Is(err, ErrEmpty) {
		l.tell("asked for in vain: %v", err)
	}
	return list
}

// read gives it in one format; ok is false where there is nothing to lend.
func (l *lent) read(ctx context.Context, selection, kind string) (data []byte, ok bool, err error) {
	if !l.may(selection) {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lendTime)
	defer cancel()
	h, err := l.open(ctx)
	if err != nil {
		l.tell("asked for in vain: %v", err)
		return nil, false, nil
	}
	defer h.close()
	data, err = h.read(ctx, kind)
	switch {
	case errors.Is(err, ErrEmpty):
		return nil, false, nil
	case err == nil && len(data) > maxBytes:
		data, err = nil, fmt.Errorf("more than %d bytes", maxBytes)
	}
	if err != nil {
		l.tell("asked for in vain: %v", err)
		return nil, true, err
	}
	l.tell("read after the key for pasting: %d bytes of %s", len(data), shownKind(kind))
	return data, true, nil
}

func (l *lent) tell(format string, args ...any) {
	l.emit(api.Event{Kind: api.EventClipboardPasted, Text: "the person's clipboard was " + fmt.Sprintf(format, args...)})
}

func shownKind(kind string) string {
	if kind == "" {
		return "text"
	}
	return fmt.Sprintf("%.60q", kind)
}

// pastings are what terminals send for the keys that paste: Ctrl+V as it is, as kitty's
// protocol and as xterm's modifyOtherKeys have it, and the beginning of a bracketed paste.
var pastings = [][]byte{{0x16}, []byte("\x1b[118;5u"), []byte("\x1b[27;5;118~"), []byte("\x1b[200~")}

// Gestures finds them in what a person types, also where one is split.
type Gestures struct{ tail []byte }

// In says whether some bytes end or hold one.
func (g *Gestures) In(b []byte) bool {
	text := slices.Concat(g.tail, b)
	found := false
	for _, p := range pastings {
		for at := 0; at+len(p) <= len(text); at++ {
			if at+len(p) > len(g.tail) && string(text[at:at+len(p)]) == string(p) {
				found = true
			}
		}
	}
	const longest = len("\x1b[27;5;118~") - 1
	g.tail = slices.Clone(text[max(0, len(text)-longest):])
	return found
}
