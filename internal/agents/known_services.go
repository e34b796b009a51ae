package agents

// services returns agents that log in at a service of their maker. From their
// documentation; MergeBack only where the format of the login file is known to
// be JSON that the agent renews.
func services() []Agent {
	return []Agent{
		{
			Name: "amp", Title: "Amp",
			Executables: []string{"amp"}, SharedName: true,
			Packages:    []string{"@sourcegraph/amp"},
			Programs:    []string{".amp/bin", ".local/bin/amp"},
			State:       []string{".config/amp", ".local/share/amp", ".cache/amp"},
			Config:      []string{".config/amp/settings.json", ".config/amp/AGENTS.md", ".config/amp/AGENT.md", ".config/amp/commands", ".config/amp/tools", ".config/amp/skills"},
			Seed:        []string{".local/share/amp/secrets.json"},
			Credentials: []string{".local/share/amp/secrets.json"},
			EnvPass:     []string{"AMP_API_KEY", "AMP_URL"},
			Hosts:       []string{"ampcode.com:443", "*.ampcode.com:443"},
			PromptsOff:  Off{Flags: []string{"--dangerously-allow-all"}},
		},
		{
			Name: "auggie", Title: "Auggie CLI",
			Executables: []string{"auggie"},
			Packages:    []string{"@augmentcode/auggie"},
			State:       []string{".augment"},
			Config:      []string{".augment/settings.json", ".augment/commands", ".augment/agents", ".augment/rules", ".augment/skills", ".augment/user-guidelines.md"},
			Seed:        []string{".augment/session.json"},
			Credentials: []string{".augment/session.json"},
			EnvPass:     []string{"AUGMENT_SESSION_AUTH", "AUGMENT_API_TOKEN", "AUGMENT_API_URL"},
			Hosts:       []string{"*.api.augmentcode.com:443", "auth.augmentcode.com:443", "app.augmentcode.com:443"},
		},
		{
			Name: "cline", Title: "Cline CLI",
			Executables: []string{"cline"},
			Packages:    []string{"cline"},
			State:       []string{".cline"},
			Config:      []string{".cline/data/settings", ".cline/rules", ".cline/hooks", ".cline/skills"},
			Seed:        []string{".cline/data/secrets.json", ".cline/data/globalState.json"},
			Credentials: []string{".cline/data/secrets.json"},
			EnvPass:     providerKeys("CLINE_API_KEY"),
			Hosts:       providerHosts("api.cline.bot:443", "app.cline.bot:443", "authkit.cline.bot:443"),
			PromptsOff:  Off{Flags: []string{"--yolo"}},
		},
		{
			Name: "cn", Title: "Continue CLI",
			Executables: []string{"cn"}, SharedName: true,
			Packages:    []string{"@continuedev/cli"},
			State:       []string{".continue"},
			Config:      []string{".continue/config.yaml", ".continue/config.json", ".continue/permissions.yaml", ".continue/rules", ".continue/prompts", ".continue/mcpServers", ".continue/.env"},
			Seed:        []string{".continue/auth.json"},
			Credentials: []string{".continue/auth.json", ".continue/.env"},
			EnvPass:     providerKeys("CONTINUE_API_KEY"),
			Hosts:       providerHosts("api.continue.dev:443", "hub.continue.dev:443", "api.workos.com:443"),
			PromptsOff:  Off{Flags: []string{"--auto"}},
		},
		{
			// AWS has an older tool of the same name. GH_TOKEN and GITHUB_TOKEN
			// work as logins too, but give far more than the model: not passed.
			Name: "copilot", Title: "GitHub Copilot CLI",
			Executables: []string{"copilot"}, SharedName: true,
			Packages: []string{"@github/copilot"},
			State:    []string{".copilot"},
			Config: []string{
				".copilot/settings.json", ".copilot/mcp-config.json", ".copilot/copilot-instructions.md",
				".copilot/instructions", ".copilot/agents", ".copilot/skills", ".copilot/hooks",
				".copilot/installed-plugins", ".copilot/lsp-config.json",
			},
			Seed:        []string{".copilot/config.json"},
			Credentials: []string{".copilot/config.json"}, // the login, where there is no keyring
			EnvPass:     []string{"COPILOT_GITHUB_TOKEN", "COPILOT_MODEL"},
			EnvSet:      map[string]string{"COPILOT_HOME": "~/.copilot", "COPILOT_AUTO_UPDATE": "false"},
			Hosts: []string{
				"api.githubcopilot.com:443", "api.individual.githubcopilot.com:443", "api.business.githubcopilot.com:443",
				"api.enterprise.githubcopilot.com:443", "api.github.com:443", "github.com:443",
			},
			PromptsOff: Off{Flags: []string{"--allow-all-tools"}},
		},
		{
			Name: "cursor-agent", Title: "Cursor CLI",
			Executables: []string{"cursor-agent"},
			Programs:    []string{".local/bin/cursor-agent", ".local/share/cursor-agent"},
			State:       []string{".cursor", ".config/cursor"},
			Config:      []string{".cursor/cli-config.json", ".cursor/mcp.json", ".cursor/hooks.json", ".cursor/hooks", ".cursor/rules", ".cursor/commands", ".cursor/agents", ".cursor/skills", ".cursor/sandbox.json"},
			MergeBack:   []MergeFile{{File: ".config/cursor/auth.json", Keys: []string{"*"}}},
			Credentials: []string{".config/cursor/auth.json"},
			EnvPass:     []string{"CURSOR_API_KEY"},
			Hosts:       []string{"api2.cursor.sh:443", "api5.cursor.sh:443", "*.api5.cursor.sh:443", "cursor.com:443", "www.cursor.com:443", "authenticator.cursor.sh:443"},
			SandboxOff:  Off{Flags: []string{"--sandbox", "disabled"}},
			PromptsOff:  Off{Flags: []string{"--force"}},
		},
		{
			// Only its exec subcommand has a flag for prompts.
			Name: "droid", Title: "Droid",
			Executables: []string{"droid"}, SharedName: true,
			Packages:    []string{"droid"},
			Programs:    []string{".local/bin/droid", ".factory/bin"},
			State:       []string{".factory"},
			Config:      []string{".factory/settings.json", ".factory/settings.local.json", ".factory/config.json", ".factory/mcp.json", ".factory/AGENTS.md", ".factory/droids", ".factory/commands", ".factory/skills", ".factory/hooks", ".factory/plugins"},
			Seed:        []string{".factory/auth.json", ".factory/auth.encrypted", ".factory/auth.v2.file", ".factory/auth.v2.key"},
			Credentials: []string{".factory/auth.json", ".factory/auth.encrypted", ".factory/auth.v2.file", ".factory/auth.v2.key"},
			EnvPass:     []string{"FACTORY_API_KEY"},
			EnvSet:      map[string]string{"FACTORY_DROID_AUTO_UPDATE_ENABLED": "false"},
			Hosts:       []string{"api.factory.ai:443", "app.factory.ai:443", "api.workos.com:443"},
		},
		{
			// Two programs of one name: the Python one (~/.kimi), which is
			// archived, and its successor (~/.kimi-code).
			Name: "kimi", Title: "Kimi Code CLI",
			Executables: []string{"kimi", "kimi-cli"},
			Packages:    []string{"kimi-cli", "@moonshot-ai/kimi-code"},
			Programs:    []string{".kimi-code/bin"},
			State:       []string{".kimi", ".kimi-code"},
			Config: []string{
				".kimi/config.toml", ".kimi/config.json", ".kimi/mcp.json", ".kimi/skills",
				".kimi-code/config.toml", ".kimi-code/tui.toml", ".kimi-code/mcp.json", ".kimi-code/AGENTS.md",
				".kimi-code/skills", ".kimi-code/agents", ".kimi-code/hooks", ".kimi-code/plugins",
			},
			MergeBack: []MergeFile{
				{File: ".kimi/credentials/kimi-code.json", Keys: []string{"*"}},
				{File: ".kimi-code/credentials/kimi-code.json", Keys: []string{"*"}},
			},
			Credentials: []string{".kimi/credentials", ".kimi/config.toml", ".kimi-code/credentials", ".kimi-code/config.toml"},
			EnvPass:     []string{"KIMI_API_KEY", "KIMI_BASE_URL", "KIMI_MODEL_NAME", "MOONSHOT_API_KEY"},
			Hosts:       []string{"api.kimi.com:443", "auth.kimi.com:443", "code.kimi.com:443", "www.kimi.com:443", "api.moonshot.ai:443", "api.moonshot.cn:443"},
			PromptsOff:  Off{Flags: []string{"--yolo"}},
		},
		{
			// Its flag --trust-all-tools belongs to the chat subcommand only.
			Name: "kiro-cli", Title: "Kiro CLI",
			Executables: []string{"kiro-cli", "kiro-cli-chat"},
			Programs:    []string{".local/bin/kiro-cli", ".local/bin/kiro-cli-chat"},
			State:       []string{".kiro", ".local/share/kiro-cli"},
			Config:      []string{".kiro/settings", ".kiro/agents", ".kiro/steering", ".kiro/hooks", ".kiro/skills", ".kiro/powers"},
			Seed:        []string{".local/share/kiro-cli/data.sqlite3"},
			Credentials: []string{".local/share/kiro-cli/data.sqlite3", ".aws/sso/cache"},
			EnvPass:     []string{"KIRO_API_KEY"},
			Hosts:       []string{"q.us-east-1.amazonaws.com:443", "codewhisperer.us-east-1.amazonaws.com:443", "oidc.us-east-1.amazonaws.com:443", "prod.us-east-1.auth.desktop.kiro.dev:443", "app.kiro.dev:443"},
		},
		{
			// A relative of Gemini CLI, with its sandbox switch.
			Name: "qwen-code", Title: "Qwen Code",
			Executables: []string{"qwen"},
			Packages:    []string{"@qwen-code/qwen-code"},
			State:       []string{".qwen"},
			Config:      []string{".qwen/settings.json", ".qwen/QWEN.md", ".qwen/.env", ".qwen/commands", ".qwen/agents", ".qwen/skills", ".qwen/extensions", ".qwen/hooks", ".qwen/trustedFolders.json"},
			Seed:        []string{".qwen/installation_id", ".qwen/mcp-oauth-tokens.json"},
			MergeBack:   []MergeFile{{File: ".qwen/oauth_creds.json", Keys: []string{"*"}}},
			Credentials: []string{".qwen/oauth_creds.json", ".qwen/mcp-oauth-tokens.json", ".qwen/.env"},
			EnvPass:     []string{"DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"},
			Hosts:       []string{"chat.qwen.ai:443", "portal.qwen.ai:443", "dashscope.aliyuncs.com:443", "dashscope-intl.aliyuncs.com:443"},
			SandboxOff:  Off{Env: map[string]string{"QWEN_SANDBOX": "false", "GEMINI_SANDBOX": "false"}},
			PromptsOff:  Off{Flags: []string{"--yolo"}},
		},
	}
}
