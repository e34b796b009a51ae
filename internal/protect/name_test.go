package protect

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestName(t *testing.T) {
	tests := []struct {
		path string
		want Level
	}{
		{"", None}, {".", None}, {"main.go", None}, {"src/hooks/use.ts", None}, {"hooks/pre-commit", None}, {"git/config", None},
		// git
		{".git", Listed}, {"vendor/lib/.git", Listed}, {".git/HEAD", None}, {".git/index.lock", None}, {".git/config.lock", None},
		{".git/config", Protected}, {"a/b/.git/config", Protected}, {".git/config.worktree", Protected}, {".git/commondir", Protected}, {".git/gitdir", Protected},
		{".git/hooks", Protected}, {".git/hooks/pre-commit", Protected}, {".git/hooks/pre-commit.sample", None}, {".git/hooks/a/b.sample", Protected},
		{".git/info/attributes", Protected}, {".git/info/exclude", None}, {".git/info/attributes/x", None},
		{".git/remotes/origin", Protected}, {".git/branches/x", Protected}, {".git/branches", None},
		{".git/refs/heads/config", None}, {".git/refs/heads/hooks/x", None}, {".git/logs/refs/heads/config", None},
		{".git/worktrees/w/config.worktree", Protected}, {".git/worktrees/w/gitdir", Protected}, {".git/worktrees/w/commondir", Protected},
		{".git/worktrees/w/HEAD", None}, {".git/worktrees/config", None}, {".git/worktrees/w/modules/lib/config", Protected},
		{".git/modules/lib/config", Protected}, {".git/modules/a/b/c/config", Protected}, {".git/modules/lib/hooks/post-checkout", Protected},
		{".git/modules/lib/hooks/x.sample", None}, {".git/modules/lib/info/attributes", Protected}, {".git/modules/lib/modules/in/config", Protected},
		{".git/modules/lib/worktrees/w/gitdir", Protected}, {".git/modules/refs/config", Protected}, {".git/modules/config", None},
		{".git/modules/lib/refs/heads/config", None}, {".git/modules/lib/logs/refs/heads/hooks/x", None}, {".git/modules/lib/objects/aa/config", None},
		{".git/rebase-merge/git-rebase-todo", None}, {".git/rebase-merge/done", None},
		{".gitmodules", Listed}, {".gitattributes", Listed}, {"a/.gitattributes", Listed}, {".gitignore", None},
		// top and deep
		{".carrel.yaml", Protected}, {".carrel/config.yaml", Protected}, {".carrel", Protected}, {"sub/.carrel.yaml", Listed},
		{".claude/settings.json", Protected}, {".claude/settings.local.json", Protected}, {".claude/hooks/x.sh", Protected}, {".claude", None}, {".claude/plans/x", None},
		{"pkg/.claude/settings.json", Listed}, {".codex/config.toml", Protected}, {".gemini/settings.json", Protected}, {".gemini/other", Listed},
		{".mcp.json", Protected}, {".vscode/tasks.json", Protected}, {"node_modules/x/.vscode/tasks.json", Listed}, {"node_modules/x/.idea", Listed},
		{".idea/workspace.xml", Protected}, {".devcontainer/devcontainer.json", Protected}, {"x.code-workspace", Protected}, {"a/b.code-workspace", Listed},
		{".husky/pre-commit", Protected}, {".pre-commit-config.yaml", Protected}, {"mise.toml", Protected}, {".mise.toml", Protected}, {".envrc", Protected}, {"a/.envrc", Listed},
		{".exrc", Protected}, {".bsp/sbt.json", Protected}, {".vim/coc-settings.json", Protected}, {".lazy.lua", Protected}, {".shadowenv.d/x", Protected}, {".project", Listed}, {"a/cog.toml", Listed}, {".nvim.lua", Protected}, {".vimrc", Protected}, {".dir-locals.el", Protected}, {".gdbinit", Protected},
		{".cargo/config.toml", Protected}, {"crate/.cargo/config.toml", Listed}, {".cargo", None}, {".cargo/registry/x", None},
		{".npmrc", Protected}, {".yarnrc.yml", Protected}, {".pnpmfile.cjs", Protected}, {"node_modules/.bin/tsc", Listed}, {"node_modules/.bin", Listed}, {"node_modules/x/index.js", None},
		{"venv/bin/activate", Listed}, {".venv/bin/activate.fish", Listed}, {"bin/activated", None}, {"bin/activate", Listed},
		{"venv/lib/python3.12/site-packages/x.pth", Listed}, {"models/big.pth", None}, {"AGENTS.md", Listed}, {"sub/CLAUDE.md", Listed}, {"agents.md", None},
		// twins
		{"opencode.jsonc", Protected}, {".devcontainer.json", Protected}, {"lefthook.yaml", Protected}, {"lefthook.toml", Protected}, {"lefthook-local.yml", Protected},
		{"mise.local.toml", Protected}, {".mise/config.toml", Protected}, {".mise.dev.toml", Protected}, {".nvimrc", Protected}, {".lvimrc", Protected}, {".pdbrc", Protected},
		{".hg/hgrc", Protected}, {".jj/repo/config.toml", Protected}, {"a/.jj/repo/config.toml", Listed}, {".jj/repo/store/x", None},
		{".jj/repo", None}, {".hg/sharedpath", Protected}, {"a/.hg/sharedpath", Listed}, {".jj/workspace-config.toml", Protected}, {".envrc.private", Protected}, {".helix/languages.toml", Protected}, {".mvn/jvm.config", Protected}, {".zed/tasks.json", Protected},
		{".qwen/settings.json", Protected}, {".qwen/plans/x", Listed}, {"crush.json", Protected}, {".amp/settings.json", Protected}, {".amazonq/mcp.json", Protected},
		{".factory/hooks/x", Protected}, {".junie/mcp/x", Listed}, {".continue/mcp.json", Protected}, {".windsurf/hooks.json", Protected}, {".kiro/settings/mcp.json", Protected},
		{".claude/plugins/x", Protected}, {".agents/skills/x", Protected}, {".bashrc", Listed}, {".gitconfig", Listed}, {".github/hooks/x.json", Listed},
		{".github/copilot-instructions.md", Listed}, {"AGENTS.override.md", Listed}, {"tools/bazel", Listed}, {"tools/x", None}, {".github/ISSUE_TEMPLATE", None},
		{".git/lazygit.yml", Protected}, {"a/.git/glab-cli/config.yml", Protected}, {".git/modules/glab-cli/HEAD", None},
		{".git/glab-cli/recover/x", None},
		{".continue/mcpServers/x.yaml", Protected}, {".junie/mcp/mcp.json", Protected}, {"kilo.jsonc", Protected}, {".kilo/plugin/x.ts", Protected},
		{".vibe/config.toml", Protected}, {".direnv/flake-profile-a.rc", Protected}, {".direnv/python-3.12/bin/pip", None}, {"$irbrc", Protected},
		{"hie.yaml", Protected}, {".lsp/config.edn", Protected}, {".RData", Protected}, {".config/lefthook.yml", Protected}, {"hk.go", None},
		{".bzr/branch/branch.conf", Listed}, {".fslckout", Listed}, {".repo/repo/main.py", Protected}, {"global.json", Listed},
		{".copilot/mcp-config.json", Protected}, {".copilot/x", Listed}, {"startup.m", Protected}, {".config/wt.toml", Listed},
		{".idx/dev.nix", Listed}, {".p4config", Listed}, {".directory", Listed}, {".rspec", Listed}, {".tflint.d/x", Listed}, {".replit", Listed},
		{".vscode.bak/x", None}, {"x.vscode", None}, {".GIT/config", None}, {".VSCODE", None},
	}
	for _, tt := range tests {
		rule, got := Name(tt.path, false)
		if got != tt.want || (rule == "") != (got == None) {
			t.Errorf("Name(%q) = %q, %v; want %v", tt.path, rule, got, tt.want)
		}
		if rule, got := Name(tt.path, true); got < tt.want {
			t.Errorf("Name(%q, fold) = %q, %v; want at least %v", tt.path, rule, got, tt.want)
		}
	}
}

func TestNameFolded(t *testing.T) {
	for _, path := range []string{
		".GIT/Hooks/pre-commit", ".Git/CONFIG", ".git/con\ufb01g", ".g\u200cit/config", ".gi\u00adt/config", ".git./config", ".git /config",
		"GIT~1/config", "git~1/HOOKS/x", ".git/CONFIG~1.WOR", ".git/COMMON~1", ".git/\ufeffconfig",
		".VSCODE/tasks.json", "VSCODE~1/tasks.json", ".Claude/Settings.JSON", "CLAUDE~1/SETTIN~1.JSO", ".claude/setting\u017f.json", "CARREL~1.YAM", ".hus\u212ay", ".GITHOO\u212aS/x", "GI1A2B~1/config",
	} {
		if rule, level := Name(path, true); level != Protected {
			t.Errorf("Name(%q, fold) = %q, %v; want protected", path, rule, level)
		}
	}
	for _, path := range []string{"main.go", ".git/HEAD", "src/\ufb01le.go", ".git\xff/config", "...", " ", "README~", "a~1", "notes~1.txt", "~1", "é/è"} {
		if rule, level := Name(path, true); level != None {
			t.Errorf("Name(%q, fold) = %q, %v; want none", path, rule, level)
		}
	}
	if _, level := Name("agents.md", true); level != Listed {
		t.Errorf("agents.md is %v on a file system without case", level)
	}
}

func TestComponentAndRenamed(t *testing.T) {
	for _, name := range []string{".git", ".husky", ".githooks", ".vscode", ".idea", ".devcontainer", ".cargo", ".claude", ".codex", ".gemini", ".carrel"} {
		for _, f := range []func(string, bool) (string, bool){Component, Renamed} {
			if rule, ok := f(name, false); !ok || rule == "" {
				t.Errorf("a directory may be renamed to %s", name)
			}
			if _, ok := f(strings.ToUpper(name), true); !ok {
				t.Errorf("a directory may be renamed to %s without case", strings.ToUpper(name))
			}
			if _, ok := f(strings.ToUpper(name), false); ok {
				t.Errorf("%s counts where case does", strings.ToUpper(name))
			}
		}
		if _, ok := Renamed("a/b/"+name, false); !ok {
			t.Errorf("a directory may be renamed to a/b/%s", name)
		}
	}
	for _, name := range []string{"", "src", "hooks", "info", "modules", "node_modules", ".github", "bin", ".npmrc"} {
		if rule, ok := Component(name, false); ok {
			t.Errorf("Component(%q) = %q", name, rule)
		}
	}
	for path, want := range map[string]bool{
		".git/info": true, ".git/modules": true, ".git/modules/lib": true, ".git/modules/a/b": true, ".git/worktrees": true, ".git/worktrees/w": true, ".git/hooks": true,
		".git/modules/lib/info": true, ".git/modules/lib/refs/heads": false, ".git/refs/heads": false, ".git/objects/aa": false, ".git/rebase-merge": false, ".git/worktrees/w/refs": false,
		".jj": true, ".jj/repo": true, "a/.jj/repo": true, ".jj/repo/store": false,
		"src/hooks": false, "src/modules": false, "": false, "a": false, ".git/remotes": true, ".npmrc": true,
	} {
		if rule, ok := Renamed(path, false); ok != want {
			t.Errorf("Renamed(%q) = %q, %v; want %v", path, rule, ok, want)
		}
	}
}

func TestRepository(t *testing.T) {
	for path, want := range map[string]Level{"": None, "config": Protected, "hooks/update": Protected, "hooks/update.sample": None, "HEAD": None, "modules/x/config": Protected, "CONFIG": None, "refs/heads/config": None} {
		if rule, got := Repository(path, false); got != want {
			t.Errorf("Repository(%q) = %q, %v; want %v", path, rule, got, want)
		}
	}
	if _, got := Repository("Hooks/Update", true); got != Protected {
		t.Errorf("Hooks/Update is %v without case", got)
	}
	for _, tt := range []struct {
		names string
		want  bool
	}{
		{"HEAD objects refs config", true}, {"HEAD objects refs config hooks", true}, {"HEAD config commondir", true},
		{"HEAD objects refs", true}, {"objects refs config", false}, {"HEAD objects config", false}, {"", false},
		{"HEAD commondir", true}, {"objects refs config worktrees", true}, {"objects refs worktrees", false}, {"objects refs hooks commondir", false},
	} {
		has := func(name string) bool { return strings.Contains(" "+tt.names+" ", " "+name+" ") }
		if got := BareRepository(has); got != tt.want {
			t.Errorf("a directory with %q is a repository: %v", tt.names, got)
		}
	}
}

func TestInNewRepository(t *testing.T) {
	for path, want := range map[string]bool{
		"config": true, "config.worktree": true, "hooks": true, "worktrees/w/gitdir": true, "worktrees/w/commondir": true, "modules/lib/config": true, "modules/a/b/config": true,
		"modules/hooks/config": true, "modules/lib/worktrees/w/gitdir": true,
		"hooks/pre-commit": false, "modules/lib/hooks/pre-commit": false, "info/attributes": false, "remotes/origin": false, "": false, "hooks/config": false, "modules/lib/hooks/config": false,
	} {
		if got := InNewRepository(path, false); got != want {
			t.Errorf("InNewRepository(%q) = %v", path, got)
		}
	}
}

// TestTable holds what rule.matches relies on.
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range table() {
		if seen[r.pattern] {
			t.Errorf("%s is in the table twice", r.pattern)
		}
		seen[r.pattern] = true
		if r.why == "" || r.top < r.deep || r.deep == None {
			t.Errorf("%s: want a reason and levels that do not grow with depth", r.pattern)
		}
		for _, part := range strings.Split(r.pattern, "/") {
			if strings.Count(part, "*") > 1 || !ascii(part) || part == "" {
				t.Errorf("%s: %q is no component that can be matched", r.pattern, part)
			}
		}
		path := strings.ReplaceAll(r.pattern, "*", "x")
		if _, level := Name(path, false); level < r.top {
			t.Errorf("%s is %v at the top, want %v", path, level, r.top)
		}
		if _, level := Name("a/b/"+strings.ToUpper(path), true); level < r.deep {
			t.Errorf("%s is %v deeper without case, want %v", path, level, r.deep)
		}
	}
}

// What foldName equates is at least what letters in another case are.
func TestNameProperties(t *testing.T) {
	part := rapid.OneOf(rapid.SampledFrom([]string{".git", "hooks", "config", "modules", "worktrees", ".vscode", ".claude", "settings.json", "x", "refs", "info", "attributes"}), rapid.String(), rapid.StringN(0, 8, 8))
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "/")
		_, plain := Name(path, false)
		_, folded := Name(path, true)
		_, upper := Name(strings.ToUpper(path), true)
		if folded < plain {
			t.Fatalf("%q: %v with case, %v without", path, plain, folded)
		}
		if ascii(path) && upper != folded {
			t.Fatalf("%q: %v, in capitals %v", path, folded, upper)
		}
		if _, deep := Name("a/"+path, false); deep > plain && path != "" {
			t.Fatalf("%q: %v at the top, %v below", path, plain, deep)
		}
		if _, ok := Renamed(path, false); plain == Protected && !ok {
			t.Fatalf("%q is protected, but a directory may be renamed to it", path)
		}
	})
}

func BenchmarkName(b *testing.B) {
	for b.Loop() {
		Name("packages/app/node_modules/library/dist/esm/index.js", false)
	}
}
