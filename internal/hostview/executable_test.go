package hostview

import (
	"slices"
	"strings"
	"testing"
)

func TestExecutableRoots(t *testing.T) {
	root := build(t, tree{
		"/home/u/venv/pyvenv.cfg": "home = /home/u/.pyenv/versions/3.12/bin\n", "/home/u/.pyenv/versions/3.12/bin/python3": "x",
		"/home/u/.local/share/uv/tools/aider/pyvenv.cfg":          "home=/home/u/.local/share/uv/python/cpython-3.12/bin\n",
		"/home/u/.local/share/uv/python/cpython-3.12/bin/python3": "-> python3.12", "/home/u/.local/share/uv/python/cpython-3.12/bin/python3.12": "x",
		"/home/u/sys/pyvenv.cfg": "home = /usr/bin\n", "/home/u/loop/pyvenv.cfg": "home = /home/u/loop/bin\n", "/home/u/loop/bin/python3": "x",
		"/home/u/pyvenv.cfg": "home = /usr/bin\n",
	})
	tests := []struct{ exe, want string }{
		{"/usr/bin/claude", ""},
		{"relative", ""},
		{"/home/u2/x", ""},
		{"/home/u", ""},
		{"/home/u/.local/share/claude/versions/1.2.3", "/home/u/.local/share/claude/versions/1.2.3"},
		{"/home/u/.nvm/versions/node/v20/lib/node_modules/@a/b/cli.js", "/home/u/.nvm/versions/node/v20"},
		{"/home/u/.npm-global/lib/node_modules/pkg/bin/x.js", "/home/u/.npm-global/lib/node_modules/pkg"},
		{"/home/u/.npm-global/lib/node_modules/@s/pkg/cli.js", "/home/u/.npm-global/lib/node_modules/@s/pkg"},
		{"/home/u/tools/node_modules/pkg/cli.js", "/home/u/tools/node_modules"},
		{"/home/u/.bun/install/global/node_modules/pkg/x", "/home/u/.bun"},
		{"/home/u/.local/share/pnpm/global/5/node_modules/x/y", "/home/u/.local/share/pnpm"},
		{"/home/u/.local/bin/claude", "/home/u/.local/bin/claude"},
		{"/home/u/bin/tool", "/home/u/bin/tool"},
		{"/home/u/.asdf/installs/nodejs/20/bin/node", "/home/u/.asdf/installs/nodejs/20"},
		{"/home/u/.opencode/bin/opencode", "/home/u/.opencode/bin"},
		{"/home/u/venv/bin/tool", "/home/u/venv /home/u/.pyenv/versions/3.12"},
		{"/home/u/.local/share/uv/tools/aider/bin/aider", "/home/u/.local/share/uv/tools/aider /home/u/.local/share/uv/python/cpython-3.12"},
		{"/home/u/sys/bin/x", "/home/u/sys"},
		{"/home/u/loop/bin/x", "/home/u/loop"},
	}
	for _, tt := range tests {
		got := executableRoots(newHost(root), tt.exe, testHome)
		if !slices.Equal(got, strings.Fields(tt.want)) {
			t.Errorf("ExecutableRoots(%q) = %q, want %q", tt.exe, got, tt.want)
		}
	}
	if got := ExecutableRoots("/home/u/bin/x", ""); got != nil {
		t.Errorf("without a home: %q", got)
	}
}
