// Package display decides what a workspace's processes learn about a display: one table
// of environment names ([Table]), and one builder of environments from it ([Apply]).
// [HostSockets] are the sockets that an explicit grant of the host's display needs.
// [ParseLink] parses links that programs inside want opened outside.
//
// # Words
//
//   - mode none: no display. Names that lead to the host's are removed. Some are set so
//     that programs fail quickly and cleanly instead of looking in default places or
//     starting a bus.
//   - mode virtual: a display that only the workspace has; as none, and the
//     selectors of the common toolkits point to X11.
//   - mode host: the host's display, by the user's explicit grant.
//   - shim: our program that stands for xdg-open, open and $BROWSER inside. It
//     reports the link to the outside and tells the truth in its exit status.
//
// # Limits
//
// Variables are the second line. What isolates is that the sockets are not
// there: a program may look in /tmp/.X11-unix, at an abstract name, or for
// wayland-0 in any directory, whatever its environment says. A shell's start
// files may also set variables again after us.
//
// Everything here is pure: no file, socket or variable is touched. The package
// imports nothing of this module but policy.
package display
