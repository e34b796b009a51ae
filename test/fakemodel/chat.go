package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// chatRequest is the part of a Chat Completions request that is looked at.
type chatRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req chatRequest
	if !s.read(w, r, &req) {
		return
	}
	var results []string
	for _, m := range req.Messages {
		if m.Role == "tool" {
			results = append(results, text(m.Content))
		}
	}
	t, n := s.turn(req.Tools, results)
	message, stop := chatMessage(t, n)
	whole := func(object, field string, choice map[string]any, stop any) map[string]any {
		return map[string]any{
			"id": fmt.Sprintf("chat_%d", n), "object": object, "created": 1, "model": req.Model,
			"choices": []any{map[string]any{"index": 0, field: choice, "finish_reason": stop}},
			"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
		}
	}
	if !req.Stream {
		answer(w, whole("chat.completion", "message", message, stop))
		return
	}
	out := newStream(w)
	out.data(whole("chat.completion.chunk", "delta", message, nil))
	out.data(whole("chat.completion.chunk", "delta", map[string]any{}, stop))
	out.end()
}

func chatMessage(t Turn, n int) (message map[string]any, stop string) {
	if t.Tool == "" {
		return map[string]any{"role": "assistant", "content": t.Text}, "stop"
	}
	return map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{
		"index": 0, "id": fmt.Sprintf("call_%d", n), "type": "function",
		"function": map[string]any{"name": t.Tool, "arguments": t.input()},
	}}}, "tool_calls"
}
