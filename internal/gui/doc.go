// Package gui is the desktop that only one workspace has: an X server with a window manager in
// walls of their own, the filter before its socket, the session bus; and what people and
// programs outside ask of it: pictures, windows, input, a video, a view by VNC.
//
// Its sockets are there as long as the workspace; a server is started for the first who
// connects and ends when it is not used. It reads no configuration and raises no walls by
// itself: [Config] brings both. Where a request comes from, and whether its sender may act,
// is decided before it comes to a [Seat].
package gui
