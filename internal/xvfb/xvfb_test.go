package xvfb

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/policy"

	"pgregory.net/rapid"
)

// readAuthority is what Xau(3) does: the fields of the first entry, and what follows it.
func readAuthority(b []byte) (family uint16, parts []string, rest []byte) {
	family, b = binary.BigEndian.Uint16(b), b[2:]
	for range 4 {
		n := int(binary.BigEndian.Uint16(b))
		parts, b = append(parts, string(b[2:2+n])), b[2+n:]
	}
	return family, parts, b
}

func TestAuthority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 99999).Draw(t, "number")
		cookie := rapid.SliceOfN(rapid.Byte(), CookieSize, CookieSize).Draw(t, "cookie")
		host := rapid.StringMatching(`[a-z0-9.-]{0,64}`).Draw(t, "host")
		family, parts, rest := readAuthority(Authority(n, cookie, host))
		if want := []string{"", strconv.Itoa(n), AuthName, string(cookie)}; family != familyWild || !slices.Equal(parts, want) {
			t.Errorf("family %x, %q, want %q", family, parts, want)
		}
		if host == "" && len(rest) == 0 {
			return
		}
		family, parts, rest = readAuthority(rest)
		want := []string{host, strconv.Itoa(n), AuthName, string(cookie)}
		if family != familyLocal || !slices.Equal(parts, want) || len(rest) != 0 {
			t.Errorf("family %x, %q and %d bytes more, want %q", family, parts, len(rest), want)
		}
	})
	if a, b := NewCookie(), NewCookie(); len(a) != CookieSize || bytes.Equal(a, b) {
		t.Errorf("cookies %x and %x", a, b)
	}
}

// TestServerArgs: a server always asks who comes, and is on no network.
func TestServerArgs(t *testing.T) {
	args := strings.Join(ServerArgs(Options{Number: 1007, Size: policy.Size{Width: 1280, Height: 800}, Authority: "/a", ReadyFD: 1}), " ")
	for _, want := range []string{" :1007 ", " -displayfd 1 ", " -auth /a ", " -nolisten tcp ", " -nolisten local ", " 1280x800x24 ", " -noreset ", " -extension GLX"} {
		if !strings.Contains(args+" ", want) {
			t.Errorf("%q is missing in %q", want, args)
		}
	}
	if gl := ServerArgs(Options{Authority: "/a", GL: true}); slices.Contains(gl, "GLX") {
		t.Errorf("with GL: %q", gl)
	}
}

// TestCompilerScript: the question for the first map is answered with the file, every
// other goes on with its arguments.
func TestCompilerScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's") // a name that wants quoting
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("compiled", "compiled\x00before")
	write("compiler", "#!/bin/sh\n{ echo \"$@\"; cat; } >\"$3\"\n")
	write("script", CompilerScript(in("compiled"), in("compiler")))
	for _, asked := range []string{Keymap, Keymap + "more\n", strings.Replace(Keymap, "us", "de", 1), "a\\nb $HOME `id` %s\n", "", "-n\n"} {
		cmd := exec.Command(in("script"), "-w", "1", in("out"))
		cmd.Stdin = strings.NewReader(asked)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Fatalf("%q: %v %s", asked, err, out)
		}
		want := "-w 1 " + in("out") + "\n" + asked
		if asked == Keymap {
			want = "compiled\x00before"
		}
		if got, err := os.ReadFile(in("out")); err != nil || string(got) != want {
			t.Errorf("%q gives %q, want %q: %v", asked, got, want, err)
		}
	}
}
