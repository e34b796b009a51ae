package mcpserver

import (
	"context"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestQuestionInRounds: by the newest version of the protocol, which has no requests of
// the server's, a question is the answer of a first call, and the second call has the
// answer to it.
func TestQuestionInRounds(t *testing.T) {
	s, err := New(Options{Project: t.TempDir(), Display: true, Log: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	near, far := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = s.sdk.Run(ctx, far) }()
	for _, answer := range []string{"decline", "accept"} {
		asked := 0
		client := sdk.NewClient(&sdk.Implementation{Name: "t", Version: "1"}, &sdk.ClientOptions{
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				asked++
				return &sdk.ElicitResult{Action: answer, Content: map[string]any{}}, nil
			},
		})
		session, err := client.Connect(ctx, near, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v := session.InitializeResult().ProtocolVersion; v < "2026" {
			t.Errorf("spoken is %s", v)
		}
		r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "workspace_start", Arguments: map[string]any{}})
		if err != nil {
			t.Fatal(err)
		}
		p, _ := r.StructuredContent.(map[string]any)
		// With a yes it goes on, to a program that fails.
		if want := map[string]string{"decline": codeAcknowledge, "accept": "failed"}[answer]; asked != 1 || p["code"] != want {
			t.Errorf("%s: asked %d times, %v", answer, asked, p)
		}
		session.Close()
		near, far = sdk.NewInMemoryTransports()
		go func() { _ = s.sdk.Run(ctx, far) }()
	}
}
