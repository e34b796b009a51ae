// Package a11y reads and uses what programs show by the tree that they build for
// screen readers (AT-SPI): windows, buttons, fields, with roles, names, states and
// places. So a program can be used by what its parts are called and not by where
// their pixels are.
//
//	bus, err := a11y.Open(ctx, session, dial)
//	found, err := bus.Wait(ctx, a11y.Query{Role: "push button", Name: save}, false)
//	_, err = bus.Invoke(ctx, found.Nodes[0].Ref, "")
//
// [Bus.Tree] gives everything, [Bus.Find] and [Bus.Wait] what a [Query] means. Each
// [Node] has a [Ref], which stays its own as long as its program shows it. [Bus.Invoke],
// [Bus.SetText], [Bus.SetValue], [Bus.Focus], [Bus.Select] and their like take it. Who may
// act, and when, is the caller's to decide.
//
// # What has to run, and in which order
//
// All of it runs inside the walls, for the bus has to see the programs' processes:
//
//  1. A private session bus: dbus-daemon --nofork with [BusConfig], beside its socket
//     the directory "services" with [ServiceFiles]. XDG_RUNTIME_DIR is a private and
//     writable directory: the accessibility bus puts its socket there, in at-spi/.
//     GSETTINGS_BACKEND=memory is set, as switching accessibility on is a setting, which
//     would be written. There is no DISPLAY: what the bus starts needs none, and without one it
//     grabs no keys. dconf is started by it where there is one, nothing else.
//  2. [Open], or the first program, has the bus start org.a11y.Bus: at-spi-bus-launcher
//     and a second dbus-daemon, by the system's accessibility.conf and the services in
//     /usr/share/dbus-1/accessibility-services. In the place of that file [SystemConfig]
//     stands, with the [Rules] of the workspace's mode. That starts at-spi2-registryd when it is
//     first asked for. All of these come with Debian's at-spi2-core.
//  3. The property [RootProperty] of the root window is set to [Bus.Address], before
//     programs start; the server must not reset itself (-noreset).
//  4. Programs start with what package display lists. Above all NO_AT_BRIDGE must not be there. GTK 3
//     needs nothing else, Qt 5 the property, Chromium and Electron the flag
//     --force-renderer-accessibility for what is within a page.
//
// # What is believed
//
// Nothing. A program inside can be anything, the bus too, and a bus lets everybody send
// everything to everybody. So messages are bounded before they are read. An answer counts only
// from the program that was asked, and only with the type that was asked for. Names and paths
// are checked before they are used again, and everything that repeats has a bound. One program
// gets its own time, nodes and bytes; where it wastes them its [Application] has a Problem, and
// the others lose nothing. Nodes of another program count as children only if they say so
// themselves. What is printed is quoted.
//
// # What toolkits do not do
//
// Chromium lets no text be set ([ErrNotEditable]); GTK 3 and Qt 5 scroll nothing into sight; Qt
// answers for its cache with an empty one. Where the cache does not tell of a node it is asked
// for piece by piece. What looks like mere content is taken to offer no actions.
//
// The formats are those of the D-Bus specification and of the XML files of
// at-spi2-core. The package imports package dbus alone of this module and knows no display.
package a11y
