package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDrawn(t *testing.T) {
	for text, want := range map[string]float64{
		"x11perf\n   10000 reps @   0.0340 msec ( 29400.0/sec): QueryPointer\n":    29400,
		"  60000000 reps @   0.0000 msec (55900000.0/sec): X protocol NoOperation": 55900000,
	} {
		if got, err := drawn(text); err != nil || got != want {
			t.Errorf("drawn(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "unable to open display", "( /sec)", "(1.2.3/sec)"} {
		if got, err := drawn(text); err == nil {
			t.Errorf("drawn(%q) = %v", text, got)
		}
	}
}

func FuzzDrawn(f *testing.F) {
	f.Add("1 reps @ 0.1 msec ( 29400.0/sec): x")
	f.Add("(9999999999999999999999.9/sec)")
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := drawn(text); err == nil && got < 0 {
			t.Errorf("drawn(%q) = %v", text, got)
		}
	})
}

func TestOwnArgs(t *testing.T) {
	like := []string{"/usr/bin/Xvfb", ":1000", "-displayfd", "1", "-auth", "/run/a", "-noreset"}
	want := []string{"/usr/bin/Xvfb", ":7", "-displayfd", "1", "-auth", "/b", "-noreset"}
	if got := ownArgs(like, 7, "/b"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if like[1] != ":1000" {
		t.Error("the arguments that were given have changed")
	}
}

// TestAuthority holds that what is behind a length is as long.
func TestAuthority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cookie := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "cookie")
		rest := authority(cookie)[2:]
		var parts []string
		for len(rest) > 0 {
			n := int(rest[0])<<8 | int(rest[1])
			parts, rest = append(parts, string(rest[2:2+n])), rest[2+n:]
		}
		if want := []string{"", "", cookieName, string(cookie)}; !slices.Equal(parts, want) {
			t.Errorf("%q, want %q", parts, want)
		}
	})
}

func TestPart(t *testing.T) {
	for name, want := range map[string]string{"Xvfb": "Xvfb", "openbox": "openbox", "dbus-daemon": "session bus, accessibility", "xclock": "others", "": "others", "X": "others"} {
		if got := part(name); got != want {
			t.Errorf("part(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestDesktopSuites holds that the help names each table.
func TestDesktopSuites(t *testing.T) {
	b := &desktopSuite{&deskSuite{&bench{}}}
	if got := len(b.desktopSuites("desktop")); got != len(desktopParts) {
		t.Errorf("%d suites of %d", got, len(desktopParts))
	}
	for _, part := range desktopParts {
		if got := len(b.desktopSuites(part.name)); got != 1 {
			t.Errorf("%s: %d suites", part.name, got)
		}
	}
	if b.desktopSuites("desk") != nil {
		t.Error("a name that is none has suites")
	}
}

func TestSizes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(file, make([]byte, 12345), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := sizes(file, file+"x"), "a.png 12 KB"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStartX has a server started, which answers whoever has its cookie and nobody else.
func TestStartX(t *testing.T) {
	xvfb := find("Xvfb")
	if xvfb == "" {
		t.Fatal("Xvfb is needed: install the package xvfb")
	}
	x, err := startX([]string{xvfb, ":1", "-displayfd", "1", "-auth", "", "-nolisten", "tcp", "-nolisten", "local", "-noreset"}, t.TempDir(), os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	socket := socketOf(x.number)
	if err := greetX(socket, []byte(strings.Repeat("x", 16))); err == nil {
		t.Error("a wrong cookie is taken")
	}
	x.stop()
	if _, err := os.Lstat(socket); err == nil {
		t.Errorf("%s stays behind", socket)
	}
}
