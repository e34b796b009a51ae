package display

// Class says what happens to a variable where there is no host display, that
// is in the modes none and virtual. In mode host only Descriptor and the
// runtime directory are touched.
type Class uint8

const (
	// Strip: leads to the host's desktop; removed.
	Strip Class = iota
	// Inject: no part of the host's desktop, set to steer programs away from it.
	Inject
	// StripSet: both. It leads to the host's desktop, and leaving it unset would
	// send programs looking for it, so it is set to something that fails.
	StripSet
	// Editor: removed in mode none when it names an editor with windows.
	Editor
	// Descriptor: names an open descriptor, which never crosses into the walls;
	// removed in every mode.
	Descriptor
)

// Variable is one row of the table.
type Variable struct {
	Name    string
	Class   Class
	None    string // value in mode none; "" is unset
	Virtual string // value in mode virtual; "" is unset
	Why     string
}

// Placeholders in values, filled in from Options.
const (
	phRuntime    = "{runtime}"
	phShim       = "{shim}"
	phDisplay    = "{display}"
	phXAuthority = "{xauthority}"
	phBus        = "{bus}"        // the session bus, or one that refuses
	phBridge     = "{bridge}"     // "1" without a bus
	phAccessible = "{accessible}" // "1" with one
)

// noBus is refused at once.
const noBus = "unix:path=/dev/null"

// nowhere cannot exist: /dev/null has nothing below it. An absolute path keeps
// libwayland from looking in the runtime directory; unset would mean wayland-0.
const nowhere = "/dev/null/no-wayland-display"

// Table returns the one list of variables that have to do with a display,
// freshly made. Every launch path builds its environment from it with Apply.
func Table() []Variable {
	var all []Variable
	for _, part := range [][]Variable{servers(), desktop(), toolkits(), bridges(), editors()} {
		all = append(all, part...)
	}
	return all
}

// servers are the displays, buses and sound servers themselves.
func servers() []Variable {
	return []Variable{
		{"DISPLAY", Strip, "", phDisplay, "X server"},
		{"XAUTHORITY", Strip, "", phXAuthority, "cookie file of the X server"},
		{"WAYLAND_DISPLAY", StripSet, nowhere, "", "unset, libwayland takes wayland-0; in virtual the private runtime directory hides it and X11 is chosen"},
		{"WAYLAND_SOCKET", Descriptor, "", "", "an open connection to a compositor"},
		{"MIR_SOCKET", Strip, "", "", "Mir display server"},
		{"XDG_RUNTIME_DIR", StripSet, phRuntime, phRuntime, "root of most sockets of a session: wayland-0, bus, pipewire, compositors"},
		{"DBUS_SESSION_BUS_ADDRESS", StripSet, noBus, phBus, "refused at once; unset, libdbus looks in the runtime directory and starts a bus"},
		{"DBUS_SYSTEM_BUS_ADDRESS", Strip, "", "", "another way to the system bus"},
		{"DBUS_STARTER_ADDRESS", Strip, "", "", "the bus that started the terminal"},
		{"DBUS_STARTER_BUS_TYPE", Strip, "", "", "goes with the address"},
		{"AT_SPI_BUS_ADDRESS", Strip, "", "", "accessibility bus: reads and drives other windows"},
		{"AT_SPI_BUS_TYPE", Strip, "", "", "which accessibility bus"},
		{"IBUS_ADDRESS", Strip, "", "", "input method bus"},
		{"ICEAUTHORITY", Strip, "", "", "cookie file of the session manager"},
		{"SESSION_MANAGER", Strip, "", "", "X session manager"},
		{"PULSE_SERVER", Strip, "", "", "sound, also a microphone"},
		{"PULSE_RUNTIME_PATH", Strip, "", "", "socket directory of PulseAudio"},
		{"PULSE_COOKIE", Strip, "", "", "cookie file of PulseAudio"},
		{"PIPEWIRE_REMOTE", Strip, "", "", "sound and screen capture"},
		{"PIPEWIRE_RUNTIME_DIR", Strip, "", "", "socket directory of PipeWire"},
		{"YDOTOOL_SOCKET", Strip, "", "", "types and clicks on the real desktop"},
		{"WSL_INTEROP", Strip, "", "", "starts Windows programs on the host"},
	}
}

// desktop says which desktop runs; xdg-open and toolkits choose by it.
func desktop() []Variable {
	return []Variable{
		{"XDG_SESSION_TYPE", Strip, "", "", "names the kind of display"},
		{"XDG_CURRENT_DESKTOP", StripSet, "X-Generic", "X-Generic", "xdg-open then asks no desktop service"},
		{"DE", Inject, "generic", "generic", "the older name that xdg-open reads"},
		{"XDG_SESSION_DESKTOP", Strip, "", "", "names the desktop"},
		{"XDG_SESSION_ID", Strip, "", "", "the login session, for logind"},
		{"XDG_SESSION_PATH", Strip, "", "", "the login session, for display managers"},
		{"XDG_SESSION_CLASS", Strip, "", "", "the login session"},
		{"XDG_SEAT", Strip, "", "", "the seat of the real desktop"},
		{"XDG_SEAT_PATH", Strip, "", "", "the seat, for display managers"},
		{"XDG_VTNR", Strip, "", "", "the console of the real desktop"},
		{"XDG_ACTIVATION_TOKEN", Strip, "", "", "permission to take the focus"},
		{"DESKTOP_SESSION", Strip, "", "", "names the desktop"},
		{"DESKTOP_STARTUP_ID", Strip, "", "", "start-up notification"},
		{"WINDOWID", Strip, "", "", "the terminal's window"},
		{"GNOME_DESKTOP_SESSION_ID", Strip, "", "", "names GNOME"},
		{"KDE_FULL_SESSION", Strip, "", "", "names KDE"},
		{"KDE_SESSION_VERSION", Strip, "", "", "names KDE"},
		{"KDE_SESSION_UID", Strip, "", "", "names KDE"},
		{"HYPRLAND_INSTANCE_SIGNATURE", Strip, "", "", "socket of Hyprland: starts programs outside"},
		{"HYPRCURSOR_THEME", Strip, "", "", "goes with Hyprland"},
		{"HYPRCURSOR_SIZE", Strip, "", "", "goes with Hyprland"},
		{"AQ_DRM_DEVICES", Strip, "", "", "graphics devices of Hyprland"},
		{"SWAYSOCK", Strip, "", "", "socket of sway: starts programs outside"},
		{"I3SOCK", Strip, "", "", "socket of i3 and sway"},
		{"NIRI_SOCKET", Strip, "", "", "socket of niri"},
		{"WAYFIRE_SOCKET", Strip, "", "", "socket of Wayfire"},
		{"LABWC_PID", Strip, "", "", "labwc takes signals"},
	}
}

// toolkits choose a back end or talk to desktop services.
func toolkits() []Variable {
	return []Variable{
		{"GDK_BACKEND", Strip, "", "x11", "GTK"},
		{"QT_QPA_PLATFORM", Strip, "", "xcb", "Qt"},
		{"QT_QPA_PLATFORMTHEME", Strip, "", "", "Qt themes ask the desktop's services"},
		{"CLUTTER_BACKEND", Strip, "", "", "Clutter"},
		{"SDL_VIDEODRIVER", Strip, "", "x11", "SDL 2"},
		{"SDL_VIDEO_DRIVER", Strip, "", "", "SDL 3"},
		{"EGL_PLATFORM", Strip, "", "", "Mesa"},
		{"NIXOS_OZONE_WL", Strip, "", "", "Chromium on NixOS takes Wayland"},
		{"ELECTRON_OZONE_PLATFORM_HINT", Strip, "", "x11", "Electron"},
		{"MOZ_ENABLE_WAYLAND", Strip, "", "0", "Firefox"},
		{"MOZ_X11_EGL", Strip, "", "", "Firefox"},
		{"MOZ_NO_REMOTE", Inject, "1", "1", "Firefox hands no link to a running instance"},
		{"GTK_USE_PORTAL", StripSet, "0", "0", "GTK asks no portal"},
		{"GIO_USE_VFS", Inject, "local", "local", "GIO starts no gvfsd"},
		{"NO_AT_BRIDGE", Inject, "1", phBridge, "GTK looks for no accessibility bus"},
		{"QT_LINUX_ACCESSIBILITY_ALWAYS_ON", Strip, "", phAccessible, "Qt shows its widgets on the accessibility bus"},
		{"QT_ACCESSIBILITY", Strip, "", phAccessible, "the same, older"},
		{"GNOME_ACCESSIBILITY", Strip, "", phAccessible, "Firefox and LibreOffice, the same"},
		{"ACCESSIBILITY_ENABLED", Strip, "", phAccessible, "Chromium and Electron, the same"},
		{"GTK_A11Y", Strip, "", "", "GTK 4: another back end, or none"},
	}
}

// bridges open windows or act in a program that runs outside.
func bridges() []Variable {
	return []Variable{
		// "true", as often set here, swallows links and reports success.
		{"BROWSER", Inject, phShim, phShim, "links go to the person outside"},
		{"SSH_ASKPASS", Strip, "", "", "opens a dialog"},
		{"SSH_ASKPASS_REQUIRE", Strip, "", "", "goes with it"},
		{"SUDO_ASKPASS", Strip, "", "", "opens a dialog"},
		{"GIT_ASKPASS", Strip, "", "", "opens a dialog, or asks a running editor"},
		{"VSCODE_IPC_HOOK", Strip, "", "", "a running Visual Studio Code"},
		{"VSCODE_IPC_HOOK_CLI", Strip, "", "", "a running Visual Studio Code"},
		{"VSCODE_GIT_IPC_HANDLE", Strip, "", "", "its credential helper"},
		{"VSCODE_GIT_ASKPASS_NODE", Strip, "", "", "its credential helper"},
		{"VSCODE_GIT_ASKPASS_MAIN", Strip, "", "", "its credential helper"},
		{"VSCODE_GIT_ASKPASS_EXTRA_ARGS", Strip, "", "", "its credential helper"},
		{"NVIM", Strip, "", "", "the Neovim around this terminal: runs commands"},
		{"NVIM_LISTEN_ADDRESS", Strip, "", "", "an older name for it"},
		{"TMUX", Strip, "", "", "the tmux around this terminal: runs commands"},
		{"TMUX_PANE", Strip, "", "", "goes with it"},
		{"STY", Strip, "", "", "the screen around this terminal"},
		{"ZELLIJ_SESSION_NAME", Strip, "", "", "the Zellij around this terminal"},
		{"KITTY_LISTEN_ON", Strip, "", "", "remote control of kitty"},
		{"WEZTERM_UNIX_SOCKET", Strip, "", "", "remote control of WezTerm"},
		{"ALACRITTY_SOCKET", Strip, "", "", "remote control of Alacritty"},
		{"GNOME_TERMINAL_SERVICE", Strip, "", "", "GNOME Terminal on the bus"},
		{"GNOME_TERMINAL_SCREEN", Strip, "", "", "GNOME Terminal on the bus"},
		{"KONSOLE_DBUS_SERVICE", Strip, "", "", "Konsole on the bus"},
		{"KONSOLE_DBUS_SESSION", Strip, "", "", "Konsole on the bus"},
		{"KONSOLE_DBUS_WINDOW", Strip, "", "", "Konsole on the bus"},
	}
}

// editors may name a program with windows, which would hang or fail a commit.
func editors() []Variable {
	return []Variable{
		{"EDITOR", Editor, "", "", "default editor"},
		{"VISUAL", Editor, "", "", "default editor"},
		{"GIT_EDITOR", Editor, "", "", "git"},
		{"GIT_SEQUENCE_EDITOR", Editor, "", "", "git rebase -i"},
		{"SUDO_EDITOR", Editor, "", "", "sudoedit"},
	}
}
