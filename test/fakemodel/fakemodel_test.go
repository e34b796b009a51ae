package fakemodel

import (
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
	req.Header.Set("Authorization", "Bearer the-key")
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
