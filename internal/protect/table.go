package protect

import (
	"slices"
	"sync"
)

// table lists the names and what is done about them, but for git's control
// files, which repository judges. Three kinds:
//
//   - protected: what mounts protect where it exists is refused at the top of a
//     root also where it does not. Nobody's build needs to make these there, and
//     programs outside act on them without being asked.
//   - hint: everything else is recorded and listed. Deeper in the tree that is
//     all of them, as packages, templates and submodules bring such files along.
//     A directory may nowhere get the first name of such a path, so that names of ordinary
//     directories (tools/bazel, .github/hooks) are hints.
//   - names that programs inside write in everyday work (.gitmodules, AGENTS.md,
//     node_modules/.bin) are hints at the top as well.
//
// Names of one program share its verdict: opencode.jsonc is what opencode.json is.
var table = sync.OnceValue(func() []rule { return slices.Concat(names(), agents()) })

func names() []rule {
	return []rule{
		// Ours: a run must not change the next run's policy.
		protected(".carrel.yaml", "carrel policy"), protectedDir(".carrel", "carrel policy"),
		// Shells and version managers act on entering a directory.
		protected(".envrc", "direnv runs it"), protected(".envrc.*", "direnv runs it where .envrc names it"), protected(".autoenv*", "autoenv runs it"),
		protected(".in", "autoenv runs it"), protected(".out", "autoenv runs it"),
		protected(".bash_enter", "smartcd runs it"), protected(".bash_leave", "smartcd runs it"), protectedDir(".smartcd", "smartcd runs it"), protectedDir(".shadowenv.d", "shadowenv runs it"),
		hint(".tmuxp.*", "tmuxp runs it"), hint(".tmuxinator.yml", "tmuxinator runs it"), hint("global.json", "dotnet picks programs by it"),
		protected(".rvmrc", "rvm runs it"), protected(".rbenv-vars", "every ruby of rbenv loads what it names"),
		protected(".prototools", "proto sets variables by it"),
		protected(".direnv/*.rc", "direnv runs what nix-direnv kept there"), hintDir(".devenv", "devenv runs what it kept there"),
		hint("bin/activate-hermit", "hermit runs it"),
		protected(".tool-versions", "asdf and mise pick programs by it"), protected(".bazeliskrc", "bazelisk starts what it names"),
		protected("mise.toml", "mise runs it"), protected("mise.*.toml", "mise runs it"), protected(".mise.toml", "mise runs it"), protected(".mise.*.toml", "mise runs it"),
		hint("mise/config*.toml", "mise runs it"), protectedDir(".mise", "mise runs it"), protected(".config/mise.toml", "mise runs it"),
		protected(".config/mise.*.toml", "mise runs it"), protectedDir(".config/mise", "mise runs it"),
		hint("rust-toolchain", "rustup picks programs by it"), hint("rust-toolchain.toml", "rustup picks programs by it"),
		hint(".bashrc", "a shell runs it, where the project is linked from home"), hint(".bash_login", "a shell runs it, where the project is linked from home"),
		hint(".bash_logout", "a shell runs it, where the project is linked from home"), hint(".zlogout", "a shell runs it, where the project is linked from home"),
		hint(".bash_aliases", "a shell runs it, where the project is linked from home"), hint(".zlogin", "a shell runs it, where the project is linked from home"),
		hint(".bash_profile", "a shell runs it, where the project is linked from home"),
		hint(".profile", "a shell runs it, where the project is linked from home"), hint(".zshrc", "a shell runs it, where the project is linked from home"),
		hint(".zshenv", "a shell runs it, where the project is linked from home"), hint(".zprofile", "a shell runs it, where the project is linked from home"),
		hint(".gitconfig", "git runs what it names, where the project is linked from home"), hint(".inputrc", "a shell reads it, where the project is linked from home"),
		hint(".ripgreprc", "rg reads it, where the project is linked from home"),
		hint("devbox.json", "devbox runs it"), hint("flake.nix", "nix runs it"), hint("shell.nix", "nix runs it"), hint("devenv.nix", "devenv runs it"),
		hintDir(".ddev", "container set-up"), hint(".lando.yml", "container set-up"), hint("Vagrantfile", "vagrant runs it"),
		// Hook managers.
		protectedDir(".husky", "git hooks"), protected(".huskyrc*", "git hooks"), protectedDir(".githooks", "git hooks"), protectedDir(".git-hooks", "git hooks"),
		protected(".pre-commit-config.yaml", "git hooks"), protected(".pre-commit-config.yml", "git hooks"), protected("prek.toml", "git hooks"),
		protected("lefthook.*", "git hooks"), protected(".lefthook.*", "git hooks"), protected("lefthook-local.*", "git hooks"), protected(".lefthook-local.*", "git hooks"),
		protected(".config/lefthook*", "git hooks"), protected("hk.toml", "git hooks"), protected("hk.y*ml", "git hooks"),
		protected("hk.json", "git hooks"), protected("hk.local.*", "git hooks"),
		protected(".config/hk.*", "git hooks"), protected("simple-git-hooks.*", "git hooks"), protected(".rusty-hook.toml", "git hooks"),
		hint("lint-staged.config.*", "git hooks run it"),
		protected("grumphp.*", "git hooks"), hint("commitlint.config.*", "git hooks run it"),
		hint(".commitlintrc*", "git hooks run what it names"), hint("cog.toml", "git hooks"),
		protectedDir(".lefthook", "git hooks"), protected(".overcommit.yml", "git hooks"), protected("hk.pkl", "git hooks"),
		protected(".simple-git-hooks.*", "git hooks"), protected("captainhook.json", "git hooks"), hint(".lintstagedrc*", "git hooks run what it names"),
		// Version control. Submodules are added and attributes set in ordinary
		// work; both only choose among what the configuration holds.
		hint(".gitmodules", "submodule addresses"), hint(".gitattributes", "chooses among configured filters and drivers"),
		protected(".hg/hgrc", "Mercurial runs what it names"), protected(".hg/hgrc-not-shared", "Mercurial runs what it names"), protected(".hg/sharedpath", "leads Mercurial elsewhere"),
		protected(".jj/repo/config.toml", "Jujutsu runs what it names"), protected(".jj/workspace-config.toml", "Jujutsu runs what it names"),
		hint(".jj/repo/config-id", "leads Jujutsu elsewhere"), hint(".jj/workspace-config-id", "leads Jujutsu elsewhere"), hint(".sl/sharedpath", "leads Sapling elsewhere"),
		hint(".sl/config", "Sapling runs what it names"), hintDir("_darcs/prefs", "darcs runs what it names"),
		hint(".bzr/branch/branch.conf", "Breezy runs what it names"), hint(".fslckout", "leads Fossil to settings that it runs"),
		hint("_FOSSIL_", "leads Fossil to settings that it runs"),
		hint(".pijul/config", "Pijul runs what it names"), protectedDir(".repo/repo", "repo runs it"), hint(".gclient", "gclient runs it"),
		hint(".west/config", "west runs what it names"),
		protected(".lazygit.yml", "lazygit runs what it names"),
		// Editors and debuggers act on opening a project.
		protectedDir(".vscode", "editor tasks"), protectedDir(".idea", "editor tasks"), protectedDir(".run", "editor tasks"), protectedDir(".devcontainer", "container set-up"),
		protected(".devcontainer.json", "container set-up"), protected("*.code-workspace", "editor tasks"), protectedDir(".zed", "editor tasks"),
		protectedDir(".helix", "editor settings"), hint("*.sublime-project", "editor tasks"), hintDir(".settings", "editor settings"),
		protectedDir(".theia", "editor tasks"), protected(".lite_project.lua", "an editor runs it"), hintDir(".nova", "editor tasks"),
		hintDir(".fleet", "editor tasks"), hintDir(".vs", "editor tasks"),
		hintDir(".lapce", "editor settings"), hint(".kateproject", "an editor starts the server that it names"),
		hint(".neoconf.json", "editor settings"), hint("Session.vim", "vim runs it"),
		protected(".lsp/config.edn", "editors run what it names"), protected("hie.yaml", "editors run what it names"),
		protected(".hie-bios", "editors run it"), hint(".merlin", "editors run what it names"),
		protected("rust-analyzer.toml", "editors run what it names"), hint("rust-project.json", "editors load what it names"),
		protected("buildServer.json", "editors start the build server that it names"),
		protected("kls-classpath*", "editors run it"), protected("kotlinLspClasspath.*", "editors run it"),
		hint("omnisharp.json", "editors load what it names"), hint(".factorypath", "editors load what it names"),
		hint(".luarc.json*", "editors load what it names"), hint(".ropeproject/config.py", "editors run it"),
		hint(".formatter.exs", "editors run it"), hint("gtags.conf", "gtags loads what it names"),
		hint(".globalrc", "gtags loads what it names"), protected(".gvimrc", "vim runs it where exrc is set"),
		protected("_gvimrc", "vim runs it where exrc is set"), protected("_exrc", "vim runs it"),
		protectedDir(".bsp", "editors start the build server that it names"), hint(".project", "an editor runs the builders that it names"),
		protectedDir(".vim", "vim runs it, and what its plugins name"), protected(".lazy.lua", "neovim runs it"), protectedDir(".nvim", "neovim runs it"),
		protected(".exrc", "vim runs it"), protected(".nvim.lua", "neovim runs it"), protected(".nvimrc", "neovim runs it"),
		protected(".vimrc", "vim runs it where exrc is set"), protected("_vimrc", "vim runs it where exrc is set"), protected(".lvimrc", "vim runs it"),
		protected(".local.vimrc", "vim runs it"), protected(".vimspector.json", "vim runs what it names"), protected(".ycm_extra_conf.py", "vim runs it"),
		protected(".dir-locals.el", "emacs runs it"), protected(".dir-locals-2.el", "emacs runs it"),
		protected(".gdbinit", "gdb runs it"), protected(".lldbinit", "lldb runs it"), protected(".pdbrc", "pdb runs it"), protected(".ghci", "ghci runs it"),
		protected(".Rprofile", "R runs it"), protected(".Renviron", "R reads it"), protected(".irbrc", "irb runs it"),
		protected("irb.rc", "irb runs it"), protected("_irbrc", "irb runs it"), protected("$irbrc", "irb runs it"),
		protected(".pryrc", "pry runs it"),
		protected(".iex.exs", "iex runs it"), protected(".ocamlinit", "ocaml runs it"), protected(".octaverc", "octave runs it"),
		protected(".RData", "R runs what it holds"), hint("renv/activate.R", "R runs it"), protected(".psysh.php", "psysh runs it"),
		protected(".phpdbginit", "phpdbg runs it"), protected(".byebugrc", "byebug runs it"),
		protected(".rdbgrc*", "rdbg runs it"), protected(".pdbrc.py", "pdb runs it"), protected(".erlang", "erl runs it"),
		protected(".rootlogon.C", "root runs it"), protected("rootlogon.C", "root runs it"),
		hint(".eslintrc.*js", "editors load it"), hint("eslint.config.*", "editors load it"), hint("prettier.config.*", "editors load it"), hint(".prettierrc.*js", "editors load it"),
		hint(".pylintrc", "pylint runs what it names"), hint(".golangci.y*ml", "a linter reads it"), hint(".rubocop.yml", "a linter reads it"), hint(".flake8", "a linter reads it"),
		// Package managers and build tools.
		protected(".npmrc", "package manager settings"), protected(".yarnrc.yml", "package manager settings"), protected(".yarnrc", "package manager settings"),
		protected(".pnpmfile.cjs", "pnpm runs it"), protected(".pnpmfile.mjs", "pnpm runs it"), hint(".pnp.*", "node loads it"), hintDir(".yarn/releases", "yarn runs it"),
		hintDir(".yarn/plugins", "yarn runs it"), hintDir(".yarn/sdks", "editors run it"), hint("pnpm-workspace.yaml", "pnpm reads it"),
		protected(".cargo/config.toml", "cargo runs what it names"), protected(".cargo/config", "cargo runs what it names"),
		protectedDir(".mvn", "Maven loads what it names"), hintDir("gradle/wrapper", "gradle starts what it names"), hint("gradle.properties", "gradle reads it"),
		hint("tools/bazel", "bazel runs it"), hint("bunfig.toml", "bun loads what it names"), hint(".bazelrc", "bazel settings"), hint(".buckconfig", "buck settings"),
		hint("pants.toml", "pants settings"), hintDir(".bundle", "bundler loads what it names"), hint("uv.toml", "package manager settings"), hint("poetry.toml", "package manager settings"),
		hint(".condarc", "package manager settings"), hint("NuGet.config", "package manager settings"), hint("Directory.Build.*", "MSBuild runs it"), hint(".user.ini", "PHP loads what it names"),
		hint("ansible.cfg", "ansible runs what it names"), hint("Tiltfile", "tilt runs it"), hint(".actrc", "act reads it"), hintDir(".terraform", "terraform runs it"),
		hint("docker-compose.override.y*ml", "docker compose runs it"), hint("compose.override.y*ml", "docker compose runs it"), hint(".gitpod.yml", "container set-up"),
		hintDir("node_modules/.bin", "package scripts run it by name"),
		hint("bin/activate", "entering a Python environment runs it"), hint("bin/activate.*", "entering a Python environment runs it"),
		hint("site-packages/*.pth", "every start of Python runs it"), hint("site-packages/sitecustomize.py", "every start of Python runs it"),
		hint("site-packages/usercustomize.py", "every start of Python runs it"),
		hint(".rspec", "rspec loads what it names"), hintDir(".tflint.d", "tflint runs it"),
		hint(".config/wt.toml", "worktrunk runs what it names"), hint(".p4config", "leads Perforce elsewhere"),
		protected("startup.m", "MATLAB runs it"), hint(".idx/dev.nix", "container set-up"), hint(".replit", "container set-up"),
		hint(".directory", "a file manager reads it"),
		hint(".desktop", "a file manager starts it"), hint("*.desktop", "a file manager starts it"), hint("autorun.*", "a file manager starts it"),
		// Runs elsewhere, once pushed.
		hintDir(".github/workflows", "CI runs it"), hintDir(".github/actions", "CI runs it"), hint(".gitlab-ci.yml", "CI runs it"), hintDir(".circleci", "CI runs it"),
		hintDir(".forgejo", "CI runs it"), hintDir(".gitea", "CI runs it"), hint(".woodpecker*", "CI runs it"), hint(".drone.yml", "CI runs it"), hint("Jenkinsfile", "CI runs it"),
		hint("azure-pipelines.yml", "CI runs it"), hint("bitbucket-pipelines.yml", "CI runs it"), hint(".travis.yml", "CI runs it"), hintDir(".buildkite", "CI runs it"),
		hint(".appveyor.yml", "CI runs it"), hint("appveyor.yml", "CI runs it"), hint(".cirrus.yml", "CI runs it"), hintDir(".builds", "CI runs it"), hint("buildspec.y*ml", "CI runs it"),
		hint("cloudbuild.y*ml", "CI runs it"), hintDir(".tekton", "CI runs it"),
	}
}

// agents are the names of coding agents: what starts programs is protected. Instructions
// are text that agents and people edit every day.
func agents() []rule {
	list := []rule{
		protected(".mcp.json", "agents start its servers"), protected(".lsp.json", "agents start its servers"),

		protected(".claude/launch.json", "agent settings"), protected(".claude/scheduled_tasks.json", "an agent runs it"), hintDir(".claude/rules", "agent instructions"),
		hint(".github/mcp.json", "agents start its servers"), protectedDir(".agents/hooks", "agent hooks"), protected(".cline/mcp*.json", "agents start its servers"), protectedDir(".claude/output-styles", "agent instructions"), protectedDir(".claude-plugin", "agent plugins"),
		protectedDir(".codex", "agent settings"), protectedDir(".agents/skills", "agent skills"), protected(".gemini/settings.json", "agent settings"), protected(".gemini/.env", "agent settings"),
		protectedDir(".gemini/policies", "agent settings"),
		protectedDir(".cursor", "agent settings"), protectedDir(".opencode", "agent settings"), protected("opencode.json", "agent settings"), protected("opencode.jsonc", "agent settings"),
		protected("crush.json", "agent settings"), protected(".crush.json", "agent settings"), protected("crushrc", "agent settings"), protected(".crushrc", "agent settings"),
		hintDir(".github/hooks", "agent hooks"), hintDir(".github/agents", "agent definitions"), hintDir(".github/skills", "agent skills"), hintDir(".github/prompts", "agent instructions"),
		protected(".aider.conf.yml", "agent settings"), protectedDir(".goose", "agent settings"), protected("gptme.toml", "agent settings"),
		protected("kilo.json*", "agent settings"), protected(".kilo/kilo.json*", "agent settings"),
		protectedDir(".kilo/plugin", "agent plugins"), protectedDir(".kilo/tool", "agent plugins"),
		protectedDir(".kilo/tools", "agent plugins"), protectedDir(".kilo/command", "agent commands"),
		protectedDir(".kilo/agent", "agent definitions"), protected(".vibe/config.toml", "agent settings"),
		protectedDir(".vibe/tools", "agent plugins"), protected(".opencode.json", "agent settings"),
		protected(".continuerc.json", "agent settings"), protected("codebuff.json", "an agent runs it"),
		protected(".qwen/.env", "agent settings"), protected(".iflow/.env", "agent settings"),
		protected(".junie/mcp/mcp*.json", "agents start its servers"), protectedDir(".continue/mcpServers", "agents start its servers"),
		protected(".tabnine/agent/settings.json", "agent settings"),
		protected("forge.yaml", "agent settings"), protectedDir(".ai/mcp", "agents start its servers"), protected(".openhands/setup.sh", "an agent runs it"),
		protectedDir(".kiro/settings", "agent settings"), protectedDir(".amazonq/cli-agents", "agent definitions"), protectedDir(".factory/droids", "agent definitions"),
		hint(".cursorrules", "agent instructions"), hint(".windsurfrules", "agent instructions"), hint(".goosehints", "agent instructions"), hint(".roomodes", "agent settings"),
		hint("AGENTS*.md", "agent instructions"), hint("AGENT.md", "agent instructions"), hint("CLAUDE*.md", "agent instructions"), hint("GEMINI.md", "agent instructions"), hint("QWEN.md", "agent instructions"),
		hint("CRUSH*.md", "agent instructions"), hint("WARP.md", "agent instructions"), hint("CONVENTIONS.md", "agent instructions"),
		hint(".github/copilot-instructions.md", "agent instructions"), hintDir(".github/instructions", "agent instructions"),
	}
	for _, dir := range []string{".claude", ".gemini", ".qwen", ".iflow", ".windsurf", ".clinerules", ".roo", ".kilocode", ".kilo", ".continue", ".kiro", ".amazonq", ".amp", ".factory",
		".augment", ".junie", ".trae", ".openhands", ".pi", ".letta", ".vibe", ".kimi", ".rovodev", ".qoder", ".codebuddy", ".agent", ".warp", ".tabnine",
		".grok", ".llxprt", ".copilot"} {
		list = append(list, protected(dir+"/mcp*.json", "agents start its servers"), protected(dir+"/settings*.json", "agent settings"), protected(dir+"/hooks*.json", "agent hooks"),
			protectedDir(dir+"/hooks", "agent hooks"), protectedDir(dir+"/commands", "agent commands"), protectedDir(dir+"/agents", "agent definitions"), protectedDir(dir+"/skills", "agent skills"),
			protectedDir(dir+"/plugins", "agent plugins"), protectedDir(dir+"/extensions", "agent plugins"), protectedDir(dir+"/workflows", "agent commands"))
		if dir != ".claude" {
			list = append(list, hintDir(dir, "agent settings"))
		}
	}
	return list
}

func protected(pattern, why string) rule {
	return rule{pattern: pattern, top: Protected, deep: Listed, why: why}
}

func protectedDir(pattern, why string) rule {
	return rule{pattern: pattern, tree: true, top: Protected, deep: Listed, why: why}
}

func hint(pattern, why string) rule {
	return rule{pattern: pattern, top: Listed, deep: Listed, why: why}
}

func hintDir(pattern, why string) rule {
	return rule{pattern: pattern, tree: true, top: Listed, deep: Listed, why: why}
}

// Top is a name at the top of a root that is protected there.
type Top struct {
	Pattern string // below the root; its last part may have a "*"
	Why     string
}

// Tops gives all of them, but for git's.
func Tops() []Top {
	var out []Top
	for _, r := range table() {
		if r.top == Protected {
			out = append(out, Top{r.pattern, r.why})
		}
	}
	return out
}
