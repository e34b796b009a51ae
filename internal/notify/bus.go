package notify

import (
	"context"
	"errors"

	"carrel/internal/dbus"

	wire "github.com/godbus/dbus/v5"
)

// The notification service, as the Desktop Notifications Specification names it.
const (
	serviceName = "org.freedesktop.Notifications"
	servicePath = "/org/freedesktop/Notifications"
)

// bus is the socket of a session bus, as package net names it.
type bus string

// parse takes the first Unix socket of a bus's address.
func parse(address string) (bus, error) {
	at, err := dbus.Socket(address, true)
	return bus(at), err
}

// notify shows one notification that waits for a person.
func (b bus) notify(ctx context.Context, summary, body string) error {
	_, err := b.show(ctx, shown{summary: summary, body: body, urgency: 1, expires: -1})
	return err
}

// shown is what the notification service is told.
type shown struct {
	replaces      uint32 // the service's number of an earlier one
	summary, body string
	urgency       byte
	transient     bool
	expires       int32 // milliseconds; -1: as it likes
}

// show shows one notification and gives the service's number for it.
func (b bus) show(ctx context.Context, n shown) (uint32, error) {
	c, err := dbus.Dial(ctx, string(b))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	owner, err := c.Owner(ctx, serviceName)
	if refused := new(dbus.Refused); errors.As(err, &refused) {
		owner = serviceName // nothing has the name: the bus answers, and its monitors see what was asked
	} else if err != nil {
		return 0, err
	}
	vs, err := c.Ask(ctx, &dbus.Call{To: owner, Path: servicePath, Interface: serviceName, Member: "Notify", Want: "u",
		Args: []any{"carrel", n.replaces, "", n.summary, n.body, []string{}, n.hints(), n.expires}})
	if err != nil {
		return 0, unlessRefused(err)
	}
	id, _ := vs[0].(uint32)
	return id, nil
}

func (n shown) hints() map[string]wire.Variant {
	hints := map[string]wire.Variant{"urgency": wire.MakeVariant(n.urgency)}
	if n.transient {
		hints["transient"] = wire.MakeVariant(true)
	}
	return hints
}

var errNobody = errors.New("the session bus has nobody who shows notifications")

// unlessRefused takes a refusal, of the bus or of the service, for there being no service:
// what it says is not told on.
func unlessRefused(err error) error {
	if r := new(dbus.Refused); errors.As(err, &r) {
		return errNobody
	}
	return err
}
