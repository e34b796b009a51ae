package agents

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fakeHost is a machine as a few maps. Links are resolved in one step.
type fakeHost struct {
	path     map[string]string // command to what LookPath finds
	links    map[string]string // path to canonical path
	files    map[string]string // existing paths with their first bytes
	packages map[string]string // directory to package name
}

func (f fakeHost) host() Host {
	return Host{
		Cwd: "/home/u/project", Home: "/home/u", Project: "/home/u/project",
		LookPath: func(name string) (string, error) {
			if p, ok := f.path[name]; ok {
				return p, nil
			}
			return "", fs.ErrNotExist
		},
		EvalSymlinks: func(p string) (string, error) {
			if to, ok := f.links[p]; ok {
				return to, nil
			}
			for file := range f.files {
				if file == p || strings.HasPrefix(file, strings.TrimSuffix(p, "/")+"/") {
					return p, nil
				}
			}
			return "", fs.ErrNotExist
		},
		ReadFileHead: func(p string, n int) ([]byte, error) {
			text, ok := f.files[p]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text[:min(n, len(text))]), nil
		},
		ReadPackageName: func(dir string) (string, bool) {
			name, ok := f.packages[dir]
			return name, ok
		},
	}
}

const (
	claudePkg = "/usr/lib/node_modules/@anthropic-ai/claude-code"
	codexPkg  = "/usr/lib/node_modules/@openai/codex"
)

// machine has claude, codex and the usual runners installed, and nothing but a
// main.go in the project.
func machine() fakeHost {
	f := fakeHost{
		path:  map[string]string{},
		links: map[string]string{"/usr/bin/claude": claudePkg + "/bin/claude.exe", "/usr/bin/codex": codexPkg + "/bin/codex.js"},
		files: map[string]string{
			claudePkg + "/bin/claude.exe": "\x7fELF", codexPkg + "/bin/codex.js": "#!/usr/bin/env node\n",
			"/home/u/.local/share/claude/versions/2.1.197": "\x7fELF",
			"/opt/other/cli.js":                            "", "/home/u/project/main.go": "", "/home/u/goose/bin/goose": "\x7fELF",
		},
		packages: map[string]string{claudePkg: "@anthropic-ai/claude-code", codexPkg: "@openai/codex", "/opt/other": "other"},
	}
	for _, name := range []string{
		"env", "nice", "ionice", "nohup", "timeout", "stdbuf", "time", "setsid", "npx", "npm", "bunx", "bun", "pnpm", "pnpx",
		"yarn", "uvx", "uv", "pipx", "node", "python3", "python3.12", "deno", "bash", "ls", "aider", "gemini",
	} {
		f.path[name] = "/usr/bin/" + name
		f.files["/usr/bin/"+name] = "\x7fELF"
	}
	f.path["claude"], f.path["codex"] = "/usr/bin/claude", "/usr/bin/codex"
	f.path["goose"] = "/home/u/goose/bin/goose"
	return f
}

func TestRecognises(t *testing.T) {
	tests := []struct {
		argv  string
		agent string
		index int
		via   string
	}{
		{"claude", "claude", 1, ""},
		{"claude -p hello", "claude", 1, ""},
		{"/usr/bin/claude -p hello", "claude", 1, ""},
		{claudePkg + "/bin/claude.exe", "claude", 1, ""},
		{"codex exec x", "codex", 1, ""},
		{"gemini", "gemini", 1, ""},
		{"aider --model x", "aider", 1, ""},
		{"npx @anthropic-ai/claude-code -p x", "claude", 2, "npx"},
		{"npx -y @anthropic-ai/claude-code@latest -p x", "claude", 3, "npx"},
		{"npx --yes @openai/codex@0.169.0", "codex", 3, "npx"},
		{"npx -y --package @anthropic-ai/claude-code claude -p x", "claude", 5, "npx"},
		{"npx --package=@anthropic-ai/claude-code@2 -- claude", "claude", 4, "npx"},
		{"npm exec --yes @google/gemini-cli -- --yolo", "gemini", 4, "npm"},
		{"npm x opencode-ai", "opencode", 3, "npm"},
		{"bunx @qwen-code/qwen-code", "qwen-code", 2, "bunx"},
		{"bunx --bun opencode-ai@latest run", "opencode", 3, "bunx"},
		{"bun x @openai/codex", "codex", 3, "bun"},
		{"pnpm dlx @openai/codex", "codex", 3, "pnpm"},
		{"pnpx @openai/codex", "codex", 2, "pnpx"},
		{"yarn dlx -q @anthropic-ai/claude-code x", "claude", 4, "yarn"},
		{"uvx --from aider-chat aider --yes", "aider", 4, "uvx"},
		{"uvx --python 3.12 --from aider-chat[playwright]==0.86.1 aider", "aider", 6, "uvx"},
		{"uvx kimi-cli@latest", "kimi", 2, "uvx"},
		{"uv tool run aider-chat", "aider", 4, "uv"},
		{"pipx run aider-chat", "aider", 3, "pipx"},
		{"pipx run --spec aider-chat==1.0 aider", "aider", 5, "pipx"},
		{"env claude", "claude", 2, "env"},
		{"env -i HOME=/x A=B claude -p", "claude", 5, "env"},
		{"env -u X -uY --unset=Z --unset W - claude", "claude", 9, "env"},
		{"/usr/bin/env claude", "claude", 2, "env"},
		{"env PATH=/x /usr/bin/claude", "claude", 3, "env"},
		{"nice claude", "claude", 2, "nice"},
		{"nice -n 5 claude", "claude", 4, "nice"},
		{"nice -10 claude", "claude", 3, "nice"},
		{"nice --adjustment=3 claude", "claude", 3, "nice"},
		{"ionice -c2 -n 7 claude", "claude", 5, "ionice"},
		{"nohup claude", "claude", 2, "nohup"},
		{"timeout 10 claude -p", "claude", 3, "timeout"},
		{"timeout -k 5 -sKILL --foreground 10m claude", "claude", 7, "timeout"},
		{"stdbuf -oL -e 0 claude", "claude", 5, "stdbuf"},
		{"time -f %e claude", "claude", 4, "time"},
		{"setsid -w claude", "claude", 3, "setsid"},
		{"command claude", "claude", 2, "command"},
		{"exec -a x claude", "claude", 4, "exec"},
		{"env A=B nice -n 1 timeout 5 npx -y @openai/codex exec", "codex", 10, "env nice timeout npx"},
		{"node " + codexPkg + "/bin/codex.js exec", "codex", 2, "node"},
		{"node --max-old-space-size=8192 --no-warnings /usr/bin/codex", "codex", 4, "node"},
		{"bun run " + codexPkg + "/bin/codex.js", "codex", 3, "bun"},
		{"python3 -m aider --yes", "aider", 3, "python"},
		{"python3.12 -Im aider", "", 0, ""}, // joined options are not read
		{"python3.12 -I -m aider", "aider", 4, "python"},
		{"deno run -A npm:@google/gemini-cli@latest -p", "gemini", 4, "deno"},
	}
	for _, tt := range tests {
		t.Run(tt.argv, func(t *testing.T) {
			got, ok := Recognise(strings.Fields(tt.argv), machine().host())
			if ok != (tt.agent != "") || got.Agent.Name != tt.agent || got.Index != tt.index {
				t.Fatalf("got %q, index %d, %v; want %q, index %d", got.Agent.Name, got.Index, ok, tt.agent, tt.index)
			}
			if via := strings.Join(got.Via, " "); via != tt.via {
				t.Errorf("via %q, want %q", via, tt.via)
			}
			if ok && !filepath.IsAbs(got.Executable) {
				t.Errorf("executable %q is not absolute", got.Executable)
			}
		})
	}
}

func TestDoesNotRecognise(t *testing.T) {
	tests := []string{
		"", "ls", "ls claude", "bash -c claude", "env", "env A=B", "nice", "timeout 5", "nice -n", "npx", "node", "missing",
		// A name that the command line looks up elsewhere.
		"env PATH=/home/u/project/bin claude", "env -u PATH claude", "env -uPATH claude", "env --unset PATH claude",
		"env --unset=PATH claude", "env -iuPATH claude", "env PATH= npx @openai/codex",
		// Options that change what is run, or that nobody knows.
		"env -S claude", "env -C /home/u/project claude", "env --chdir=/x claude", "nice --what claude", "nice -z 1 claude",
		"npx -c claude", "npx --registry http://x @openai/codex", "npx --registry=http://x @openai/codex",
		"npx --userconfig x @openai/codex", "npx --what @openai/codex", "npx -w x @openai/codex",
		"node -e 1 /usr/bin/codex", "node -r ./x.js /usr/bin/codex", "node --import=./x.js /usr/bin/codex", "node --env-file=x /usr/bin/codex",
		"python3 -c 1 -m aider", "python3 -m pip", "deno eval npm:@google/gemini-cli", "deno run --import-map=x npm:@google/gemini-cli",
		// Another package, or the right name from another place.
		"npx claude", "npx @anthropic-ai/claude-code-evil", "npx @anthropic-ai/claude-code@file:./x", "npx @openai/codex@npm:evil",
		"npx @openai/codex@./x", "npx ./claude", "npx @openai/codex/x", "npx --package evil claude",
		"npx --package @openai/codex --package evil codex", "npx --package @openai/codex claude", "npx --package @openai/codex sh",
		"uvx aider", "uvx --from git+https://x aider", "uvx --from ./aider-chat aider", "uvx --with evil --from aider-chat aider",
		"uvx --from aider-chat sh", "pipx run ./x", "npm run claude", "npm install @openai/codex", "yarn claude", "pnpm exec claude",
		"bun claude.js", "uv run aider", "node /opt/other/cli.js",
		// goose is also another program, and nothing of the agent is in home.
		"goose",
	}
	for _, argv := range tests {
		t.Run(argv, func(t *testing.T) {
			if got, ok := Recognise(strings.Fields(argv), machine().host()); ok {
				t.Fatalf("recognised as %q", got.Agent.Name)
			}
		})
	}
}

func TestProjectCannotPoseAsAgent(t *testing.T) {
	const project = "/home/u/project"
	tests := []struct {
		name   string
		argv   string
		change func(*fakeHost)
	}{
		{"program in the project", "./claude", func(f *fakeHost) { f.files[project+"/claude"] = "" }},
		{"the same by its absolute path", project + "/claude", func(f *fakeHost) { f.files[project+"/claude"] = "" }},
		{"node_modules/.bin first in PATH", "claude", func(f *fakeHost) {
			f.path["claude"] = project + "/node_modules/.bin/claude"
			f.files[project+"/node_modules/.bin/claude"] = ""
		}},
		{"relative entry in PATH", "claude", func(f *fakeHost) {
			f.path["claude"] = "bin/claude"
			f.files[project+"/bin/claude"] = ""
		}},
		{"link into the project", "claude", func(f *fakeHost) {
			f.links["/usr/bin/claude"] = project + "/claude"
			f.files[project+"/claude"] = ""
		}},
		{"link in the project to the real one", "./claude", func(f *fakeHost) {
			f.files[project+"/claude"] = ""
			f.links[project+"/claude"] = claudePkg + "/bin/claude.exe"
		}},
		{"PATH directory is a link into the project", "claude", func(f *fakeHost) {
			f.path["claude"] = "/home/u/bin/claude"
			f.links["/home/u/bin"] = project + "/bin"
			f.links["/home/u/bin/claude"] = claudePkg + "/bin/claude.exe"
		}},
		{"other writable directory", "/srv/shared/claude", func(f *fakeHost) { f.files["/srv/shared/claude"] = "" }},
		{"wrapper of the project", "./nice claude", func(f *fakeHost) { f.files[project+"/nice"] = "" }},
		{"env of the project", "env claude", func(f *fakeHost) {
			f.path["env"] = project + "/env"
			f.files[project+"/env"] = ""
		}},
		{"runner of the project", "npx @openai/codex", func(f *fakeHost) {
			f.path["npx"] = project + "/node_modules/.bin/npx"
			f.files[project+"/node_modules/.bin/npx"] = ""
		}},
		{"node of the project for a script outside", "codex", func(f *fakeHost) {
			f.path["node"] = project + "/node_modules/.bin/node"
			f.files[project+"/node_modules/.bin/node"] = ""
		}},
		{"env of the project for a script outside", "codex", func(f *fakeHost) {
			f.files[codexPkg+"/bin/codex.js"] = "#!" + project + "/env node\n"
			f.files[project+"/env"] = ""
		}},
		{"interpreter with options", "codex", func(f *fakeHost) { f.files[codexPkg+"/bin/codex.js"] = "#!/usr/bin/env PATH=. node\n" }},
		{"python of the project", "python3 -m aider", func(f *fakeHost) {
			f.path["python3"] = project + "/.venv/bin/python3"
			f.links[project+"/.venv/bin/python3"] = "/usr/bin/python3"
		}},
		{"script of the project", "node cli.js", func(f *fakeHost) {
			f.files[project+"/cli.js"] = ""
			f.packages[project] = "@openai/codex"
		}},
		{"package in the project", "npx @openai/codex", func(f *fakeHost) { f.files[project+"/node_modules/@openai/codex/package.json"] = "" }},
		{"registry in .npmrc", "npx @openai/codex", func(f *fakeHost) { f.files[project+"/.npmrc"] = "save-exact=true\n@openai:registry=http://x\n" }},
		{"node-options in .npmrc", "pnpm dlx @openai/codex", func(f *fakeHost) { f.files[project+"/.npmrc"] = "node-options = --require ./x" }},
		{"yarnPath", "yarn dlx @openai/codex", func(f *fakeHost) { f.files[project+"/.yarnrc.yml"] = "" }},
		{"pnpmfile", "pnpm dlx @openai/codex", func(f *fakeHost) { f.files[project+"/.pnpmfile.cjs"] = "" }},
		{"bunfig", "bunx @openai/codex", func(f *fakeHost) { f.files[project+"/bunfig.toml"] = "" }},
		{"deno.json", "deno run -A npm:@openai/codex", func(f *fakeHost) { f.files[project+"/deno.json"] = "" }},
		{"__pypackages__", "pipx run aider-chat", func(f *fakeHost) { f.files[project+"/__pypackages__/x"] = "" }},
		{"module in the working directory", "python3 -m aider", func(f *fakeHost) { f.files[project+"/aider/__main__.py"] = "" }},
		{"module file in the working directory", "python3 -m aider", func(f *fakeHost) { f.files[project+"/aider.py"] = "" }},
		{"volta prefers the project's", "claude", func(f *fakeHost) {
			f.links["/usr/bin/claude"] = "/home/u/.volta/bin/volta-shim"
			f.files["/home/u/.volta/bin/volta-shim"] = ""
			f.files[project+"/node_modules/@anthropic-ai/claude-code/x"] = ""
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := machine()
			tt.change(&f)
			host := f.host()
			host.Foreign = []string{"/srv/shared"}
			if got, ok := Recognise(strings.Fields(tt.argv), host); ok {
				t.Fatalf("recognised as %q", got.Agent.Name)
			}
		})
	}
}

func TestHarmlessProjectSettings(t *testing.T) {
	f := machine()
	f.files["/home/u/project/.npmrc"] = "# comment\nsave-exact=true\n\nfund = false\n"
	if _, ok := Recognise([]string{"npx", "@openai/codex"}, f.host()); !ok {
		t.Error("an .npmrc that changes nothing stopped recognition")
	}
	f = machine()
	f.files["/home/u/project/aider.py"] = ""
	if _, ok := Recognise([]string{"python3", "-I", "-m", "aider"}, f.host()); !ok {
		t.Error("python -I does not read the working directory")
	}
}

func TestSharedNameNeedsPlaces(t *testing.T) {
	f := machine()
	f.files["/home/u/.config/goose/config.yaml"] = ""
	if got, ok := Recognise([]string{"goose"}, f.host()); !ok || got.Agent.Name != "goose" {
		t.Error("goose with its settings in home is not recognised")
	}
}

func TestNativeInstall(t *testing.T) {
	f := machine()
	f.path["claude"] = "/home/u/.local/bin/claude"
	f.links["/home/u/.local/bin"] = "/home/u/.local/bin"
	f.links["/home/u/.local/bin/claude"] = "/home/u/.local/share/claude/versions/2.1.197"
	if got, ok := Recognise([]string{"claude"}, f.host()); !ok || got.Executable != "/home/u/.local/share/claude/versions/2.1.197" {
		t.Errorf("got %+v, %v", got.Executable, ok)
	}
}

// The result never points beyond argv, and nothing is recognised while every
// path resolves into the project.
func TestRecogniseProperties(t *testing.T) {
	words := []string{
		"env", "nice", "-n", "5", "timeout", "npx", "-y", "--package", "claude", "codex", "@openai/codex", "A=B", "PATH=/x",
		"node", "python3", "-m", "aider", "--", "-", "uvx", "--from", "aider-chat", "/usr/bin/claude", "bun", "x", "", "-\xff",
	}
	rapid.Check(t, func(t *rapid.T) {
		argv := rapid.SliceOfN(rapid.SampledFrom(words), 0, 10).Draw(t, "argv")
		before := slices.Clone(argv)
		got, ok := Recognise(argv, machine().host())
		if ok && (got.Index < 1 || got.Index > len(argv) || got.Agent.Name == "") {
			t.Fatalf("%q: %+v", argv, got)
		}
		if !slices.Equal(argv, before) {
			t.Fatalf("argv changed")
		}
		host := machine().host()
		host.EvalSymlinks = func(string) (string, error) { return "/home/u/project/x", nil }
		if _, ok := Recognise(argv, host); ok {
			t.Fatalf("%q recognised though everything is in the project", argv)
		}
		host.EvalSymlinks = func(string) (string, error) { return "", errors.New("unreadable") }
		if _, ok := Recognise(argv, host); ok {
			t.Fatalf("%q recognised though nothing can be resolved", argv)
		}
	})
}

func FuzzPackageAgent(f *testing.F) {
	for _, seed := range []string{"@openai/codex", "@openai/codex@latest", "npm:opencode-ai@^1", "aider-chat==1", "@openai/codex@file:x", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		a, ok := packageAgent(spec)
		if !ok {
			return
		}
		rest := strings.TrimPrefix(spec, "npm:")
		if !utf8.ValidString(rest) || strings.ContainsAny(rest, " \t\n:\\") || strings.Contains(rest, "..") && strings.Contains(rest, "@.") && strings.Contains(rest, "/.") {
			t.Errorf("%q accepted as %q", spec, a.Name)
		}
		if at := strings.LastIndex(rest, "@"); at > 0 && strings.Contains(rest[at:], "/") {
			t.Errorf("%q accepted with a path as its version", spec)
		}
	})
}
