package agents

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func TestEndpoints(t *testing.T) {
	tests := []struct {
		agent string
		env   map[string]string
		want  []Endpoint
	}{
		{"claude", nil, nil},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://127.0.0.1:4000/v1"}, []Endpoint{{Port: 4000, By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://LOCALHOST/"}, []Endpoint{{Port: 80, By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "https://[::1]:8443"}, []Endpoint{{Port: 8443, By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "https://LLM.corp.example/x"}, []Endpoint{{Rule: "llm.corp.example:443", By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://10.0.0.5:8080"}, []Endpoint{{Rule: "10.0.0.5:8080", By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://[fd00::1]:8080"}, []Endpoint{{Rule: "[fd00::1]:8080", By: "ANTHROPIC_BASE_URL"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "ftp://x", "ANTHROPIC_MODEL": "http://a.example"}, nil},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://*/"}, nil},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://0x7f.1/"}, nil},
		{"claude", map[string]string{"OPENAI_BASE_URL": "http://a.example"}, nil},
		{"claude", map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1"}, []Endpoint{
			{Rule: "bedrock-runtime.eu-west-1.amazonaws.com:443", By: "AWS_REGION"}, {Rule: "bedrock.eu-west-1.amazonaws.com:443", By: "AWS_REGION"}}},
		{"claude", map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "x.evil.example/"}, nil},
		{"claude", map[string]string{"AWS_REGION": "eu-west-1"}, nil},
		{"codex", map[string]string{"OPENAI_BASE_URL": "http://localhost:11434/v1"}, []Endpoint{{Port: 11434, By: "OPENAI_BASE_URL"}}},
		{"gemini", map[string]string{"GOOGLE_GEMINI_BASE_URL": "https://g.example"}, []Endpoint{{Rule: "g.example:443", By: "GOOGLE_GEMINI_BASE_URL"}}},
		{"aider", map[string]string{"OLLAMA_HOST": "0.0.0.0"}, []Endpoint{{Port: 11434, By: "OLLAMA_HOST"}}},
		{"claude", map[string]string{"ANTHROPIC_BASE_URL": "http://198.18.0.1/"}, nil},
		{"aider", map[string]string{"OLLAMA_HOST": "127.0.0.1:11434"}, []Endpoint{{Port: 11434, By: "OLLAMA_HOST"}}},
	}
	for _, tt := range tests {
		a, ok := ByName(tt.agent)
		if !ok {
			t.Fatalf("no agent %s", tt.agent)
		}
		got := a.Endpoints(func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s with %v: %+v, want %+v", tt.agent, tt.env, got, tt.want)
		}
	}
}

func TestEndpointsInSettings(t *testing.T) {
	tests := []struct {
		agent, file, text string
		want              []string // rules, or ports of the host
	}{
		{"codex", ".codex/config.toml", "[model_providers.local]\nbase_url = \"http://127.0.0.1:4000/v1\"\n[mcp_servers.x]\nurl = \"https://mcp.example/sse\"\n", []string{"4000", "mcp.example:443"}},
		{"claude", ".claude/settings.json", `{"env": {"ANTHROPIC_BASE_URL": "https://llm.example"}, "statusLine": "see https://docs.example"}`, []string{"llm.example:443"}},
		{"claude", ".claude.json", `{"mcpServers": {"a": {"type": "http", "url": "https://mcp.example/x"}}, "projects": {"/p": {"mcpServers": {"b": {"url": "https://other.example"}}}}}`, []string{"mcp.example:443"}},
		{"claude", ".claude.json", `not JSON "url": "https://mcp.example/x"`, nil},
		{"claude", ".claude/settings.json", `{"note": "{\"url\": \"https://inner.example\"}"}`, nil},
		{"opencode", ".config/opencode/*.json", `{"provider":{"local":{"npm":"@ai-sdk/x","options":{"baseURL":"http://127.0.0.1:4001/v1"}}},"mcp":{"x":{"type":"remote","url":"https://mcp.example/"}}}`, []string{"4001", "mcp.example:443"}},
		{"aider", ".aider.conf.yml", "openai-api-base: http://localhost:8000/v1\n", []string{"8000"}},
		{"qwen-code", ".qwen/.env", "OPENAI_BASE_URL=https://q.example/v1\n", []string{"q.example:443"}},
	}
	for _, tt := range tests {
		a, _ := ByName(tt.agent)
		if !slices.Contains(a.SettingsFiles(), tt.file) {
			t.Errorf("%s: %s is not looked at; %v are", tt.agent, tt.file, a.SettingsFiles())
		}
		var got []string
		for _, e := range a.EndpointsIn(tt.file, []byte(tt.text)) {
			if e.By != "~/"+tt.file {
				t.Errorf("%+v does not say who names it", e)
			}
			got = append(got, e.Rule)
			if e.Rule == "" {
				got[len(got)-1] = strconv.Itoa(int(e.Port))
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: %v, want %v", tt.agent, tt.file, got, tt.want)
		}
	}
}

func TestHostPresetsAreRules(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range HostPresets() {
		if seen[p.Name] {
			t.Errorf("there are two presets %q", p.Name)
		}
		seen[p.Name] = true
		for _, h := range p.Hosts {
			target, err := policy.ParseTarget(strings.ReplaceAll(h, "*.", "x."))
			if err := policy.CheckHostRule(h, true); err != nil {
				t.Errorf("preset %s: %v", p.Name, err)
			}
			if !strings.Contains(h, ",") && (err != nil || target.Port == 0) {
				t.Errorf("preset %s: %q has no port", p.Name, h)
			}
		}
	}
	for _, name := range []string{"npm", "pypi", "go", "crates", "debian", "ubuntu", "github", "gitlab", "claude", "codex"} {
		if !seen[name] {
			t.Errorf("there is no preset %q", name)
		}
	}
}

func FuzzEndpointsIn(f *testing.F) {
	f.Add([]byte(`{"url": "http://[::1]:1/"}`))
	f.Add([]byte("base_url = 'https://x.example:99999'"))
	a, _ := ByName("codex")
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, e := range a.EndpointsIn(".codex/config.toml", data) {
			if (e.Rule == "") == (e.Port == 0) {
				t.Fatalf("%+v is neither here nor there", e)
			}
			if err := policy.CheckHostRule(e.Rule, true); e.Rule != "" && err != nil {
				t.Fatalf("%+v: %v", e, err)
			}
		}
	})
}
