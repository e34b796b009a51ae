package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// geminiRequest is the part of a GenerateContent request that is looked at.
type geminiRequest struct {
	Tools    []json.RawMessage `json:"tools"`
	Contents []struct {
		Parts []struct {
			FunctionResponse *struct {
				Response struct {
					Output json.RawMessage `json:"output"`
					Error  json.RawMessage `json:"error"`
				} `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
}

// generate answers POST /v1beta/models/MODEL:METHOD.
func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	_, method, _ := strings.Cut(r.PathValue("call"), ":")
	switch method {
	case "countTokens":
		answer(w, map[string]any{"totalTokens": 10})
		return
	case "generateContent", "streamGenerateContent":
	default:
		http.Error(w, fmt.Sprintf("method %q: want generateContent, streamGenerateContent or countTokens", method), http.StatusNotFound)
		return
	}
	var req geminiRequest
	if !s.read(w, r, &req) {
		return
	}
	t, _ := s.turn(req.Tools, functionResponses(req))
	chunk := map[string]any{
		"candidates": []any{map[string]any{
			"index": 0, "finishReason": "STOP",
			"content": map[string]any{"role": "model", "parts": []any{geminiPart(t)}},
		}},
		"usageMetadata": map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15},
	}
	if method == "generateContent" {
		answer(w, chunk)
		return
	}
	newStream(w).data(chunk)
}

func geminiPart(t Turn) map[string]any {
	if t.Tool == "" {
		return map[string]any{"text": t.Text}
	}
	return map[string]any{"functionCall": map[string]any{"name": t.Tool, "args": t.Input}}
}

// functionResponses collects what the tools gave, in order.
func functionResponses(req geminiRequest) []string {
	var all []string
	for _, c := range req.Contents {
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				r := p.FunctionResponse.Response
				all = append(all, text(r.Output)+text(r.Error))
			}
		}
	}
	return all
}
