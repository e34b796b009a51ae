package desktop

import (
	"fmt"

	"carrel/internal/desktop/wire"

	"github.com/jezek/xgb/composite"
	"github.com/jezek/xgb/damage"
	"github.com/jezek/xgb/randr"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
)

// learn asks the server for all extensions at once.
func (d *display) learn() error {
	asked := make([]xproto.QueryExtensionCookie, len(wire.Extensions))
	for i, e := range wire.Extensions {
		asked[i] = xproto.QueryExtension(d.x, uint16(len(e.Name)), e.Name)
	}
	for i, e := range wire.Extensions {
		r, err := asked[i].Reply()
		if err != nil {
			return fmt.Errorf("asking for the extension %s: %w", e.Name, err)
		}
		if !r.Present {
			continue
		}
		d.wire.Number(e, r.MajorOpcode, r.FirstEvent, r.FirstError)
		d.x.ExtLock.Lock()
		d.x.Extensions[e.Name] = r.MajorOpcode
		d.x.ExtLock.Unlock()
	}
	return d.introduce()
}

// introduce says which versions are spoken, where an extension serves only who
// has said so.
func (d *display) introduce() error {
	var wait []func() error
	if _, err := d.opcode("XFIXES"); err == nil {
		c := xfixes.QueryVersion(d.x, 5, 0)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("DAMAGE"); err == nil {
		c := damage.QueryVersion(d.x, 1, 1)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("Composite"); err == nil {
		c := composite.QueryVersion(d.x, 0, 4)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	if _, err := d.opcode("RANDR"); err == nil {
		c := randr.QueryVersion(d.x, 1, 3)
		wait = append(wait, func() error { _, err := c.Reply(); return err })
	}
	for _, f := range wait {
		if err := f(); err != nil {
			return fmt.Errorf("agreeing on the version of an extension: %w", err)
		}
	}
	return nil
}

// opcode is the number of an extension's requests, and an error that names the
// extension where the server does not have it: the library would panic.
func (d *display) opcode(name string) (byte, error) {
	d.x.ExtLock.RLock()
	defer d.x.ExtLock.RUnlock()
	if op, ok := d.x.Extensions[name]; ok {
		return op, nil
	}
	return 0, fmt.Errorf("this X server does not have the extension %s", name)
}
