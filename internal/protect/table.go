package protect

// table lists the names and what is done about them, but for git's control
// files, which repository judges. Three kinds:
//
//   - protected: what mounts protect where it exists is refused at the top of a
//     root also where it does not. Nobody's build needs to make these there, and
//     programs outside act on them without being asked.
//   - hint: everything else is recorded and listed. Deeper in the tree that is
//     all of them, as packages, templates and submodules bring such files along.
//   - names that programs inside write in everyday work (.gitmodules, AGENTS.md,
//     node_modules/.bin) are hints at the top as well.
func table() []rule {
	return []rule{
		// Ours: a run must not change the next run's policy.
		protected(".carrel.yaml", "carrel policy"), protectedDir(".carrel", "carrel policy"),
		// Shells and version managers act on entering a directory.
		protected(".envrc", "direnv runs it"), protected(".tool-versions", "asdf and mise pick programs by it"),
		protected("mise.toml", "mise runs it"), protected(".mise.toml", "mise runs it"),
		hint("mise.local.toml", "mise runs it"), hint(".mise.local.toml", "mise runs it"), hint("mise/config.toml", "mise runs it"),
		hintDir(".mise", "mise runs it"), hint(".config/mise.toml", "mise runs it"), hintDir(".config/mise", "mise runs it"),
		hint("rust-toolchain", "rustup picks programs by it"), hint("rust-toolchain.toml", "rustup picks programs by it"),
		// Hook managers.
		protectedDir(".husky", "git hooks"), protectedDir(".githooks", "git hooks"),
		protected(".pre-commit-config.yaml", "git hooks"), protected("lefthook.yml", "git hooks"),
		hint("lefthook.yaml", "git hooks"), hint(".lefthook.yml", "git hooks"), hint(".lefthook.yaml", "git hooks"), hint("lefthook-local.yml", "git hooks"),
		hintDir(".lefthook", "git hooks"), hint(".overcommit.yml", "git hooks"),
		// Version control. Submodules are added and attributes set in ordinary
		// work; both only choose among what the configuration holds.
		hint(".gitmodules", "submodule addresses"), hint(".gitattributes", "chooses among configured filters and drivers"),
		hint(".hg/hgrc", "Mercurial runs what it names"), hint(".jj/repo/config.toml", "Jujutsu runs what it names"),
		// Agents: what starts programs. Instructions are text that agents and
		// people edit every day.
		protected(".mcp.json", "agents start its servers"), protected(".claude/settings*.json", "agent hooks"),
		protectedDir(".claude/hooks", "agent hooks"), protectedDir(".claude/commands", "agent commands"),
		protectedDir(".claude/agents", "agent definitions"), protectedDir(".claude/skills", "agent skills"),
		protectedDir(".codex", "agent settings"), protected(".gemini/settings.json", "agent settings"), hintDir(".gemini", "agent settings"),
		protectedDir(".cursor", "agent settings"), protectedDir(".opencode", "agent settings"), protected("opencode.json", "agent settings"),
		hint("opencode.jsonc", "agent settings"), hint(".cursorrules", "agent instructions"), hintDir(".windsurf", "agent settings"), hintDir(".roo", "agent settings"),
		hint(".aider.conf.yml", "agent settings"), hintDir(".kiro", "agent settings"),
		hint("AGENTS.md", "agent instructions"), hint("CLAUDE.md", "agent instructions"), hint("CLAUDE.local.md", "agent instructions"), hint("GEMINI.md", "agent instructions"),
		// Editors and debuggers act on opening a project.
		protectedDir(".vscode", "editor tasks"), protectedDir(".idea", "editor tasks"), protectedDir(".devcontainer", "container set-up"),
		hint(".devcontainer.json", "container set-up"), hint("*.code-workspace", "editor tasks"), hint(".zed/tasks.json", "editor tasks"), hint(".zed/settings.json", "editor tasks"),
		protected(".exrc", "vim runs it"), protected(".nvim.lua", "neovim runs it"), hint(".nvimrc", "neovim runs it"), hint(".vimrc", "vim runs it where exrc is set"),
		protected(".dir-locals.el", "emacs runs it"), hint(".dir-locals-2.el", "emacs runs it"),
		protected(".gdbinit", "gdb runs it"), protected(".lldbinit", "lldb runs it"),
		// Package managers and build tools.
		protected(".npmrc", "package manager settings"), protected(".yarnrc.yml", "package manager settings"), protected(".yarnrc", "package manager settings"),
		protected(".pnpmfile.cjs", "pnpm runs it"), hint(".pnp.cjs", "node loads it"), hintDir(".yarn/releases", "yarn runs it"), hintDir(".yarn/plugins", "yarn runs it"),
		protected(".cargo/config.toml", "cargo runs what it names"), protected(".cargo/config", "cargo runs what it names"),
		hint("bunfig.toml", "bun loads what it names"), hint(".bazelrc", "bazel settings"),
		hintDir("node_modules/.bin", "package scripts run it by name"),
		hint("bin/activate", "entering a Python environment runs it"), hint("bin/activate.*", "entering a Python environment runs it"),
		hint("site-packages/*.pth", "every start of Python runs it"), hint("site-packages/sitecustomize.py", "every start of Python runs it"),
		hint("site-packages/usercustomize.py", "every start of Python runs it"),
		// Runs elsewhere, once pushed.
		hintDir(".github/workflows", "CI runs it"), hint(".gitlab-ci.yml", "CI runs it"),
	}
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
