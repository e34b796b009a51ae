package desktop

import (
	"encoding/binary"
	"time"

	"github.com/jezek/xgb/xproto"
)

// transferKey is where data goes: a property of another program's window.
type transferKey struct {
	window   xproto.Window
	property xproto.Atom
}

// transfer is data on its way in parts.
type transfer struct {
	target xproto.Atom
	rest   []byte
	moved  time.Time // when the last part was taken
}

// serve answers the programs that want what is owned here.
func (c *Clipboard) serve() {
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	for {
		select {
		case <-c.d.gone:
			return
		case <-tick.C:
			for k, t := range c.transfers {
				if time.Since(t.moved) > quiet {
					c.drop(k)
				}
			}
		case e := <-c.queue:
			// What is asked may be anything; an answer that fails is the
			// asking program's problem.
			_ = protect(func() error {
				switch e := e.(type) {
				case xproto.SelectionRequestEvent:
					c.answer(e)
				case xproto.SelectionClearEvent:
					c.lose(e)
				case xproto.PropertyNotifyEvent:
					if e.State == xproto.PropertyDelete {
						c.more(transferKey{e.Window, e.Atom})
					}
				case xproto.DestroyNotifyEvent:
					for k := range c.transfers {
						if k.window == e.Window {
							delete(c.transfers, k)
						}
					}
				}
				return nil
			})
		}
	}
}

func (c *Clipboard) lose(e xproto.SelectionClearEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Not when it was set again in the meantime. Times wrap around.
	if o := c.owned[e.Selection]; o != nil && int32(e.Time-o.since) >= 0 {
		c.owned[e.Selection] = nil
	}
}

func (c *Clipboard) answer(e xproto.SelectionRequestEvent) {
	if e.Property == 0 {
		e.Property = e.Target // as old clients ask
	}
	c.mu.Lock()
	o := c.owned[e.Selection]
	c.mu.Unlock()
	given := xproto.Atom(0)
	if o != nil && e.Owner == c.window {
		ok := false
		if e.Target == c.atom["MULTIPLE"] {
			ok = c.multiple(o, e.Requestor, e.Property)
		} else {
			ok = c.put(o, e.Requestor, e.Property, e.Target)
		}
		if ok {
			given = e.Property
		}
	}
	notify := xproto.SelectionNotifyEvent{Time: e.Time, Requestor: e.Requestor, Selection: e.Selection, Target: e.Target, Property: given}
	xproto.SendEvent(c.d.x, false, e.Requestor, 0, string(notify.Bytes()))
}

// multiple answers several requests in one: a property has pairs of target and
// property, and those that fail are marked in it.
func (c *Clipboard) multiple(o *offer, w xproto.Window, name xproto.Atom) bool {
	p, err := take(c.d.askProperty(w, name, 8*maxTargets))
	pairs := p.numbers()
	if err != nil || len(pairs) < 2 || len(pairs)%2 != 0 {
		return false
	}
	for i := 0; i < len(pairs); i += 2 {
		target, property := xproto.Atom(pairs[i]), xproto.Atom(pairs[i+1])
		if target == c.atom["MULTIPLE"] || !c.put(o, w, property, target) {
			pairs[i+1] = 0
		}
	}
	c.write32(w, name, c.atom["ATOM_PAIR"], pairs...)
	return true
}

// put writes what is asked into a property of the program that asks. It says
// whether there is such data.
func (c *Clipboard) put(o *offer, w xproto.Window, name, target xproto.Atom) bool {
	if name == 0 {
		return false
	}
	switch target {
	case c.atom["TARGETS"]:
		list := []uint32{uint32(c.atom["TARGETS"]), uint32(c.atom["TIMESTAMP"]), uint32(c.atom["MULTIPLE"])}
		for t := range o.data {
			list = append(list, uint32(t))
		}
		c.write32(w, name, xproto.AtomAtom, list...)
		return true
	case c.atom["TIMESTAMP"]:
		c.write32(w, name, xproto.AtomInteger, uint32(o.since))
		return true
	}
	data, ok := o.data[target]
	if !ok {
		return false
	}
	if len(data) <= maxPart {
		c.write(w, name, target, data)
		return true
	}
	k := transferKey{w, name}
	if c.transfers[k] == nil && len(c.transfers) >= maxTransfers {
		return false
	}
	c.transfers[k] = &transfer{target, data, time.Now()}
	c.watch(w, xproto.EventMaskPropertyChange|xproto.EventMaskStructureNotify)
	c.write32(w, name, c.atom["INCR"], uint32(len(data)))
	return true
}

// more writes the next part, as the last one was taken. After all parts comes
// an empty one.
func (c *Clipboard) more(k transferKey) {
	t := c.transfers[k]
	if t == nil {
		return
	}
	n := min(len(t.rest), maxPart)
	c.write(k.window, k.property, t.target, t.rest[:n])
	t.rest, t.moved = t.rest[n:], time.Now()
	if n == 0 {
		c.drop(k)
	}
}

func (c *Clipboard) drop(k transferKey) {
	delete(c.transfers, k)
	for other := range c.transfers {
		if other.window == k.window {
			return
		}
	}
	c.watch(k.window, 0)
}

// watch selects events of a window. A reading of our own has its window too,
// and keeps what it needs.
func (c *Clipboard) watch(w xproto.Window, mask uint32) {
	if uint32(w)&^c.d.setup.ResourceIdMask != c.d.setup.ResourceIdBase {
		xproto.ChangeWindowAttributes(c.d.x, w, xproto.CwEventMask, []uint32{mask})
	}
}

func (c *Clipboard) write(w xproto.Window, name, kind xproto.Atom, data []byte) {
	xproto.ChangeProperty(c.d.x, xproto.PropModeReplace, w, name, kind, 8, uint32(len(data)), data)
}

func (c *Clipboard) write32(w xproto.Window, name, kind xproto.Atom, items ...uint32) {
	var b []byte
	for _, v := range items {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	xproto.ChangeProperty(c.d.x, xproto.PropModeReplace, w, name, kind, 32, uint32(len(items)), b)
}
