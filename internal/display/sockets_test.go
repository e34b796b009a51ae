package display

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHostSockets(t *testing.T) {
	x0 := Socket{Kind: X11Socket, Path: "/tmp/.X11-unix/X0"}
	cookie := Socket{Kind: XAuthority, Path: "/home/u/.Xauthority"}
	tests := []struct {
		env  string
		want []Socket
	}{
		{"", nil},
		{"HOME=/home/u XDG_RUNTIME_DIR=/run/user/1000", nil},
		{"DISPLAY=:0 HOME=/home/u", []Socket{x0, cookie}},
		{"DISPLAY=:0.1", []Socket{x0}},
		{"DISPLAY=unix:0", []Socket{x0}},
		{"DISPLAY=unix/:0", []Socket{x0}},
		{"DISPLAY=:12 XAUTHORITY=/run/user/1000/.mutter HOME=/home/u",
			[]Socket{{Kind: X11Socket, Path: "/tmp/.X11-unix/X12"}, {Kind: XAuthority, Path: "/run/user/1000/.mutter"}}},
		{"DISPLAY=:0 XAUTHORITY=relative HOME=relative", []Socket{x0}},
		{"DISPLAY=localhost:10.0 HOME=/home/u", nil},
		{"DISPLAY=example.com:0", nil}, {"DISPLAY=:", nil}, {"DISPLAY=:x", nil}, {"DISPLAY=0", nil},
		{"DISPLAY=:../../etc", nil}, {"DISPLAY=:0/../../x", nil}, {"DISPLAY=:123456", nil}, {"DISPLAY=:0.x", nil},
		{"DISPLAY=:0 DISPLAY=:1", []Socket{x0}},
		{"WAYLAND_DISPLAY=wayland-1 XDG_RUNTIME_DIR=/run/user/1000",
			[]Socket{{Kind: WaylandSocket, Path: "/run/user/1000/wayland-1", Runtime: "wayland-1"}}},
		{"WAYLAND_DISPLAY=/run/w XDG_RUNTIME_DIR=/run/user/1000", []Socket{{Kind: WaylandSocket, Path: "/run/w"}}},
		{"WAYLAND_DISPLAY=../bus XDG_RUNTIME_DIR=/run/user/1000", nil},
		{"WAYLAND_DISPLAY=. XDG_RUNTIME_DIR=/run/user/1000", nil},
		{"WAYLAND_DISPLAY=wayland-0", nil}, {"WAYLAND_DISPLAY=wayland-0 XDG_RUNTIME_DIR=rel", nil},
		{"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus WAYLAND_SOCKET=3", nil},
	}
	for _, tt := range tests {
		if got := HostSockets(strings.Fields(tt.env)); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %+v, want %+v", tt.env, got, tt.want)
		}
	}
}

func FuzzHostSockets(f *testing.F) {
	f.Add(":0", "wayland-0", "/run/user/1000", "/x")
	f.Add("unix/:1.0", "../..", "/", "")
	f.Fuzz(func(t *testing.T, display, wayland, runtime, cookie string) {
		for _, s := range HostSockets([]string{"DISPLAY=" + display, "WAYLAND_DISPLAY=" + wayland, "XDG_RUNTIME_DIR=" + runtime, "XAUTHORITY=" + cookie}) {
			if !filepath.IsAbs(s.Path) || filepath.Clean(s.Path) != s.Path {
				t.Errorf("path %q", s.Path)
			}
			if s.Kind == X11Socket && filepath.Dir(s.Path) != "/tmp/.X11-unix" {
				t.Errorf("X socket %q", s.Path)
			}
		}
	})
}
