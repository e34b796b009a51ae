package agents

// relatives returns agents that are made from others of the table, or stand beside
// them. From their documentation.
func relatives() []Agent {
	return []Agent{
		{
			// Lives in a corner of Gemini's directory. It prefers a keyring for its
			// login, of which there is none inside.
			Name: "agy", Title: "Antigravity CLI",
			Executables: []string{"agy"},
			Programs:    []string{".local/bin/agy"},
			State:       []string{".gemini/antigravity-cli", ".gemini/config"},
			Config: []string{
				".gemini/antigravity-cli/settings.json", ".gemini/antigravity-cli/keybindings.json", ".gemini/antigravity-cli/plugins",
				".gemini/antigravity-cli/skills", ".gemini/antigravity-cli/hooks", ".gemini/antigravity-cli/mcp_config.json",
				".gemini/config/mcp_config.json", ".gemini/config/config.json", ".gemini/config/skills", ".gemini/config/plugins", ".gemini/config/hooks",
				".gemini/config/hooks.json", ".gemini/config/*.md",
			},
			Seed:        []string{".gemini/antigravity-cli/antigravity-oauth-token"},
			Credentials: []string{".gemini/antigravity-cli/antigravity-oauth-token", ".gemini/config/mcp_config.json"},
			EnvPass:     []string{"ANTIGRAVITY_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"},
			Hosts: []string{
				"generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443", "daily-cloudcode-pa.googleapis.com:443", "oauth2.googleapis.com:443",
				"accounts.google.com:443", "www.googleapis.com:443", "aiplatform.googleapis.com:443", "antigravity.google:443",
			},
			SandboxOff: Off{Env: map[string]string{"ANTIGRAVITY_SANDBOX": "false"}},
			Headless:   []string{"-p"},
		},
		{
			// A relative of Pi. Its logins are in a database beside its settings.
			Name: "omp", Title: "Oh My Pi",
			Executables: []string{"omp"}, SharedName: true,
			Packages: []string{"@oh-my-pi/pi-coding-agent"},
			Install:  "npm install -g @oh-my-pi/pi-coding-agent",
			Programs: []string{".local/bin/omp"},
			State:    []string{".omp"},
			Config: []string{
				".omp/agent/config.yml", ".omp/agent/settings.json", ".omp/agent/models.yml", ".omp/agent/models.json", ".omp/agent/mcp.json", ".omp/agent/keybindings.json",
				".omp/agent/*.md", ".omp/agent/extensions", ".omp/agent/hooks", ".omp/agent/tools", ".omp/agent/skills", ".omp/agent/prompts", ".omp/agent/commands",
				".omp/agent/rules", ".omp/agent/agents", ".omp/agent/themes", ".omp/plugins",
			},
			Seed:        []string{".omp/agent/agent.db"},
			Credentials: []string{".omp/agent/agent.db", ".omp/agent/agent.db-wal", ".omp/agent/auth.json"},
			Shared:      []SharedPlace{{Place: ".omp/agent/sessions"}},
			EnvPass:     providerKeys("PI_SKIP_VERSION_CHECK"),
			EnvSet:      map[string]string{"PI_CODING_AGENT_DIR": "~/.omp/agent"},
			Hosts:       providerHosts(),
			SandboxOff:  Off{Needless: true},
			PromptsOff:  Off{Needless: true},
			Headless:    []string{"-p"},
		},
	}
}
