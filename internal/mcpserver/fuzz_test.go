package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzConversation: whatever a client says in lines, the server neither goes down nor
// owes the answer to the next that is right; unless what came cannot be cut into messages
// any more, and it hangs up.
func FuzzConversation(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"undo","arguments":{"count":1}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"zzz"}}`,
		`[{"jsonrpc":"2.0","id":3,"method":"ping"}]`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":4,"result":{}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"workspace_status","arguments":{"name":"` + strings.Repeat("a", 70) + `"},"inputResponses":{"a":{"action":"accept"}},"requestState":"x","_meta":{"progressToken":{}}}}`,
		"\xff\xfe", "{", "null", `"`, strings.Repeat("[", 1000), `{"jsonrpc":"2.0","id":1e400,"method":"ping"}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		s, err := New(Options{Project: "/nonexistent", Caller: strangerCaller(t), Log: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		in, say := io.Pipe()
		hear, out := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, w := transport(in, out)
			_ = s.sdk.Run(ctx, &sdk.IOTransport{Reader: r, Writer: w})
			out.Close()
			in.Close()
		}()
		answered := make(chan bool, 1)
		go func() {
			lines := bufio.NewReader(hear)
			for {
				line, err := lines.ReadString('\n')
				if strings.Contains(line, "a-number-of-ours") || err != nil {
					answered <- err == nil
					_, _ = io.Copy(io.Discard, lines)
					return
				}
			}
		}()
		go func() {
			_, _ = io.WriteString(say, said+"\n")
			_, _ = fmt.Fprintln(say, `{"jsonrpc":"2.0","id":"a-number-of-ours","method":"ping"}`)
		}()
		select {
		case <-answered:
		case <-time.After(10 * time.Second):
			t.Errorf("neither answered nor hung up after %.200q", said)
		}
		cancel()
		say.Close()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			t.Error("it does not end")
		}
		hear.Close()
	})
}
