package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responsesRequest is the part of a Responses request that is looked at.
type responsesRequest struct {
	Tools []json.RawMessage `json:"tools"`
	Input []struct {
		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	} `json:"input"`
}

// responses answers POST /v1/responses.
func (s *Server) responses(w http.ResponseWriter, r *http.Request) {
	var req responsesRequest
	if !s.read(w, r, &req) {
		return
	}
	var results []string
	for _, item := range req.Input {
		if item.Type == "function_call_output" || item.Type == "custom_tool_call_output" {
			results = append(results, text(item.Output))
		}
	}
	t, n := s.turn(req.Tools, results)
	id := fmt.Sprintf("resp_%d", n)
	out := newStream(w)
	out.event("response.created", map[string]any{"response": map[string]any{"id": id}})
	out.event("response.output_item.done", map[string]any{"output_index": 0, "item": openaiItem(t, n)})
	out.event("response.completed", map[string]any{"response": map[string]any{"id": id, "usage": map[string]any{
		"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 5, "output_tokens_details": nil, "total_tokens": 15,
	}}})
}

func openaiItem(t Turn, n int) map[string]any {
	if t.Tool == "" {
		return map[string]any{"type": "message", "role": "assistant", "id": fmt.Sprintf("msg_%d", n),
			"content": []any{map[string]any{"type": "output_text", "text": t.Text}}}
	}
	if t.Free {
		return map[string]any{"type": "custom_tool_call", "id": fmt.Sprintf("ct_%d", n), "call_id": fmt.Sprintf("call_%d", n),
			"name": t.Tool, "input": t.Input["input"]}
	}
	call := map[string]any{"type": "function_call", "id": fmt.Sprintf("fc_%d", n), "call_id": fmt.Sprintf("call_%d", n),
		"name": t.Tool, "arguments": t.input()}
	if t.Space != "" {
		call["namespace"] = t.Space
	}
	return call
}
