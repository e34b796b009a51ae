package a11y

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

// Interfaces, services and objects of AT-SPI (the XML files of at-spi2-core).
const (
	busService   = "org.a11y.Bus"
	busObject    = "/org/a11y/bus"
	statusFace   = "org.a11y.Status"
	registryName = "org.a11y.atspi.Registry"
	registryPath = "/org/a11y/atspi/registry"
	propertyFace = "org.freedesktop.DBus.Properties"

	prefix          = "org.a11y.atspi."
	accessibleFace  = prefix + "Accessible"
	actionFace      = prefix + "Action"
	applicationFace = prefix + "Application"
	cacheFace       = prefix + "Cache"
	componentFace   = prefix + "Component"
	editableFace    = prefix + "EditableText"
	textFace        = prefix + "Text"
	valueFace       = prefix + "Value"

	cachePath = "/org/a11y/atspi/cache"
)

// Dialer connects to the Unix socket that has this path inside the walls, or
// refuses a path that is none of the workspace's. The path comes from a program
// inside.
type Dialer func(ctx context.Context, path string) (net.Conn, error)

// Bus is the accessibility bus of one desktop. Its methods may be used from many
// goroutines at once.
type Bus struct {
	*conn
	registry string // unique name of the registry
	address  string

	listening sync.Mutex
	listeners map[chan struct{}]bool // who waits for events
}

// openTime bounds the way to the accessibility bus: any program can have the names
// that are asked, or be the bus, and never answer. Usually it takes 100 ms.
const openTime = 15 * time.Second

// Open asks the session bus at the other end of session for the accessibility
// bus, starting it if need be, says that a screen reader is there, which makes
// programs build their trees, and connects to it through dial. It owns session and
// closes it. ctx bounds opening only, which takes 15 seconds at most.
func Open(ctx context.Context, session net.Conn, dial Dialer) (*Bus, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	address, err := findBus(ctx, session)
	if err != nil {
		return nil, err
	}
	path, err := unixPath(address)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connecting to the accessibility bus at %q: %w", path, err)
	}
	b := &Bus{address: address, listeners: make(map[chan struct{}]bool)}
	if b.conn, err = connect(ctx, c); err != nil {
		return nil, fmt.Errorf("the accessibility bus at %q: %w", path, err)
	}
	b.events.Store(b.event)
	if b.registry, err = b.owner(ctx, registryName); err != nil {
		b.close()
		return nil, fmt.Errorf("starting the accessibility registry (Debian's package at-spi2-core has it): %w", err)
	}
	return b, nil
}

// Address is the accessibility bus as programs inside reach it. It has to be the
// text of the property [RootProperty] of the display's root window.
func (b *Bus) Address() string { return b.address }

// RootProperty is the property (of type STRING) in which a display names its
// accessibility bus. Qt 5 needs it: where the session bus has the accessibility bus
// already, it registers before it is connected, fails, and never tries again. Others
// save a question by it. A server that resets with its last client loses it.
const RootProperty = "AT_SPI_BUS"

// Close ends the connection; what is being asked fails.
func (b *Bus) Close() { b.close() }

// findBus returns the address of the accessibility bus and switches that on.
func findBus(ctx context.Context, session net.Conn) (string, error) {
	s, err := connect(ctx, session)
	if err != nil {
		return "", fmt.Errorf("the session bus: %w", err)
	}
	defer s.close()
	owner, err := s.owner(ctx, busService)
	if err != nil {
		return "", fmt.Errorf("starting the accessibility bus (Debian's package at-spi2-core has it): %w", err)
	}
	vs, err := s.ask(ctx, &call{to: owner, path: busObject, face: busService, member: "GetAddress", want: "s"})
	if err != nil {
		return "", fmt.Errorf("asking for the accessibility bus: %w", err)
	}
	// Programs that look at these do without a tree where they are off; that they
	// cannot be set is no reason to do without the others.
	for _, name := range []string{"IsEnabled", "ScreenReaderEnabled"} {
		_, _ = s.ask(ctx, &call{to: owner, path: busObject, face: propertyFace, member: "Set",
			args: []any{statusFace, name, dbus.MakeVariant(true)}})
	}
	return stringOf(vs), nil
}

// owner has a service started if it is not there yet, and returns its unique
// name: answers are believed by that.
func (b *conn) owner(ctx context.Context, name string) (string, error) {
	if _, err := b.ask(ctx, toBus("StartServiceByName", "u", name, uint32(0))); err != nil {
		return "", err
	}
	vs, err := b.ask(ctx, toBus("GetNameOwner", "s", name))
	if err != nil {
		return "", err
	}
	owner, _ := vs[0].(string)
	if !validUnique(owner) {
		return "", fmt.Errorf("the bus says that %s belongs to %q, want a unique name", name, clip(owner, maxName))
	}
	return owner, nil
}

// toBus is a question to the bus itself.
func toBus(member, want string, args ...any) *call {
	return &call{to: busName, path: busPath, face: busName, member: member, args: args, want: want}
}

// to is a question to a node.
func (r Ref) ask(face, member, want string, args ...any) *call {
	return &call{to: r.bus, path: r.path, face: face, member: member, args: args, want: want}
}

// property asks for one that has the given type.
func (r Ref) property(face, name, kind string) *call {
	c := r.ask(propertyFace, "Get", "v", face, name)
	c.inner = kind
	return c
}
