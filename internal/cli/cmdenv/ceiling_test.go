package cmdenv

import (
	"slices"
	"strings"
	"testing"
)

func TestLeadingPermissions(t *testing.T) {
	for _, tt := range []struct{ args, rest, file, fails string }{
		{"run -- true", "run -- true", "", ""},
		{"--permissions c run -- true", "run -- true", "c", ""},
		{"--permissions=c run --permissions d", "run --permissions d", "c", ""},
		{"--permissions=a=b ps", "ps", "a=b", ""},
		{"--permissions c", "", "c", ""},
		{"--help --permissions c", "--help --permissions c", "", ""},
		{"run -- carrel --permissions c", "run -- carrel --permissions c", "", ""},
		{"__complete --permissions c st", "__complete st", "", ""},
		{"--permissions", "", "", "needs a FILE"},
		{"--permissions= ps", "", "", "is empty"},
		{"--permissions a --permissions=b ps", "", "", "given twice"},
	} {
		var e Env
		rest, err := e.CutCeiling(strings.Fields(tt.args))
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v, want %q", tt.args, err, tt.fails)
			}
		case err != nil || !slices.Equal(rest, strings.Fields(tt.rest)) || e.ceiling.leading != tt.file:
			t.Errorf("%s: %q, %q, %v", tt.args, rest, e.ceiling.leading, err)
		}
	}
}
