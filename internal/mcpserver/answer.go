package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/op"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Codes of refusals that only this package gives.
const (
	codeCancelled = "cancelled" // the client did not want it any longer
	codeTool      = "no-tool"
)

// metaKey is the field of _meta with what a program may want of an answer whose text or
// picture is for a model. It cannot be structuredContent: clients that see that hand it
// to their model in place of the text and the picture.
const metaKey = "carrel/result"

// shown is an answer that is text or a picture. Its JSON is what content does not show.
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
func (t *Tool) result(value any) *sdk.CallToolResult {
	if s, ok := value.(shown); ok {
		return &sdk.CallToolResult{Content: s.content(), Meta: sdk.Meta{metaKey: value}}
	}
	text, err := fit(value)
	if err != nil {
		return t.refusal(context.Background(), err)
	}
	return &sdk.CallToolResult{StructuredContent: text, Content: textOf(string(text))}
}

// refusal puts an error in the form that a model reads and a program understands.
func (t *Tool) refusal(ctx context.Context, err error) *sdk.CallToolResult {
	p := problem{Code: op.CodeFailed, Message: err.Error(), Operation: t.Name}
	var d *api.Denial
	var f *fileops.Error
	switch {
	case errors.As(err, &f):
		p = problem{Code: f.Code, Message: f.Message, Operation: f.Operation, Subject: printable(f.Subject.String()), Hint: f.Hint}
	case errors.As(err, &d):
		p = problem{Code: d.Code, Message: d.Message, Operation: d.Operation, Subject: printable(d.Subject), Rule: d.Rule, Source: d.Source, Hint: d.Hint}
	case ctx.Err() != nil:
		p.Code, p.Message = codeCancelled, fmt.Sprintf("%s was ended: %v", t.Name, context.Cause(ctx))
	}
	p.Message, _ = clip(t.toolWords(p.Message), mostText/2)
	p.Hint = t.hint(p.Hint)
	text := p.Code + ": " + p.Message
	if p.Hint != "" {
		text += "\nhint: " + p.Hint
	}
	r := &sdk.CallToolResult{IsError: true, Content: textOf(text)}
	if t.shows {
		r.Meta = sdk.Meta{metaKey: p}
	} else {
		r.StructuredContent = p
	}
	return r
}

func textOf(text string) []sdk.Content { return []sdk.Content{&sdk.TextContent{Text: text}} }

func printable(s string) string {
	if text, err := json.Marshal(s); err == nil {
		var out string
		if json.Unmarshal(text, &out) == nil {
			return out
		}
	}
	return fmt.Sprintf("%q", s)
}
