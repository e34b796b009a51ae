package xvfb

import (
	"strconv"

	"carrel/internal/policy"
)

// Programs that a display is made of, by these paths: what PATH says is the
// user's, and these run with the supervisor's word.
const (
	Server  = "/usr/bin/Xvfb"
	Manager = "/usr/bin/openbox"
	Bus     = "/usr/bin/dbus-daemon"
	VNC     = "/usr/bin/x11vnc"
)

// DefaultSize is a common screen, on which windows look as on a desktop. The server
// paints all of it at its start, and so a larger one costs time and memory: 2560x1600
// half as much again.
var DefaultSize = policy.Size{Width: 1920, Height: 1080}

// Options say which server is started.
type Options struct {
	Number    int
	Size      policy.Size // the largest that the screen can have
	Authority string      // path of the authority file, as the server sees it
	ReadyFD   int         // descriptor on which the server writes its number when it listens
	GL        bool        // with GLX: takes 60 ms and 50 MiB more
}

// maxData bounds what clients can make a server keep, in KiB: pixmaps above all.
const maxData = 2 << 20

// ServerArgs gives the server's arguments, its name first, as Xvfb(1) and
// Xserver(1) have them.
//
// An authority file is always given: a server without one lets everybody in. It
// listens on a path only, not on TCP and not at an abstract name, which would be
// seen by whoever shares the network. It goes on when its last client has gone,
// and blanks nothing.
func ServerArgs(o Options) []string {
	args := []string{Server, ":" + strconv.Itoa(o.Number),
		"-displayfd", strconv.Itoa(o.ReadyFD), "-auth", o.Authority,
		"-nolisten", "tcp", "-nolisten", "local", "-noreset",
		"-screen", "0", o.Size.String() + "x24", "-dpi", "96", "-s", "0", "-ld", strconv.Itoa(maxData)}
	if !o.GL {
		args = append(args, "-extension", "GLX")
	}
	return args
}

// ManagerArgs gives the window manager's arguments, its name first.
func ManagerArgs(config string) []string {
	return []string{Manager, "--sm-disable", "--config-file", config}
}

// ManagerConfig is the window manager's configuration: no menu, no key and no
// button that starts a program, new windows get the focus and are not made larger
// than they want. What a human does with the mouse on a window's frame works.
// The format is openbox's, http://openbox.org/wiki/Help:Configuration.
const ManagerConfig = `<?xml version="1.0" encoding="UTF-8"?>
<openbox_config xmlns="http://openbox.org/3.4/rc">
  <focus><focusNew>yes</focusNew><followMouse>no</followMouse><raiseOnFocus>yes</raiseOnFocus></focus>
  <placement><policy>Smart</policy><center>yes</center></placement>
  <theme><name>Clearlooks</name><titleLayout>NLIMC</titleLayout><animateIconify>no</animateIconify></theme>
  <desktops><number>1</number><popupTime>0</popupTime></desktops>
  <resize><drawContents>no</drawContents><popupShow>Never</popupShow></resize>
  <keyboard/>
  <mouse>
    <context name="Titlebar"><mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind><mousebind button="Left" action="Drag"><action name="Move"/></mousebind><mousebind button="Left" action="DoubleClick"><action name="ToggleMaximize"/></mousebind></context>
    <context name="Client"><mousebind button="Left" action="Press"><action name="Focus"/><action name="Raise"/></mousebind></context>
    <context name="Frame"><mousebind button="A-Left" action="Drag"><action name="Move"/></mousebind></context>
    <context name="Close"><mousebind button="Left" action="Click"><action name="Close"/></mousebind></context>
    <context name="Iconify"><mousebind button="Left" action="Click"><action name="Iconify"/></mousebind></context>
    <context name="Maximize"><mousebind button="Left" action="Click"><action name="ToggleMaximize"/></mousebind></context>
    <context name="Top"><mousebind button="Left" action="Drag"><action name="Resize"><edge>top</edge></action></mousebind></context>
    <context name="Left"><mousebind button="Left" action="Drag"><action name="Resize"><edge>left</edge></action></mousebind></context>
    <context name="Right"><mousebind button="Left" action="Drag"><action name="Resize"><edge>right</edge></action></mousebind></context>
    <context name="Bottom"><mousebind button="Left" action="Drag"><action name="Resize"><edge>bottom</edge></action></mousebind></context>
    <context name="BRCorner"><mousebind button="Left" action="Drag"><action name="Resize"/></mousebind></context>
  </mouse>
  <menu/>
  <applications/>
</openbox_config>
`

// BusArgs starts the session bus on a listening socket that is its standard
// input: as sd_listen_fds(3) has it, which wants the socket at descriptor 3 and
// the process's own number, that only a shell in between can tell.
func BusArgs(config string) []string {
	return []string{"/bin/sh", "-c", `exec 3<&0 </dev/null; export LISTEN_FDS=1 LISTEN_PID=$$; exec "$@"`, "sh",
		Bus, "--config-file=" + config, "--address=systemd:", "--nofork", "--nopidfile", "--nosyslog"}
}

// VNCArgs gives the arguments of a VNC server for one viewer that is its standard
// input and output, as x11vnc(1) has them.
//
// Any client of a display can tell x11vnc to do things, by properties of the root
// window: it obeys none (-safer, -noremote), starts nothing and reads no file of the
// home. It has no part in selections, leaves the bell and the repeating of keys alone,
// and shows windows that are dragged as they are. It does not slow down when little
// happens, with which the first picture takes a second instead of a fifth. Who may watch and type is decided before it, so it asks for no password.
func VNCArgs(display, authority string) []string {
	return []string{VNC, "-inetd", "-quiet", "-display", display, "-auth", authority, "-nopw", "-norc", "-nolookup",
		"-safer", "-noremote", "-novncconnect", "-nocmds",
		"-nosel", "-noprimary", "-nosetprimary", "-noclipboard", "-nosetclipboard",
		"-nobell", "-nonap", "-repeat", "-noxrecord", "-nowireframe", "-noscrollcopyrect", "-xrandr", "newfbsize", "-desktop", "carrel " + display}
}
