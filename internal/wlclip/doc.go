// Package wlclip reads and sets the clipboard of a Wayland desktop, as a client without
// a window. A Wayland program with windows may use the clipboard only while it has the
// keyboard; others need the extension for clipboard managers, data control, under its
// old name (zwlr_data_control_manager_v1) or its new one (ext_data_control_manager_v1),
// which differ in nothing else.
//
// As in X11 no server keeps data: the program that copied is asked for it, through a pipe
// that the compositor hands on, and may be slow, endless or gone. So all that comes is
// bounded in size and time. The compositor is the person's own, but its messages are
// read with the same care.
//
// The wire format is that of the Wayland book, chapter 4 ("Wire Format"); the messages
// are those of wayland.xml and of ext-data-control-v1.xml.
package wlclip
