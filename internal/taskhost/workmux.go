package taskhost

import (
	"context"
	"encoding/json"

	"carrel/internal/hostexec"
)

// problem is the error of an answer, with the fields of every refusal.
type problem struct {
	Error *hostexec.Problem `json:"error"`
}

// Workmux carries out what a client of the host protocol wants of a task, as workmux has its
// words: SpawnAgent, Merge or Close. nil says that it was done.
func (h *Host) Workmux(ctx context.Context, what string, of hostexec.Task) *hostexec.Problem {
	if h == nil {
		return &hostexec.Problem{Code: hostexec.CodeUnsupported, Operation: what, Message: "this workspace gives no tasks",
			Hint: "the person it works for allows that with `carrel start --coordinator` or `carrel task new --coordinator`"}
	}
	call := map[string]any{"op": "new", "name": of.Branch, "prompt": of.Prompt}
	switch what {
	case hostexec.TypeMerge:
		call = map[string]any{"op": "merge", "name": of.Name, "into": of.Into, "rebase": of.Rebase, "squash": of.Squash, "keep": of.Keep}
	case hostexec.TypeClose:
		call = map[string]any{"op": "close", "name": of.Name}
	}
	text, err := json.Marshal(call)
	if err != nil || len(text) > maxCall {
		return &hostexec.Problem{Code: hostexec.CodeRequest, Operation: what, Message: "the request is too long"}
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return &hostexec.Problem{Code: hostexec.CodeBusy, Operation: what, Message: "too many requests about tasks at once"}
	}
	var said problem
	if err := json.Unmarshal(h.do(ctx, text), &said); err != nil {
		return &hostexec.Problem{Code: hostexec.CodeRequest, Operation: what, Message: err.Error()}
	}
	return said.Error
}
