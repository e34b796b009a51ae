package configcmd

import (
	"strings"
	"testing"
)

func TestTemplateMounts(t *testing.T) {
	for text, want := range map[string]string{"/a:/b": "read_only", "/a/:/b:ro": "read_only", "/a:/b:rw": "read_write",
		"/a:/b:read_write": "read_write", "/a:/b:read_only": "read_only"} {
		if m, err := parseMount(text); err != nil || m.HostPath != "/a" || m.WorkspacePath != "/b" || m.Mode != want {
			t.Errorf("%s: %+v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "/a", "/a:", ":/b", "a:/b", "/a:b", "/a:/b:x", "/a:/b:rw:more", "/a/..:/b", "/a:/../b"} {
		if m, err := parseMount(text); err == nil {
			t.Errorf("%q is read as %+v", text, m)
		}
	}
	for kind, mode := range map[string]string{"open": "", "inherit_host": "", "closed": "disabled", "disabled": "disabled",
		"local": "local_only", "local-only": "local_only", "local_only": "local_only"} {
		text, err := (&ceilingTemplate{}).write(kind)
		if err != nil || strings.Contains(string(text), `"mode"`) != (mode != "") || !strings.Contains(string(text), mode) {
			t.Errorf("%s: %s, %v", kind, text, err)
		}
	}
}
