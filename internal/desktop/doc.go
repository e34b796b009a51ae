// Package desktop looks at an X display and acts on it, as a person before the
// screen would: pictures of it, its windows, waiting for either to change, its
// size, frames for a recording; mouse, keys and any text; the clipboard. It is a
// client of the X11 protocol and starts no program. [Manage] is a small window
// manager, and [Computer] what Anthropic's computer-use tool does.
//
// [Open] gives a [Desktop] from a way to connect and a cookie. All methods of a Desktop may be
// called by many goroutines at once. Each takes a context whose end ends the call, also when the
// server does not answer any more.
//
// # Words
//
//   - The root is the window behind all others: its content is the screen.
//   - A window is top-level when its program thinks of it as a window. Under a
//     window manager that is often not a child of the root, but of a frame.
//   - EWMH are the properties by which window managers and programs agree on
//     states, types and titles: https://specifications.freedesktop.org/wm-spec/
//   - An override-redirect window wants no window manager: menus, tooltips.
//
// # The server is not trusted
//
// An X server parses what programs inside send it, and its walls are there because it might give
// in. So what it answers is data from outside: package wire bounds every message before the
// protocol library sees it. Replies whose lengths the library would believe are parsed here, and
// a panic in the library becomes an error of the call. Titles and classes come from programs
// inside; they are cut to a bound and are valid UTF-8, but may still say anything.
package desktop
