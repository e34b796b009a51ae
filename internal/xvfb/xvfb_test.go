package xvfb

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/policy"

	"pgregory.net/rapid"
)

// readAuthority is what Xau(3) does: the fields of the first entry.
func readAuthority(t *rapid.T, b []byte) (family uint16, parts []string) {
	family, b = binary.BigEndian.Uint16(b), b[2:]
	for range 4 {
		n := int(binary.BigEndian.Uint16(b))
		parts, b = append(parts, string(b[2:2+n])), b[2+n:]
	}
	if len(b) != 0 {
		t.Fatalf("%d bytes are left", len(b))
	}
	return family, parts
}

func TestAuthority(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 99999).Draw(t, "number")
		cookie := rapid.SliceOfN(rapid.Byte(), CookieSize, CookieSize).Draw(t, "cookie")
		family, parts := readAuthority(t, Authority(n, cookie))
		if want := []string{"", strconv.Itoa(n), AuthName, string(cookie)}; family != familyWild || !slices.Equal(parts, want) {
			t.Errorf("family %x, %q, want %q", family, parts, want)
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
