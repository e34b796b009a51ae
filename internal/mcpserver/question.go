package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// question is put to the person by the client, which then makes the same call again with
// the answer: a function that asks has done nothing yet. The answer is the client's word
// and no proof of a person. It stands for what an argument could say as well.
type question struct {
	id   string
	text string
}

// Error implements error: a function that wants an answer returns its question.
func (q *question) Error() string { return q.text }

// result asks.
func (q *question) result() *sdk.CallToolResult {
	return &sdk.CallToolResult{RequestState: q.id, InputRequests: sdk.InputRequestMap{q.id: &sdk.ElicitParams{
		Mode: "form", Message: q.text, RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}}}
}

// agreed says what was answered to a question: yes, no, or that it has to be asked.
func (c *call) agreed(id string) (yes, answered bool) {
	r, ok := c.req.Params.InputResponses[id].(*sdk.ElicitResult)
	if !ok {
		return false, false
	}
	return r.Action == "accept", true
}

// asks says whether the client can put questions.
func (c *call) asks() bool {
	p := c.req.Session.InitializeParams()
	return p == nil || p.Capabilities != nil && p.Capabilities.Elicitation != nil
}

// asked is the question in an error.
func asked(err error) *question {
	var q *question
	if errors.As(err, &q) {
		return q
	}
	return nil
}

// progress tells the client what goes on, if it wants to know. done counts what there
// is so far.
func (c *call) progress(ctx context.Context, done float64, text string) {
	if token := c.req.Params.GetProgressToken(); token != nil {
		_ = c.req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Message: text})
	}
}
