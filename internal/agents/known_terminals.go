package agents

// terminals returns agents that bring no service of their own: the user's keys
// for some provider are their login. From their documentation.
func terminals() []Agent {
	return []Agent{
		{
			Name: "aider", Title: "Aider",
			Executables: []string{"aider"},
			Packages:    []string{"aider-chat", "aider-install"},
			Install:     "pipx install aider-chat",
			Modules:     []string{"aider"},
			State:       []string{".aider"},
			// It also reads .env and .aider.conf.yml of the project by itself.
			Config:      []string{".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"},
			Seed:        []string{".aider/oauth-keys.env"},
			Credentials: []string{".aider/oauth-keys.env", ".aider.conf.yml"},
			EnvPass:     providerKeys("AIDER_MODEL", "AIDER_OPENAI_API_KEY", "AIDER_ANTHROPIC_API_KEY"),
			Hosts:       providerHosts(),
			PromptsOff:  Off{Flags: []string{"--yes-always"}},
			Headless:    []string{"--message="},
		},
		{
			Name: "crush", Title: "Crush",
			Executables: []string{"crush"}, SharedName: true,
			Packages:    []string{"@charmland/crush"},
			Install:     "npm install -g @charmland/crush",
			State:       []string{".config/crush", ".local/share/crush"},
			Config:      []string{".config/crush/crush.json", ".config/crush/CRUSH.md", ".config/crush/skills"},
			Seed:        []string{".local/share/crush/crush.json"},
			Credentials: []string{".config/crush/crush.json", ".local/share/crush/crush.json"}, // both may hold API keys
			EnvPass:     providerKeys("CRUSH_DISABLE_METRICS"),
			Hosts:       providerHosts("catwalk.charm.land:443", "catwalk.charm.sh:443"),
			// --yolo belongs to the interactive command only.
			Headless: []string{"run", "--"},
		},
		{
			// goose is also the name of a database migration tool.
			Name: "goose", Title: "Goose",
			Executables: []string{"goose"}, SharedName: true,
			State: []string{".config/goose", ".local/share/goose", ".local/state/goose"},
			Config: []string{
				".config/goose/config.yaml", ".config/goose/.goosehints", ".config/goose/permission.yaml",
				".config/goose/recipes", ".config/goose/skills",
			},
			Seed:        []string{".config/goose/secrets.yaml"},
			Credentials: []string{".config/goose/secrets.yaml"},
			EnvPass:     providerKeys("GOOSE_PROVIDER", "GOOSE_MODEL"),
			EnvSet:      map[string]string{"GOOSE_DISABLE_KEYRING": "1"}, // no keyring inside
			Hosts:       providerHosts(),
			PromptsOff:  Off{Env: map[string]string{"GOOSE_MODE": "auto"}},
			Headless:    []string{"run", "--text="},
		},
		{
			Name: "openhands", Title: "OpenHands CLI",
			Executables: []string{"openhands"},
			Packages:    []string{"openhands", "openhands-ai"},
			Install:     "pipx install openhands",
			State:       []string{".openhands"},
			Config:      []string{".openhands/mcp.json", ".openhands/microagents", ".openhands/skills"},
			Seed:        []string{".openhands/agent_settings.json", ".openhands/settings.json"},
			Credentials: []string{".openhands/agent_settings.json", ".openhands/settings.json"}, // with the API key
			EnvPass:     providerKeys("LLM_API_KEY", "LLM_MODEL", "LLM_BASE_URL"),
			Hosts:       providerHosts("app.all-hands.dev:443", "llm-proxy.app.all-hands.dev:443"),
			PromptsOff:  Off{Flags: []string{"--always-approve"}},
			Headless:    []string{"--headless", "--task="},
		},
	}
}
