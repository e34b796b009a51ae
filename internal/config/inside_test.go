package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInside: what leads into a machine is left out, however it is written, and nothing else.
func TestInside(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"backend: lima\n": "{}\n",
		"# mine\nbackend: lima\nnetwork: closed\n":                    "network: closed\n",
		"lima:\n  image: /x\n  # of it\n  cpus: 2\nread: [~/notes]\n": "read: [~/notes]\n",
		"{backend: lima, network: closed}\n":                          "{network: closed}\n",
		"lima: {image: /x,\n  cpus: 2}\ndeny: [':project/x']\n":       "deny: [':project/x']\n",
		"presets:\n  a:\n    backend: none\n":                         "presets:\n",
	} {
		out, err := Inside([]byte(text))
		led := strings.Contains(string(out), "image") || strings.Contains(string(out), "backend: lima")
		if err != nil || !strings.Contains(string(out), want) || led {
			t.Errorf("%q: %q, %v, want %q", text, out, err, want)
		}
	}
	for _, text := range []string{"- a\n- b\n", "a: ["} {
		if out, err := Inside([]byte(text)); err == nil {
			t.Errorf("%q: %q", text, out)
		}
	}
}

// TestBackend: the operator's word stands before the user's, and no project has one.
func TestBackend(t *testing.T) {
	for _, c := range []struct{ operator, user, project, want string }{
		{"", "", "", ""},
		{"", "backend: lima\n", "", "lima"},
		{"backend: process\n", "backend: lima\n", "", "process"},
		{"", "", "backend: lima\n", ""},
	} {
		dir := t.TempDir()
		at := func(name, text string) string {
			path := filepath.Join(dir, name)
			if text != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return path
		}
		at("home/.config/carrel/config.yaml", c.user)
		at("p/.carrel.yaml", c.project)
		l, err := Load(Options{Home: dir + "/home", Project: dir + "/p", OperatorFile: at("operator.yaml", c.operator)})
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Backend(); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
