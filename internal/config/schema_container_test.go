package config

import (
	"strings"
	"testing"
)

// TestBadImage: a name becomes an argument of the engine.
func TestBadImage(t *testing.T) {
	for _, name := range []string{"debian", "registry.example:5000/team/app:1.2", "app@sha256:" + strings.Repeat("0", 64), "a_b/c-d.e"} {
		if why := BadImage(name); why != "" {
			t.Errorf("%q: %s", name, why)
		}
	}
	for _, name := range []string{"", "-v", "--privileged", "a b", "a\nb", "a;b", "$(a)", "ä", strings.Repeat("a", 513)} {
		if BadImage(name) == "" {
			t.Errorf("%q was taken", name)
		}
	}
}
