package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Codes of refusals that only this package gives.
const (
	codeCancelled = "cancelled" // the client did not want it any longer
	codeTool      = "no-tool"
)

// shown is what a tool gives that shows itself in other words than its JSON.
type shown interface{ content() []sdk.Content }

// problem is the form of every refusal and error.
type problem struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Operation string `json:"operation,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Rule      string `json:"rule,omitempty"`
	Source    string `json:"source,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

// result puts an answer in the protocol's form.
func result(value any) *sdk.CallToolResult {
	r := &sdk.CallToolResult{StructuredContent: value}
	if s, ok := value.(shown); ok {
		r.Content = s.content()
	}
	if r.Content == nil {
		text, err := json.Marshal(value)
		if err != nil {
			return refusal(context.Background(), "", err)
		}
		r.Content = []sdk.Content{&sdk.TextContent{Text: string(text)}}
	}
	return r
}

// refusal puts an error in the form that a model reads and a program understands.
func refusal(ctx context.Context, tool string, err error) *sdk.CallToolResult {
	p := problem{Code: tools.CodeFailed, Message: err.Error(), Operation: tool}
	var d *api.Denial
	var f *fileops.Error
	switch {
	case errors.As(err, &f):
		p = problem{Code: f.Code, Message: f.Message, Operation: f.Operation, Subject: printable(f.Subject.String()), Hint: f.Hint}
	case errors.As(err, &d):
		p = problem{Code: d.Code, Message: d.Message, Operation: d.Operation, Subject: printable(d.Subject), Rule: d.Rule, Source: d.Source, Hint: d.Hint}
	case ctx.Err() != nil:
		p.Code, p.Message = codeCancelled, fmt.Sprintf("%s was ended: %v", tool, context.Cause(ctx))
	}
	text := p.Code + ": " + p.Message
	if p.Hint != "" {
		text += "\nhint: " + p.Hint
	}
	return &sdk.CallToolResult{IsError: true, StructuredContent: p, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func printable(s string) string {
	if text, err := json.Marshal(s); err == nil {
		var out string
		if json.Unmarshal(text, &out) == nil {
			return out
		}
	}
	return fmt.Sprintf("%q", s)
}
