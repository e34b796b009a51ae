package xhost

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// cookieEntry is one of a file of xauth(1).
func cookieEntry(family uint16, parts ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, family)
	for _, p := range parts {
		b = binary.BigEndian.AppendUint16(b, uint16(len(p)))
		b = append(b, p...)
	}
	return b
}

func TestFindCookie(t *testing.T) {
	const name, mine, other = "MIT-MAGIC-COOKIE-1", "0123456789abcdef", "fedcba9876543210"
	for what, c := range map[string]struct {
		file []byte
		want string
	}{
		"this machine's":     {cookieEntry(256, "here", "7", name, mine), mine},
		"any machine's":      {cookieEntry(65535, "", "7", name, mine), mine},
		"any number's":       {cookieEntry(256, "here", "", name, mine), mine},
		"another machine's":  {cookieEntry(256, "there", "7", name, mine), ""},
		"another number's":   {cookieEntry(256, "here", "8", name, mine), ""},
		"another protocol's": {cookieEntry(256, "here", "7", "XDM-AUTHORIZATION-1", mine), ""},
		"over the network":   {cookieEntry(0, "\x7f\x00\x00\x01", "7", name, mine), ""},
		"short":              {cookieEntry(256, "here", "7", name, "short"), ""},
		"the second":         {append(cookieEntry(256, "here", "8", name, other), cookieEntry(256, "here", "7", name, mine)...), mine},
		"cut":                {cookieEntry(256, "here", "7", name, mine)[:20], ""},
		"nothing":            {nil, ""},
	} {
		if got := findCookie(c.file, "here", "7"); string(got) != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func FuzzCookies(f *testing.F) {
	f.Add(cookieEntry(65535, "", "7", "MIT-MAGIC-COOKIE-1", "0123456789abcdef"))
	f.Add([]byte{1, 0, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := findCookie(b, "here", "7"); got != nil && (len(got) != 16 || !bytes.Contains(b, got)) {
			t.Errorf("%q", got)
		}
	})
}

func TestNamed(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".Xauthority")
	if err := os.WriteFile(file, cookieEntry(65535, "", "7", "MIT-MAGIC-COOKIE-1", "0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	for display, ok := range map[string]bool{":7": true, ":7.0": true, "unix:7": true, "localhost:7.0": true, "": false, "7": false, ":": false, ":x": false, ":-1": false, ":70000": false, "elsewhere:7": false, "10.0.0.1:7": false} {
		env := map[string]string{"DISPLAY": display, "HOME": dir}
		_, cookie, err := Named(func(name string) string { return env[name] })
		if (err == nil) != ok || ok && string(cookie) != "0123456789abcdef" {
			t.Errorf("%q: cookie %q, %v", display, cookie, err)
		}
	}
	env := map[string]string{"DISPLAY": ":7", "XAUTHORITY": dir}
	if _, _, err := Named(func(name string) string { return env[name] }); err == nil {
		t.Error("a directory has cookies")
	}
}
