package cli

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
		var c ceiling
		rest, err := c.cutLeading(strings.Fields(tt.args))
		switch {
		case tt.fails != "":
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%s: %v, want %q", tt.args, err, tt.fails)
			}
		case err != nil || !slices.Equal(rest, strings.Fields(tt.rest)) || c.leading != tt.file:
			t.Errorf("%s: %q, %q, %v", tt.args, rest, c.leading, err)
		}
	}
}

func TestTemplateMounts(t *testing.T) {
	for text, want := range map[string]string{"/a:/b": "read_only", "/a/:/b:ro": "read_only", "/a:/b:rw": "read_write", "/a:/b:read_write": "read_write", "/a:/b:read_only": "read_only"} {
		if m, err := parseMount(text); err != nil || m.HostPath != "/a" || m.WorkspacePath != "/b" || m.Mode != want {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "/a", "/a:", ":/b", "a:/b", "/a:b", "/a:/b:x", "/a:/b:rw:more", "/a/..:/b", "/a:/../b"} {
		if m, err := parseMount(text); err == nil {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
	for kind, mode := range map[string]string{"open": "", "inherit_host": "", "closed": "disabled", "disabled": "disabled", "local": "local_only", "local-only": "local_only", "local_only": "local_only"} {
		text, err := (&ceilingTemplate{}).write(kind)
		if err != nil || strings.Contains(string(text), `"mode"`) != (mode != "") || !strings.Contains(string(text), mode) {
			t.Errorf("%s: %s, %v", kind, text, err)
		}
	}
}
