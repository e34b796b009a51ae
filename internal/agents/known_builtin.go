package agents

// builtin returns the agents that have a built-in preset. "Tried" means: run
// on Linux with the version named, with a scripted model on loopback.
func builtin() []Agent {
	return []Agent{claude(), codex(), gemini(), opencode(), pi()}
}

// claude: tried with @anthropic-ai/claude-code 2.1.197. The npm package's
// bin/claude.exe is the native program (an ELF file, in spite of its name);
// the native installer links ~/.local/bin/claude to a file named after its
// version. So the resolved base name alone never says "claude".
//
// Without CLAUDE_CONFIG_DIR it writes ~/.claude.json beside ~/.claude, by
// renaming over it, which a bound single file does not allow. With the
// variable set the file lies in that directory instead (tried), together with
// backups/, projects/, sessions/, session-env/ and shell-snapshots/; nothing
// else is written in home. It also writes /tmp/claude-UID.
func claude() Agent {
	return Agent{
		Name: "claude", Title: "Claude Code",
		Executables: []string{"claude"},
		Packages:    []string{"@anthropic-ai/claude-code"},
		Install:     "npm install -g @anthropic-ai/claude-code",
		Programs:    []string{".local/bin/claude", ".local/share/claude", ".claude/local"},
		State:       []string{".claude"},
		Config: []string{
			".claude/settings.json", ".claude/settings.local.json", ".claude/CLAUDE.md",
			".claude/agents", ".claude/commands", ".claude/skills", ".claude/plugins",
			".claude/hooks", ".claude/output-styles", ".claude/rules",
			".claude/themes", ".claude/keybindings.json",
			// Status line and hook scripts, which settings name by path.
			".claude/*.sh", ".claude/*.py", ".claude/*.js", ".claude/*.mjs",
		},
		// Not file-history, of which a rewind outside would write files anywhere, and
		// not shell-snapshots and session-env, which are run.
		Shared: []SharedPlace{
			{Place: ".claude/projects"}, {Place: ".claude/todos"}, {Place: ".claude/tasks"}, {Place: ".claude/plans"},
			{Place: ".claude/history.jsonl", File: true},
		},
		Resume: Resume{".claude/projects", []string{"--resume"}},
		JSON: []JSONPart{{
			Host: ".claude.json", Private: ".claude/.claude.json",
			// Without these it asks for a theme and a login at each first start.
			Seed: []string{
				"theme", "customApiKeyResponses", "bypassPermissionsModeAccepted",
			},
			Trust:  []string{"hasTrustDialogAccepted"},
			Follow: []string{"userID"},     // it belongs to the login
			Mirror: []string{"mcpServers"}, // MCP servers of the user scope
		}},
		MergeBack: []MergeFile{{
			File: ".claude/.credentials.json",
			// claudeAiOauth is the login, mcpOAuth the logins of MCP servers;
			// both hold refresh tokens that are replaced when used.
			Keys:  []string{"claudeAiOauth", "mcpOAuth"},
			Login: []string{"scopes", "subscriptionType", "rateLimitTier"}, Entries: []string{"mcpOAuth"},
		}, {
			// Whose login it is, without which it asks for one in spite of the tokens.
			File: ".claude.json", Private: ".claude/.claude.json",
			Keys: []string{"oauthAccount", "hasCompletedOnboarding", "lastOnboardingVersion"},
			Login: []string{
				"hasCompletedOnboarding", "lastOnboardingVersion",
				"accountUuid", "emailAddress", "organizationUuid", "organizationName", "organizationRole", "workspaceRole",
				"displayName", "billingType", "organizationType", "seatTier", "hasExtraUsageEnabled",
			},
		}},
		Credentials: []string{".claude/.credentials.json", ".claude.json"},
		EnvPass: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL",
			"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL",
			"ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_RETRIES",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
			"API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "BASH_DEFAULT_TIMEOUT_MS", "BASH_MAX_TIMEOUT_MS",
			"MCP_TIMEOUT", "MCP_TOOL_TIMEOUT",
			"CLAUDE_CODE_USE_BEDROCK", "AWS_BEARER_TOKEN_BEDROCK", "AWS_REGION",
			"CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_PROJECT_ID", "CLOUD_ML_REGION",
		},
		EnvSet: map[string]string{
			"CLAUDE_CONFIG_DIR":   "~/.claude",
			"DISABLE_AUTOUPDATER": "1", // the program is read-only inside
		},
		Hosts: []string{"api.anthropic.com:443", "platform.claude.com:443", "console.anthropic.com:443", "claude.ai:443", "claude.com:443", "mcp-proxy.anthropic.com:443"},
		SandboxOff: Off{
			// Off by default, but a user's settings may switch it on; it needs
			// mounts of its own, which fail inside.
			Flags: []string{"--settings", `{"sandbox":{"enabled":false}}`},
		},
		PromptsOff: Off{
			Flags:  []string{"--dangerously-skip-permissions"},
			Unless: []string{"--permission-mode"},
			// Without it a page asks at each start whether the mode is meant.
			Settings:      map[string]any{"skipDangerousModePermissionPrompt": true},
			RefusedAsRoot: true,                                 // tried: "cannot be used with root/sudo privileges"
			RootEnv:       map[string]string{"IS_SANDBOX": "1"}, // tried: then it goes on
		},
		SettingsFlag: "--settings",
		Headless:     []string{"-p", "--"},
		Prompted:     []string{"--"},
	}
}

// codex: tried with @openai/codex 0.169.0. The npm package's bin/codex.js is a
// node script that starts the native program of the package
// @openai/codex-linux-x64; other installers put the native program in PATH.
func codex() Agent {
	return Agent{
		Name: "codex", Title: "Codex CLI",
		Executables: []string{"codex"},
		Packages:    []string{"@openai/codex"},
		Install:     "npm install -g @openai/codex",
		Programs:    []string{".local/bin/codex", ".codex/packages"},
		State:       []string{".codex"},
		Config: []string{
			".codex/config.toml", ".codex/*.config.toml", ".codex/AGENTS.md", ".codex/AGENTS.override.md",
			".codex/hooks.json", ".codex/hooks", ".codex/prompts", ".codex/skills", ".codex/rules",
			".codex/agents", ".codex/plugins",
		},
		Resume: Resume{".codex/sessions", []string{"resume"}},
		// Its index of sessions is a database among its settings; it finds those it
		// does not know by looking.
		Shared: []SharedPlace{
			{Place: ".codex/sessions"}, {Place: ".codex/archived_sessions"}, {Place: ".codex/history.jsonl", File: true},
		},
		MergeBack: []MergeFile{{
			File: ".codex/auth.json", Keys: []string{"*"}, // tokens and last_refresh belong together
			Login: []string{"auth_mode", "OPENAI_API_KEY", "account_id"}, Entries: []string{"tokens"},
		}},
		Credentials: []string{".codex/auth.json", ".codex/.credentials.json"},
		EnvPass: []string{
			"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
			"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "AZURE_OPENAI_API_KEY",
		},
		EnvSet: map[string]string{"CODEX_HOME": "~/.codex"},
		Hosts:  []string{"api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"},
		// -c is accepted before every subcommand, --sandbox is not.
		SandboxOff: Off{Flags: []string{"-c", `sandbox_mode="danger-full-access"`}},
		PromptsOff: Off{Flags: []string{"-c", `approval_policy="never"`}},
		Headless:   []string{"exec", "--skip-git-repo-check", "--"},
		Prompted:   []string{"--"},
	}
}

// gemini: tried with @google/gemini-cli 0.61.0. bundle/gemini.js starts itself
// once more with node. With --yolo it switches its container sandbox on unless
// GEMINI_SANDBOX says no, and in a directory that trustedFolders.json does not
// name it goes back to asking. Without a keyring it keeps keys and tokens in
// gemini-credentials.json, under a key made of the names of machine and user,
// which are the same inside: so a copy can be read. Its shell tool runs git
// without the user's configuration, outside as well as inside.
func gemini() Agent {
	return Agent{
		Name: "gemini", Title: "Gemini CLI",
		Executables: []string{"gemini"},
		Packages:    []string{"@google/gemini-cli"},
		Install:     "npm install -g @google/gemini-cli",
		State:       []string{".gemini"},
		Config: []string{
			".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/system.md", ".gemini/.env",
			".gemini/commands", ".gemini/extensions", ".gemini/skills", ".gemini/agents",
			".gemini/hooks", ".gemini/policies", ".gemini/trustedFolders.json", ".gemini/keybindings.json",
			".agents/skills",
		},
		Seed: []string{
			".gemini/google_accounts.json", ".gemini/installation_id",
			".gemini/mcp-oauth-tokens.json", ".gemini/a2a-oauth-tokens.json",
		},
		// tmp has its chats, and in bin the ripgrep that it runs; history has
		// repositories in which it runs git.
		Shared: []SharedPlace{{Place: ".gemini/tmp", Except: []string{"bin"}}},
		MergeBack: []MergeFile{
			{File: ".gemini/oauth_creds.json", Keys: []string{"*"}, Login: []string{"scope", "token_type"}},
			{File: ".gemini/gemini-credentials.json", Keys: []string{"*"}, Opaque: true},
		},
		Credentials: []string{
			".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/gemini-credentials.json",
			".gemini/mcp-oauth-tokens.json", ".gemini/a2a-oauth-tokens.json", ".gemini/.env",
		},
		EnvPass: []string{
			"GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL",
			"GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_VERTEX_BASE_URL",
			"GOOGLE_GENAI_USE_GCA", "GOOGLE_CLOUD_ACCESS_TOKEN", // a login by a token from outside
			"GEMINI_CLI_TRUST_WORKSPACE", "GEMINI_FORCE_FILE_STORAGE", "GEMINI_FORCE_ENCRYPTED_FILE_STORAGE",
		},
		Hosts: []string{
			"generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443", "oauth2.googleapis.com:443",
			"accounts.google.com:443", "www.googleapis.com:443", "aiplatform.googleapis.com:443",
		},
		SandboxOff: Off{Env: map[string]string{"GEMINI_SANDBOX": "false"}},
		PromptsOff: Off{
			Flags:  []string{"--yolo"},
			Unless: []string{"--approval-mode"}, // tried: it takes one of the two only
			// Else it asks whether the folder is trusted, and without a terminal ends
			// with status 55 (tried). What the folder may make it do is inside.
			Env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"},
		},
		Prompted: []string{"--prompt-interactive="},
		Headless: []string{"--prompt="}, // -p takes no word that begins with "-"
	}
}

// opencode: tried with opencode-ai 1.18.33. It has no sandbox of its own. The
// npm package's bin/opencode.exe is the native program (an ELF file, in spite of
// its name). It writes below its four State directories only, adds "$schema" to
// its opencode.json, and installs @opencode-ai/plugin beside that in the
// background; it does not mind when that fails. Logins of its own service are
// in opencode.db, those of model providers in auth.json. It puts quotes around a
// prompt that has a space in it, whichever way it comes as an argument.
func opencode() Agent {
	return Agent{
		Name: "opencode", Title: "OpenCode",
		Executables: []string{"opencode"},
		Packages:    []string{"opencode-ai"},
		Install:     "npm install -g opencode-ai",
		Programs:    []string{".opencode/bin"},
		State:       []string{".config/opencode", ".local/share/opencode", ".local/state/opencode", ".cache/opencode"},
		Config: []string{
			".config/opencode/*.json", ".config/opencode/*.jsonc", ".config/opencode/AGENTS.md",
			".config/opencode/agent", ".config/opencode/agents", ".config/opencode/command", ".config/opencode/commands",
			".config/opencode/plugin", ".config/opencode/plugins", ".config/opencode/skill", ".config/opencode/skills",
			".config/opencode/tool", ".config/opencode/tools", ".config/opencode/mode", ".config/opencode/modes",
			".config/opencode/themes", ".agents/skills",
		},
		Seed: []string{".local/share/opencode/mcp-auth.json"},
		// Its sessions are in opencode.db, with the address of a service that it takes
		// settings from: that stays in the copy.
		Shared: []SharedPlace{{Place: ".local/share/opencode/storage"}},
		MergeBack: []MergeFile{{
			File: ".local/share/opencode/auth.json",
			// A "wellknown" entry names an address to load settings from, and a variable.
			Kinds: []string{"oauth", "api"}, Login: []string{"type", "key", "accountId"},
		}},
		Credentials: []string{
			".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json",
			".local/share/opencode/opencode.db", ".local/share/opencode/opencode.db-wal",
		},
		EnvPass: providerKeys(
			"OPENCODE_API_KEY", "OPENCODE_AUTH_CONTENT", "OPENCODE_CONFIG_CONTENT", "OPENCODE_PERMISSION",
			"OPENCODE_MODELS_URL", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_LSP_DOWNLOAD",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS", "OPENCODE_DISABLE_SHARE", "OPENCODE_DISABLE_CLAUDE_CODE",
		),
		EnvSet: map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
		// The list of models is at models.opencode.ai, in older versions at models.dev.
		Hosts:      providerHosts("opencode.ai:443", "api.opencode.ai:443", "models.opencode.ai:443", "models.dev:443"),
		PromptsOff: Off{Env: map[string]string{"OPENCODE_PERMISSION": `{"*":"allow"}`}},
		Headless:   []string{"run", "--"},
		Prompted:   []string{"--prompt="},
	}
}

// pi: from its documentation. It asks nothing and confines nothing. The
// package moved from @mariozechner to @earendil-works in 2026.
func pi() Agent {
	return Agent{
		Name: "pi", Title: "Pi",
		Executables: []string{"pi"}, SharedName: true,
		Packages: []string{"@earendil-works/pi-coding-agent", "@mariozechner/pi-coding-agent"},
		Install:  "npm install -g @earendil-works/pi-coding-agent",
		State:    []string{".pi"},
		Config: []string{
			".pi/agent/settings.json", ".pi/agent/models.json", ".pi/agent/mcp.json", ".pi/agent/keybindings.json",
			".pi/agent/*.md", ".pi/agent/*.MD", ".pi/agent/extensions", ".pi/agent/skills", ".pi/agent/prompts",
			".pi/agent/themes", ".pi/agent/agents", ".pi/agent/tools", ".pi/agent/git", ".pi/agent/npm",
		},
		Shared: []SharedPlace{{Place: ".pi/agent/sessions"}},
		// The key of an "api_key" may be a command or the name of a variable.
		MergeBack:   []MergeFile{{File: ".pi/agent/auth.json", Kinds: []string{"oauth"}, Login: []string{"type", "accountId"}}},
		Credentials: []string{".pi/agent/auth.json"},
		EnvPass:     providerKeys("PI_SKIP_VERSION_CHECK"),
		EnvSet:      map[string]string{"PI_CODING_AGENT_DIR": "~/.pi/agent"},
		Hosts:       providerHosts("pi.dev:443"),
		SandboxOff:  Off{Needless: true},
		PromptsOff:  Off{Needless: true},
		Headless:    []string{"-p"},
	}
}

// providerKeys is for agents that speak to any provider: the key and base URL
// variables of the common ones, and the extra names.
func providerKeys(extra ...string) []string {
	return append([]string{
		"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE",
		"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY", "GROQ_API_KEY",
		"MISTRAL_API_KEY", "DEEPSEEK_API_KEY", "XAI_API_KEY", "CEREBRAS_API_KEY", "MOONSHOT_API_KEY",
		"TOGETHER_API_KEY", "FIREWORKS_API_KEY", "ZAI_API_KEY", "OLLAMA_HOST", "OLLAMA_API_BASE",
	}, extra...)
}

// providerHosts is the hosts that belong to providerKeys.
func providerHosts(extra ...string) []string {
	return append([]string{
		"api.anthropic.com:443", "console.anthropic.com:443", "platform.claude.com:443", "claude.ai:443",
		"api.openai.com:443", "auth.openai.com:443", "chatgpt.com:443",
		"generativelanguage.googleapis.com:443", "openrouter.ai:443", "api.groq.com:443", "api.mistral.ai:443",
		"api.deepseek.com:443", "api.x.ai:443", "api.cerebras.ai:443", "api.moonshot.ai:443",
		"api.together.xyz:443", "api.fireworks.ai:443", "api.z.ai:443",
		"api.githubcopilot.com:443", "api.individual.githubcopilot.com:443",
	}, extra...)
}
