// Package xfilter reads the X11 requests of a workspace's programs, before the X server of
// its hidden display, and lets through what its table allows. X11 has no walls of its own:
// a client that is connected may read every key, press keys for everybody, stop the server, or
// leave a word for the VNC server. The filter gives each program what it needs for windows
// of its own, and the rest only while the workspace lets it.
//
// A connection is accepted with the cookie that the inside was given. It goes on to the server
// with the server's own, which no program inside ever sees. From then on bytes are copied in
// both directions, cut into requests and messages. Only the first bytes of a request are looked
// at, by a table ([coreRules], [extensions]); pictures stream through. Nothing is buffered but
// what is in hand: a client that does not read is not read from. Descriptors never cross.
//
// A request that is refused must still be counted by the server, as every later
// answer carries a number. So it is changed in place: into one that the server
// does not know, whose error comes back to the program as BadAccess; or into
// NoOperation where a usual program sends such a thing in passing and would be
// ended by an error.
//
// # What is allowed
//
// Always: windows, drawing, fonts, properties, selections, drag and drop, input methods,
// messages to window managers, looking at the screen and at the list of windows; grabs and focus
// for a program's *own* windows (menus hold the keyboard while they are open).
//
// While the workspace is active, also: pressing keys and moving the pointer (XTEST, WarpPointer,
// SendEvent), the keyboard's map; grabs and focus and input events of others' windows (or of
// one's own in or around those, see nested.go); raw input, stopping the server for five seconds
// in a row at most ([maxGrab]).
//
// While it is not (a person took over, or it is paused or read-only), of all this
// nothing. A program gets keys and pointer events for its own windows only, in
// whatever way it had asked for more; KeymapNotify and QueryKeymap show no key as
// pressed. An event that came by a grab is not handed on to whom it would have
// reached without. A client that holds the server, or has put a grab or an ear on the
// window of another, is disconnected when that begins: there is no other way to end
// it.
//
// Never: extensions that are not in the table (they are hidden by name and
// refused by number: MIT-SHM and DRI3 as memory and descriptors do not cross,
// RECORD, SECURITY, XVideo); changes of the screen's size; changes of devices, of
// who may connect, of how keys that are held count (slow keys), of the
// screen saver; ending other clients, or windows of those that are not behind the
// filter; waiting inside the server (SYNC Await, the delay of a faked event), as
// what waits there would be carried out after the mode has changed; a selection
// for the window of another client, as its owner may be outside the filter and would
// write there; everything that names VNC.
//
// # What it does not hold
//
// Programs share a screen: each sees what the others paint, and may cover them, also with a
// window that cannot be seen and takes the clicks. It may unmap and move their windows, and take
// the focus or hold the keyboard for a window of its own. A person who takes over types into
// programs that belong to the workspace, and those know what was typed. Modifiers that are held,
// the pointer's place and its buttons can be asked for in all modes, as every toolkit does. What
// the server has received before a change of the mode it still carries out, within moments.
package xfilter
