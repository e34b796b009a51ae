package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func post(t *testing.T, s *Server, path, body string) string {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(path, "/v1beta/") {
		req.Header.Set("x-goog-api-key", "the-key")
	} else {
		req.Header.Set("Authorization", "Bearer the-key")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestScriptIsPlayedInOrder(t *testing.T) {
	tests := []struct{ name, path, first, second, empty string }{
		{"messages", "/v1/messages?beta=true",
			`{"stream":true,"tools":[{}],"messages":[{"content":"go"}]}`,
			`{"stream":true,"tools":[{}],"messages":[{"content":"go"},{"content":[{"type":"tool_result","content":[{"type":"text","text":"it worked"}]}]}]}`,
			`{"stream":true,"messages":[]}`},
		{"responses", "/v1/responses",
			`{"tools":[{}],"input":[]}`,
			`{"tools":[{}],"input":[{"type":"function_call_output","output":"it worked"}]}`,
			`{"input":[]}`},
		{"generate", "/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"tools":[{}],"contents":[{"role":"user","parts":[{"text":"go"}]}]}`,
			`{"tools":[{}],"contents":[{"parts":[{"functionCall":{}}]},{"parts":[{"functionResponse":{"response":{"output":"it worked"}}}]}]}`,
			`{"contents":[]}`},
		{"chat", "/v1/chat/completions",
			`{"stream":true,"tools":[{}],"messages":[{"role":"user","content":"go"}]}`,
			`{"stream":true,"tools":[{}],"messages":[{"role":"user","content":"go"},{"role":"tool","content":"it worked"}]}`,
			`{"stream":true,"messages":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Start([]Turn{{Tool: "Shell", Input: map[string]any{"command": "make"}}, {Text: "all done"}})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if got := post(t, s, tt.path, tt.empty); strings.Contains(got, "Shell") {
				t.Errorf("a request without tools moved the script: %s", got)
			}
			if got := post(t, s, tt.path, tt.first); !strings.Contains(got, "Shell") || !strings.Contains(got, "make") {
				t.Errorf("first turn: %s", got)
			}
			if s.Finished() {
				t.Error("finished too early")
			}
			if got := post(t, s, tt.path, tt.second); !strings.Contains(got, "all done") {
				t.Errorf("second turn: %s", got)
			}
			if !s.Finished() || !slices.Equal(s.Results(), []string{"it worked"}) || !slices.Equal(s.Keys(), []string{"the-key"}) {
				t.Errorf("finished %v, results %q, keys %q", s.Finished(), s.Results(), s.Keys())
			}
		})
	}
}

// TestWholeAnswers: what is not asked for as a stream is one JSON object.
func TestWholeAnswers(t *testing.T) {
	tests := []struct{ path, body, want string }{
		{"/v1/messages", `{"tools":[{}],"messages":[]}`, `"text":"all done"`},
		{"/v1/messages/count_tokens", `{}`, `"input_tokens":10`},
		{"/v1beta/models/m:generateContent", `{"tools":[{}],"contents":[]}`, `"parts":[{"text":"all done"}]`},
		{"/v1beta/models/m:countTokens", `{}`, `"totalTokens":10`},
		{"/v1/chat/completions", `{"tools":[{}],"messages":[]}`, `"message":{"content":"all done","role":"assistant"}`},
	}
	for _, tt := range tests {
		s, err := Start([]Turn{{Text: "all done"}})
		if err != nil {
			t.Fatal(err)
		}
		got := post(t, s, tt.path, tt.body)
		if !json.Valid([]byte(got)) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s", tt.path, got)
		}
		if got := post(t, s, tt.path, `{`); strings.Contains(got, "all done") {
			t.Errorf("%s answers what is not JSON: %s", tt.path, got)
		}
		s.Close()
	}
}

// TestToolErrorsAreResults: Gemini CLI has a field of its own for them.
func TestToolErrorsAreResults(t *testing.T) {
	s, err := Start([]Turn{{Text: "all done"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	post(t, s, "/v1beta/models/m:streamGenerateContent", `{"tools":[{}],"contents":[{"parts":[{"functionResponse":{"response":{"error":"it broke"}}}]}]}`)
	if got := s.Results(); !slices.Equal(got, []string{"it broke"}) {
		t.Errorf("results %q", got)
	}
	if got := post(t, s, "/v1beta/models/m:embedContent", `{}`); !strings.Contains(got, `"embedContent"`) {
		t.Errorf("an unknown method: %s", got)
	}
}

// TestToolsThatAreNotThereYet: the model waits for a server of MCP where the client offers that, and
// neither the script nor its results tell of it.
func TestToolsThatAreNotThereYet(t *testing.T) {
	s, err := Start([]Turn{{Tool: "mcp__carrel__Bash"}, {Text: "all done"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	request := func(tool, more string) string {
		return `{"stream":true,"tools":[{"name":"WaitForMcpServers"}` + tool + `],"messages":[{"content":"go"}` + more + `]}`
	}
	const (
		there  = `,{"name":"mcp__carrel__Bash"}`
		waited = `,{"content":[{"type":"tool_result","tool_use_id":"toolu_0","content":"connected"}]}`
		ran    = waited + `,{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"it ran"}]}`
	)
	for _, c := range []struct{ request, want string }{
		{request("", ""), "WaitForMcpServers"},
		{request(there, waited), "mcp__carrel__Bash"},
		{request(there, ran), "all done"},
	} {
		if got := post(t, s, "/v1/messages", c.request); !strings.Contains(got, c.want) {
			t.Errorf("%s is answered with %s, want %s", c.request, got, c.want)
		}
	}
	if got := s.Results(); !slices.Equal(got, []string{"it ran"}) {
		t.Errorf("results %q", got)
	}
}
