package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// messagesRequest is the part of a Messages request that is looked at.
type messagesRequest struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
}

// messages answers POST /v1/messages.
func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	var req messagesRequest
	if !s.read(w, r, &req) {
		return
	}
	var t Turn
	var n int
	if s.awaits(req.Tools) {
		t, n = Turn{Tool: waiting}, waitingNumber
	} else {
		t, n = s.turn(req.Tools, toolResults(req))
	}
	block, delta, stop := anthropicBlock(t, n)
	message := map[string]any{
		"id": fmt.Sprintf("msg_%d", n), "type": "message", "role": "assistant", "model": req.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage(),
	}
	if !req.Stream {
		message["stop_reason"] = "end_turn"
		message["content"] = []any{map[string]any{"type": "text", "text": t.Text}}
		answer(w, message)
		return
	}
	out := newStream(w)
	out.event("message_start", map[string]any{"message": message})
	out.event("content_block_start", map[string]any{"index": 0, "content_block": block})
	out.event("content_block_delta", map[string]any{"index": 0, "delta": delta})
	out.event("content_block_stop", map[string]any{"index": 0})
	out.event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": usage()})
	out.event("message_stop", map[string]any{})
}

// waiting is the tool by which a model waits for tools of MCP that Claude Code has not found yet.
const waiting = "WaitForMcpServers"

// waitingNumber is that of its calls, of which the script knows nothing.
const waitingNumber = 0

func toolUse(n int) string { return fmt.Sprintf("toolu_%d", n) }

// awaits says whether the next turn is of a tool of MCP that is not there, and can be waited for. On a busy
// machine the first request comes before a server of MCP has answered.
func (s *Server) awaits(tools []json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next >= len(s.turns) || !strings.HasPrefix(s.turns[s.next].Tool, "mcp__") {
		return false
	}
	can := false
	for _, raw := range tools {
		var tool struct{ Name string }
		if json.Unmarshal(raw, &tool) != nil {
			continue
		}
		if tool.Name == s.turns[s.next].Tool {
			return false
		}
		can = can || tool.Name == waiting
	}
	return can
}

func usage() map[string]any { return map[string]any{"input_tokens": 10, "output_tokens": 5} }

func anthropicBlock(t Turn, n int) (block, delta map[string]any, stop string) {
	if t.Tool == "" {
		return map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": t.Text}, "end_turn"
	}
	return map[string]any{"type": "tool_use", "id": toolUse(n), "name": t.Tool, "input": map[string]any{}},
		map[string]any{"type": "input_json_delta", "partial_json": t.input()}, "tool_use"
}

// toolResults collects the tool_result blocks of the conversation, in order.
func toolResults(req messagesRequest) []string {
	var all []string
	for _, m := range req.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			Of      string          `json:"tool_use_id"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			continue
		}
		for _, b := range blocks {
			if b.Type == "tool_result" && b.Of != toolUse(waitingNumber) {
				all = append(all, text(b.Content))
			}
		}
	}
	return all
}
