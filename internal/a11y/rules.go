package a11y

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"path"
	"slices"
	"strings"

	"carrel/internal/dbus"
)

// Rules are what the accessibility bus lets programs ask of each other. Every program
// inside has the same user id, so the bus cannot tell them apart by that: in a mode in
// which programs may not act on each other, all of them may only read, and a client of
// ours is told apart by a name that it alone has.
type Rules struct {
	Active bool            // programs may act on each other
	People map[string]bool // names that clients of ours have on the bus, see [Bus.TakeName]; true: it may act
}

// readable are the interfaces of which every method only tells, or lets a program join
// the tree. A call without an interface is refused, as are those of interfaces that are
// neither here nor in reads.
var readable = []string{
	accessibleFace, applicationFace, cacheFace, prefix + "Collection", prefix + "Document", prefix + "Hyperlink", prefix + "Hypertext",
	prefix + "Image", prefix + "Registry", prefix + "Socket", prefix + "TableCell",
	"org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Peer",
}

// reads are the methods that only tell, of interfaces that have others as well.
var reads = []struct{ face, methods string }{
	{propertyFace, "Get GetAll"},
	{actionFace, "GetActions GetDescription GetKeyBinding GetLocalizedName GetName"},
	{componentFace, "Contains GetAccessibleAtPoint GetAlpha GetExtents GetLayer GetMDIZOrder GetPosition GetSize"},
	{prefix + "DeviceEventController",
		"DeregisterDeviceEventListener DeregisterKeystrokeListener GetDeviceEventListeners GetKeystrokeListeners"},
	{prefix + "Selection", "GetSelectedChild IsChildSelected"},
	{prefix + "Table", "GetAccessibleAt GetColumnAtIndex GetColumnDescription GetColumnExtentAt GetColumnHeader GetIndexAt GetRowAtIndex " +
		"GetRowColumnExtentsAtIndex GetRowDescription GetRowExtentAt GetRowHeader GetSelectedColumns GetSelectedRows " +
		"IsColumnSelected IsRowSelected IsSelected"},
	{textFace, "GetAttributeRun GetAttributeValue GetAttributes GetBoundedRanges " +
		"GetCharacterAtOffset GetCharacterExtents GetDefaultAttributeSet " +
		"GetDefaultAttributes GetNSelections GetOffsetAtPoint GetRangeExtents GetSelection GetStringAtOffset GetText GetTextAfterOffset " +
		"GetTextAtOffset GetTextBeforeOffset"},
}

// Config renders the rules for dbus-daemon: a file that [SystemConfig] includes. In every
// mode no program may become a monitor of the bus, nor learn the address at which a program
// is reached without it: what was begun in one mode would go on in another.
func (r Rules) Config() []byte {
	var b bytes.Buffer
	b.WriteString("<busconfig>\n  <policy context=\"mandatory\">\n")
	deny := func(what string) { fmt.Fprintf(&b, "    <deny %s/>\n", what) }
	allow := func(what string) { fmt.Fprintf(&b, "    <allow receive_type=\"method_call\" %s/>\n", what) }
	deny(`send_destination="` + dbus.BusName + `" send_interface="org.freedesktop.DBus.Monitoring"`)
	if !r.Active { // what is allowed here is not allowed to eavesdroppers
		deny(`receive_type="method_call"`)
		for _, face := range readable {
			allow(`receive_interface="` + face + `"`)
		}
		for _, r := range reads {
			for m := range strings.FieldsSeq(r.methods) {
				allow(`receive_interface="` + r.face + `" receive_member="` + m + `"`)
			}
		}
	}
	deny(`receive_interface="` + applicationFace + `" receive_member="GetApplicationBusAddress"`)
	for _, name := range slices.Sorted(maps.Keys(r.People)) {
		deny(`own="` + escapeXML(name) + `"`) // no other connection waits in line for it
		if r.People[name] && !r.Active {
			allow(`receive_sender="` + escapeXML(name) + `"`)
		}
	}
	b.WriteString("  </policy>\n</busconfig>\n")
	return b.Bytes()
}

// These are where at-spi-bus-launcher looks for the configuration of the
// accessibility bus: in the system's own, and below the prefix that it is installed at.
const (
	localConfig  = "etc/at-spi2/accessibility.conf"
	sharedConfig = "share/defaults/at-spi2/accessibility.conf"
)

// SystemConfig returns what has to stand in place of the system's configurations of the
// accessibility bus, by path: the same, and with it the file rules, which has to be there.
// The map is empty where none is found: then nothing would hold programs to the rules.
func SystemConfig(host fs.FS, rules string) map[string][]byte {
	places := []string{localConfig}
	command, _, _ := strings.Cut(serviceExec(host, busService), " ")
	for dir := path.Dir(strings.TrimPrefix(command, "/")); dir != "." && dir != "/"; dir = path.Dir(dir) {
		places = append(places, path.Join(dir, sharedConfig))
	}
	files := make(map[string][]byte)
	for _, at := range places {
		text, err := fs.ReadFile(host, at)
		if err != nil {
			continue
		}
		end := bytes.LastIndex(text, []byte("</busconfig>"))
		if end < 0 {
			return nil
		}
		include := fmt.Appendf(nil, "  <include>%s</include>\n", escapeXML(rules))
		files["/"+at] = slices.Concat(text[:end], include, text[end:])
	}
	return files
}

// Reread has the accessibility bus, where one runs, follow rules that have been written.
// It starts none, and owns session.
func Reread(ctx context.Context, session net.Conn, dial Dialer) error {
	s, err := dbus.Connect(ctx, session)
	if err != nil {
		return fmt.Errorf("the session bus: %w", err)
	}
	defer s.Close()
	vs, err := s.Ask(ctx, dbus.ToBus("NameHasOwner", "b", busService))
	if err != nil {
		return err
	}
	if has, _ := vs[0].(bool); !has {
		return nil
	}
	owner, err := s.Owner(ctx, busService)
	if err != nil {
		return err
	}
	address, err := askAddress(ctx, s, owner)
	if err != nil {
		return err
	}
	b, err := connect(ctx, address, dial)
	if err != nil {
		return err
	}
	defer b.Close()
	return b.Reread(ctx)
}

// Reread has this bus read its configuration again. When it returns, the rules hold.
func (b *Bus) Reread(ctx context.Context) error {
	_, err := b.conn.Ask(ctx, dbus.ToBus("ReloadConfig", ""))
	return err
}

// errShared is a name that others wait for.
var errShared = errors.New("another program wants the name of this connection")

// TakeName gives this connection a well-known name that it alone has. A program that
// waited in line for it would have the same rights, so it is looked for: the caller
// writes rules in which no connection may own the name, and asks [Bus.Alone] then.
func (b *Bus) TakeName(ctx context.Context, name string) error {
	const doNotQueue, primary = 4, 1
	vs, err := b.conn.Ask(ctx, dbus.ToBus("RequestName", "u", name, uint32(doNotQueue)))
	if err != nil {
		return err
	}
	if got, _ := vs[0].(uint32); got != primary {
		return errShared
	}
	return nil
}

// Alone reports an error where anybody else owns the name or waits for it.
func (b *Bus) Alone(ctx context.Context, name string) error {
	vs, err := b.conn.Ask(ctx, dbus.ToBus("ListQueuedOwners", "as", name))
	if err != nil {
		return err
	}
	if owners, _ := vs[0].([]string); len(owners) != 1 {
		return errShared
	}
	return nil
}
