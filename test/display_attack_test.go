//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestVirtualDisplayManagerReplaced: any program may have the window manager replaced,
// which ends then, and end itself. The built-in one takes its place.
func TestVirtualDisplayManagerReplaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("Xvfb", "openbox", "xprop")
	s := w.stays("replaced", "--display", "virtual")
	manager := func() string {
		return s.sh(`xprop -id "$(xprop -root _NET_SUPPORTING_WM_CHECK | sed 's/.*# //')" _NET_WM_NAME || true`)
	}
	if got := manager(); !strings.Contains(got, "Openbox") {
		t.Fatalf("at the start: %q", got)
	}
	s.sh(`timeout 2 openbox --replace --sm-disable; true`)
	eventually(t, "there is a window manager again", func() bool { return strings.Contains(manager(), `"carrel"`) })
}
