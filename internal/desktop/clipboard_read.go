package desktop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/xproto"
)

// textTargets are the formats in which a text is asked for, best first.
var textTargets = []string{"UTF8_STRING", "text/plain;charset=utf-8", "STRING", "TEXT", "text/plain"}

// Targets lists the formats that a selection's owner offers, as it names them.
// Those that are about the selection itself, as TIMESTAMP, are left out.
func (c *Clipboard) Targets(ctx context.Context, s Selection) ([]string, error) {
	p, err := c.convert(ctx, s, "TARGETS")
	if err != nil {
		return nil, err
	}
	atoms := p.numbers()
	atoms = atoms[:min(len(atoms), maxTargets)]
	var names []string
	err = c.d.do(ctx, "asking for the names of formats", func() error {
		asked := make([]*xgb.Cookie, len(atoms))
		for i, a := range atoms {
			const getAtomName = 17
			asked[i] = c.d.ask([]byte{getAtomName, 0, 2, 0, byte(a), byte(a >> 8), byte(a >> 16), byte(a >> 24)})
		}
		for _, q := range asked {
			b, err := q.Reply()
			if isX(err) {
				continue // an owner may list what is no atom
			}
			if err != nil {
				return err
			}
			n := 32 + int(b[8]) + int(b[9])<<8
			if n > len(b) {
				return fmt.Errorf("a name of %d bytes in a reply of %d", n-32, len(b))
			}
			if name := line(b[32:n]); name != "" && !slices.Contains(aboutItself, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names, err
}

var aboutItself = []string{"TARGETS", "MULTIPLE", "TIMESTAMP", "SAVE_TARGETS", "DELETE", "INSERT_SELECTION", "INSERT_PROPERTY"}

// Text reads a selection as text. It is valid UTF-8: what is not is replaced.
func (c *Clipboard) Text(ctx context.Context, s Selection) (string, error) {
	offered, err := c.Targets(ctx, s)
	if errors.Is(err, ErrEmpty) || ctx.Err() != nil {
		return "", err
	}
	for _, target := range textTargets {
		if err == nil && !slices.Contains(offered, target) {
			continue
		}
		p, e := c.convert(ctx, s, target)
		if e != nil {
			if err == nil || ctx.Err() != nil {
				return "", e
			}
			continue // an owner that lists nothing may still answer to another
		}
		if p.kind == xproto.AtomString {
			return fromLatin1(p.value), nil
		}
		return strings.ToValidUTF8(string(p.value), "\uFFFD"), nil
	}
	if err == nil {
		err = fmt.Errorf("reading %s: it holds no text; it is offered as %.300q", s, offered)
	}
	return "", err
}

// Data reads a selection in one format, as its owner gives it: "image/png".
func (c *Clipboard) Data(ctx context.Context, s Selection, target string) ([]byte, error) {
	if target == "" || len(target) > 200 {
		return nil, fmt.Errorf("format %.60q: want a name of 1 to 200 bytes, as image/png", target)
	}
	p, err := c.convert(ctx, s, target)
	return p.value, err
}

// convert asks a selection's owner for data. What comes is bounded in size and
// time; each reading has a window of its own, so that late answers to another
// one do not get in.
func (c *Clipboard) convert(ctx context.Context, s Selection, target string) (property, error) {
	selection, err := c.selection(s)
	if err != nil {
		return property{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	var w xproto.Window
	events := make(chan xgb.Event, 64)
	err = c.d.do(ctx, "reading "+string(s), func() (err error) {
		if err := c.hasOwner(selection); err != nil {
			return err
		}
		w, err = c.newWindow()
		return err
	})
	if err != nil {
		return property{}, err
	}
	defer xproto.DestroyWindow(c.d.x, w)
	defer c.d.listen(func(e xgb.Event) {
		n, notify := e.(xproto.SelectionNotifyEvent)
		p, changed := e.(xproto.PropertyNotifyEvent)
		if notify && n.Requestor == w || changed && p.Window == w && p.State == xproto.PropertyNewValue {
			select {
			case events <- e:
			default: // each leads to a look at the property, and 64 are waiting
			}
		}
	})()
	err = c.d.do(ctx, "reading "+string(s), func() error {
		a, err := c.d.internAll([]string{target})
		if err != nil {
			return err
		}
		return xproto.ConvertSelectionChecked(c.d.x, w, selection, a[target], c.atom["CARREL_DATA"], 0).Check()
	})
	if err != nil {
		return property{}, err
	}
	r := &reading{c: c}
	defer r.done()
	p, err := r.receive(ctx, w, events)
	if err != nil {
		if e := c.d.do(ctx, "reading "+string(s), func() error { return c.hasOwner(selection) }); errors.Is(e, ErrEmpty) {
			return property{}, e // it went away meanwhile
		}
		return property{}, fmt.Errorf("reading %s as %.60q: %w", s, target, err)
	}
	return p, nil
}

func (c *Clipboard) hasOwner(selection xproto.Atom) error {
	r, err := xproto.GetSelectionOwner(c.d.x, selection).Reply()
	if err == nil && r.Owner == 0 {
		err = ErrEmpty
	}
	return err
}

// reading is what comes of a selection, one time.
type reading struct {
	c    *Clipboard
	came int
}

// room is how much more may come: less than a clipboard where others are read as well.
func (r *reading) room() int {
	return min(MaxClipboard-r.came, maxReadings-int(r.c.reading.Load()))
}

func (r *reading) add(n int) {
	r.came += n
	r.c.reading.Add(int64(n))
}

func (r *reading) done() { r.c.reading.Add(-int64(r.came)) }

// receive waits for the owner's answer.
func (r *reading) receive(ctx context.Context, w xproto.Window, events <-chan xgb.Event) (property, error) {
	for {
		e, err := r.c.next(ctx, events)
		if err != nil {
			return property{}, err
		}
		n, ok := e.(xproto.SelectionNotifyEvent)
		if !ok {
			continue // the data is there; the word that it is comes next
		}
		if n.Property == 0 {
			return property{}, errors.New("the program that owns it does not give it in this format")
		}
		p, err := r.fetch(ctx, w)
		if err != nil || p.kind != r.c.atom["INCR"] {
			return p, err
		}
		return r.receiveParts(ctx, w, events)
	}
}

// receiveParts reads what comes in parts (ICCCM 2.7.2): to have read and
// deleted one is to ask for the next, and an empty one is the end.
func (r *reading) receiveParts(ctx context.Context, w xproto.Window, events <-chan xgb.Event) (property, error) {
	var all property
	for {
		p, err := r.fetch(ctx, w)
		if err != nil {
			return property{}, err
		}
		switch {
		case p.kind == 0: // nothing there yet
			if _, err := r.c.next(ctx, events); err != nil {
				return property{}, err
			}
		case len(p.value) == 0:
			return all, nil
		default:
			all.kind, all.width = p.kind, p.width
			all.value = append(all.value, p.value...)
		}
	}
}

func (c *Clipboard) next(ctx context.Context, events <-chan xgb.Event) (xgb.Event, error) {
	t := time.NewTimer(quiet)
	defer t.Stop()
	select {
	case e := <-events:
		return e, nil
	case <-t.C:
		return nil, fmt.Errorf("the program that owns it has said nothing for %v", quiet)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-c.d.gone:
		return nil, ErrGone
	}
}

// maxPiece is how much of a property is asked for at once, in bytes; a multiple of four,
// as properties are read in words.
const maxPiece = 1 << 20

// fetch reads the property into which the owner writes, and deletes it.
func (r *reading) fetch(ctx context.Context, w xproto.Window) (property, error) {
	var all property
	for {
		p, left, err := r.c.piece(ctx, w, len(all.value))
		if err != nil {
			return all, err
		}
		if len(all.value) == 0 {
			all.kind, all.width = p.kind, p.width
		} else if p.kind != all.kind || p.width != all.width {
			return all, errors.New("it changed while it was read")
		}
		if room := r.room(); len(p.value)+left > room && r.came+len(p.value)+left <= MaxClipboard {
			return all, fmt.Errorf("too much is read from the clipboard at the same time, more than %d bytes", maxReadings)
		} else if len(p.value)+left > room {
			return all, fmt.Errorf("it has more than %d bytes", MaxClipboard)
		}
		r.add(len(p.value))
		all.value = append(all.value, p.value...)
		if left == 0 {
			return all, nil
		}
	}
}

// piece reads a part of that property, from a place on, and says how much is left; with
// the last one it is deleted.
func (c *Clipboard) piece(ctx context.Context, w xproto.Window, from int) (p property, left int, err error) {
	err = c.d.do(ctx, "reading what the owner gave", func() error {
		const getAndDelete = 20
		q := []byte{getAndDelete, 1, 6, 0}
		for _, v := range []uint32{uint32(w), uint32(c.atom["CARREL_DATA"]), xproto.GetPropertyTypeAny, uint32(from / 4), maxPiece / 4} {
			q = append(q, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
		}
		b, err := c.d.ask(q).Reply()
		if err != nil {
			return err
		}
		left = int(le32(b[12:]))
		p, err = readProperty(b)
		return err
	})
	return p, left, err
}
