package a11y

import (
	"context"
	"fmt"
	"net"
	"path"
	"sync"
	"time"

	"carrel/internal/dbus"

	wire "github.com/godbus/dbus/v5"
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
	conn     *dbus.Conn
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
	b, err := connect(ctx, address, dial)
	if err != nil {
		return nil, err
	}
	b.conn.OnSignal(b.event)
	if b.registry, err = b.conn.Owner(ctx, registryName); err != nil {
		b.conn.Close()
		return nil, fmt.Errorf("starting the accessibility registry (Debian's package at-spi2-core has it): %w", err)
	}
	return b, nil
}

// connect connects to the accessibility bus at an address that a program inside gave.
func connect(ctx context.Context, address string, dial Dialer) (*Bus, error) {
	at, err := socketPath(address)
	if err != nil {
		return nil, err
	}
	c, err := dial(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("connecting to the accessibility bus at %q: %w", at, err)
	}
	b := &Bus{address: address, listeners: make(map[chan struct{}]bool)}
	if b.conn, err = dbus.Connect(ctx, c); err != nil {
		return nil, fmt.Errorf("the accessibility bus at %q: %w", at, err)
	}
	return b, nil
}

// socketPath returns the socket of an address that a program inside gave. An abstract
// one is not taken: it belongs to a network namespace, and is no place that a [Dialer]
// could allow.
func socketPath(address string) (string, error) {
	at, err := dbus.Socket(address, false)
	if err == nil && path.Clean(at) != at {
		return "", fmt.Errorf("bus address %q: %q is no clean path", address, at)
	}
	return at, err
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
func (b *Bus) Close() { b.conn.Close() }

// findBus returns the address of the accessibility bus and switches that on.
func findBus(ctx context.Context, session net.Conn) (string, error) {
	s, err := dbus.Connect(ctx, session)
	if err != nil {
		return "", fmt.Errorf("the session bus: %w", err)
	}
	defer s.Close()
	owner, err := s.Owner(ctx, busService)
	if err != nil {
		return "", fmt.Errorf("starting the accessibility bus (Debian's package at-spi2-core has it): %w", err)
	}
	address, err := askAddress(ctx, s, owner)
	if err != nil {
		return "", err
	}
	// Programs that look at these do without a tree where they are off; that they
	// cannot be set is no reason to do without the others.
	for _, name := range []string{"IsEnabled", "ScreenReaderEnabled"} {
		_, _ = s.Ask(ctx, &dbus.Call{To: owner, Path: busObject, Interface: propertyFace, Member: "Set",
			Args: []any{statusFace, name, wire.MakeVariant(true)}})
	}
	return address, nil
}

// askAddress asks the owner of [busService] where the accessibility bus is.
func askAddress(ctx context.Context, s *dbus.Conn, owner string) (string, error) {
	vs, err := s.Ask(ctx, &dbus.Call{To: owner, Path: busObject, Interface: busService, Member: "GetAddress", Want: "s"})
	if err != nil {
		return "", fmt.Errorf("asking for the accessibility bus: %w", err)
	}
	return stringOf(vs), nil
}

// ask is a question to a node.
func (r Ref) ask(face, member, want string, args ...any) *dbus.Call {
	return &dbus.Call{To: r.bus, Path: r.path, Interface: face, Member: member, Args: args, Want: want}
}

// property asks for one that has the given type.
func (r Ref) property(face, name, kind string) *dbus.Call {
	c := r.ask(propertyFace, "Get", "v", face, name)
	c.Inner = kind
	return c
}
