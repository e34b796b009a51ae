package display

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"

	"pgregory.net/rapid"
)

var opts = Options{RuntimeDir: "/run/user/1000", Shim: "/run/carrel/open", Display: ":1000", XAuthority: "/run/carrel/x"}

// core is the list that is always stripped, gaps what other isolators leave.
var core = strings.Fields(`DISPLAY XAUTHORITY WAYLAND_DISPLAY WAYLAND_SOCKET DBUS_SESSION_BUS_ADDRESS XDG_SESSION_TYPE
	XDG_CURRENT_DESKTOP XDG_SESSION_DESKTOP DESKTOP_SESSION GNOME_DESKTOP_SESSION_ID HYPRLAND_INSTANCE_SIGNATURE HYPRCURSOR_THEME
	HYPRCURSOR_SIZE AQ_DRM_DEVICES SWAYSOCK GDK_BACKEND QT_QPA_PLATFORM QT_QPA_PLATFORMTHEME CLUTTER_BACKEND SDL_VIDEODRIVER
	NIXOS_OZONE_WL MOZ_ENABLE_WAYLAND MOZ_X11_EGL GTK_USE_PORTAL DESKTOP_STARTUP_ID`)

var gaps = strings.Fields(`XDG_RUNTIME_DIR SESSION_MANAGER ICEAUTHORITY AT_SPI_BUS_ADDRESS I3SOCK NIRI_SOCKET WAYFIRE_SOCKET LABWC_PID
	KDE_FULL_SESSION KDE_SESSION_VERSION XDG_ACTIVATION_TOKEN XDG_SESSION_ID XDG_SEAT XDG_VTNR WINDOWID EGL_PLATFORM SDL_VIDEO_DRIVER
	ELECTRON_OZONE_PLATFORM_HINT YDOTOOL_SOCKET PULSE_SERVER PIPEWIRE_REMOTE SSH_ASKPASS SUDO_ASKPASS GIT_ASKPASS VSCODE_IPC_HOOK_CLI
	KITTY_LISTEN_ON WEZTERM_UNIX_SOCKET NVIM TMUX`)

// noneWant is exactly what mode none sets.
var noneWant = map[string]string{
	"BROWSER": "/run/carrel/open", "MOZ_NO_REMOTE": "1", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/dev/null",
	"XDG_CURRENT_DESKTOP": "X-Generic", "DE": "generic", "GTK_USE_PORTAL": "0", "GIO_USE_VFS": "local", "NO_AT_BRIDGE": "1",
	"XDG_RUNTIME_DIR": "/run/user/1000", "WAYLAND_DISPLAY": nowhere,
}

// virtualWant is what mode virtual sets in addition to none, but for Wayland.
var virtualWant = map[string]string{
	"DISPLAY": ":1000", "XAUTHORITY": "/run/carrel/x", "GDK_BACKEND": "x11", "QT_QPA_PLATFORM": "xcb", "SDL_VIDEODRIVER": "x11",
	"ELECTRON_OZONE_PLATFORM_HINT": "x11", "MOZ_ENABLE_WAYLAND": "0",
}

// desktopEnv has every name of the table, with a sentinel.
func desktopEnv() []string {
	env := []string{"PATH=/bin:/usr/bin", "FOO=bar"}
	for _, v := range Table() {
		env = append(env, v.Name+"=sentinel-"+v.Name)
	}
	return append(env, "CARREL=1", "LAST=x")
}

func toMap(t testing.TB, env []string) map[string]string {
	m := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if _, twice := m[name]; twice {
			t.Errorf("%q is there twice", name)
		}
		m[name] = value
	}
	return m
}

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Table() {
		if seen[v.Name] || v.Name == "" || v.Why == "" {
			t.Errorf("row %+v", v)
		}
		seen[v.Name] = true
		if (v.Class == StripSet || v.Class == Inject) != (v.None != "") {
			t.Errorf("%q has class %d and the value %q", v.Name, v.Class, v.None)
		}
	}
	for _, name := range slices.Concat(core, gaps, []string{"EDITOR", "VISUAL"}) {
		if !seen[name] {
			t.Errorf("%q is not in the table", name)
		}
	}
	if len(core) != 25 {
		t.Errorf("the core list has 25 names, not %d", len(core))
	}
}

func TestModeNone(t *testing.T) {
	for _, mode := range []policy.DisplayMode{policy.DisplayNone, "", "unknown"} {
		got := toMap(t, Apply(desktopEnv(), mode, opts))
		want := map[string]string{"PATH": "/bin:/usr/bin", "FOO": "bar", "CARREL": "1", "LAST": "x"}
		for name, value := range noneWant {
			want[name] = value
		}
		for _, v := range Table() {
			if v.Class == Editor {
				want[v.Name] = "sentinel-" + v.Name
			}
		}
		wantEqual(t, string(mode), got, want)
	}
}

func wantEqual(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, value := range got {
		if w, ok := want[name]; !ok || w != value {
			t.Errorf("%s: %s=%q, want %q (set: %v)", what, name, value, w, ok)
		}
	}
	for name, value := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: %s is not set, want %q", what, name, value)
		}
	}
}

func TestModeVirtual(t *testing.T) {
	got := toMap(t, Apply(desktopEnv(), policy.DisplayVirtual, opts))
	for name, value := range virtualWant {
		if got[name] != value {
			t.Errorf("%s=%q, want %q", name, got[name], value)
		}
	}
	for name, value := range noneWant {
		if name != "WAYLAND_DISPLAY" && got[name] != value {
			t.Errorf("%s=%q, want %q", name, got[name], value)
		}
	}
	if _, ok := got["WAYLAND_DISPLAY"]; ok {
		t.Error("WAYLAND_DISPLAY is set: programs would choose Wayland")
	}
	for name, value := range got {
		if strings.HasPrefix(value, "sentinel-") && !strings.HasSuffix(name, "EDITOR") && name != "VISUAL" {
			t.Errorf("%s of the host is left", name)
		}
	}
}

func TestVirtualWithoutDisplayIsNone(t *testing.T) {
	o := opts
	o.Display = ""
	if got, want := Apply(desktopEnv(), policy.DisplayVirtual, o), Apply(desktopEnv(), policy.DisplayNone, o); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestModeHostLeavesTheEnvironment(t *testing.T) {
	env := desktopEnv()
	got := Apply(env, policy.DisplayHost, Options{})
	want := slices.DeleteFunc(slices.Clone(env), func(e string) bool { return strings.HasPrefix(e, "WAYLAND_SOCKET=") })
	if !slices.Equal(got, want) {
		t.Errorf("changed: %q", got)
	}
	got = Apply(append(env, "XDG_RUNTIME_DIR=again"), policy.DisplayHost, opts)
	for i, entry := range want {
		if strings.HasPrefix(entry, "XDG_RUNTIME_DIR=") {
			want[i] = "XDG_RUNTIME_DIR=/run/user/1000"
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("with a private runtime directory: %q, want %q", got, want)
	}
	if got := Apply(nil, policy.DisplayHost, opts); !slices.Equal(got, []string{"XDG_RUNTIME_DIR=/run/user/1000"}) {
		t.Errorf("from nothing: %q", got)
	}
}

func TestEmptyOptions(t *testing.T) {
	got := toMap(t, Apply(desktopEnv(), policy.DisplayNone, Options{}))
	if _, ok := got["XDG_RUNTIME_DIR"]; ok {
		t.Error("the host's runtime directory is left")
	}
	if got["BROWSER"] != "false" {
		t.Errorf("BROWSER=%q: opening a link must fail visibly", got["BROWSER"])
	}
}

func TestDuplicatesAndOddEntries(t *testing.T) {
	env := []string{"A=1", "DISPLAY=:0", "A=2", "DISPLAY=:1", "=C:=x", "NOVALUE", "DISPLAY", "", "DISPLAYS=3", "display=4", "B=\xff=\n"}
	got := Apply(env, policy.DisplayNone, opts)
	want := []string{"A=1", "A=2", "=C:=x", "NOVALUE", "", "DISPLAYS=3", "display=4", "B=\xff=\n"}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("got %q", got)
	}
}

func TestEditors(t *testing.T) {
	tests := map[string]bool{ // stays without a display
		"vim": true, "/usr/bin/nvim -f": true, "nano": true, "emacs -nw": true, "emacs": true, "emacsclient -t": true, "": true, "hx": true,
		"code --wait": false, "/snap/bin/code -w": false, "gedit": false, "kate": false, "subl -w": false, "gvim -f": false, "vim -g": false,
		"emacsclient -c": false, "emacsclient": false, `"/opt/zed/zed" --wait`: false, "flatpak run org.gnome.gedit": false,
	}
	for command, stays := range tests {
		for _, name := range []string{"EDITOR", "VISUAL", "GIT_EDITOR"} {
			entry := name + "=" + command
			if got := slices.Contains(Apply([]string{entry}, policy.DisplayNone, opts), entry); got != stays {
				t.Errorf("%q stays: %v, want %v", entry, got, stays)
			}
			if !slices.Contains(Apply([]string{entry}, policy.DisplayVirtual, opts), entry) {
				t.Errorf("%q is gone though there is a display", entry)
			}
		}
	}
}

// The child of a real process sees what Apply says.
func TestRealChild(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestPrintEnvironment$")
	cmd.Env = Apply(append(desktopEnv(), "CARREL_TEST_PRINT=1"), policy.DisplayNone, opts)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range noneWant {
		if !strings.Contains(string(out), "\n"+name+"="+value+"\n") {
			t.Errorf("the child has no %s=%s", name, value)
		}
	}
	for _, name := range []string{"DISPLAY", "XAUTHORITY", "HYPRLAND_INSTANCE_SIGNATURE", "TMUX"} {
		if strings.Contains(string(out), "\n"+name+"=") {
			t.Errorf("the child has %s", name)
		}
	}
}

// TestPrintEnvironment is the child of TestRealChild, and nothing otherwise.
func TestPrintEnvironment(t *testing.T) {
	if os.Getenv("CARREL_TEST_PRINT") == "1" {
		os.Stdout.WriteString("\n" + strings.Join(os.Environ(), "\n") + "\n")
	}
}

func TestApplyProperties(t *testing.T) {
	names := []string{"PATH", "A", "", "DISPLAY", "XDG_RUNTIME_DIR", "BROWSER", "WAYLAND_SOCKET", "EDITOR", "é", "\xff"}
	for _, v := range Table() {
		names = append(names, v.Name)
	}
	inTable := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.ContainsFunc(Table(), func(v Variable) bool { return v.Name == name })
	}
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(names).Draw(t, "name") + rapid.SampledFrom([]string{"=", "=x", "=code", "=a=b", ""}).Draw(t, "value")
		})
		env := rapid.SliceOf(entry).Draw(t, "env")
		mode := rapid.SampledFrom([]policy.DisplayMode{policy.DisplayNone, policy.DisplayVirtual, policy.DisplayHost, "x"}).Draw(t, "mode")
		o := rapid.SampledFrom([]Options{opts, {}}).Draw(t, "options")
		before := slices.Clone(env)
		once := Apply(env, mode, o)
		if !slices.Equal(env, before) {
			t.Fatal("the argument was changed")
		}
		if twice := Apply(once, mode, o); !slices.Equal(once, twice) {
			t.Fatalf("not idempotent: %q, then %q", once, twice)
		}
		other := func(env []string) []string {
			return slices.DeleteFunc(slices.Clone(env), inTable)
		}
		if !slices.Equal(other(once), other(env)) {
			t.Fatalf("unrelated variables changed: %q to %q", other(env), other(once))
		}
	})
}
