//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// agentClient is the other end of `carrel mcp`: lines of JSON, written by hand, so that
// it can also say what no library would.
type agentClient struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	said  *strings.Builder
	asks  func(method string, params json.RawMessage) any // what the server asks for
	notes atomic.Int64                                    // of progress

	mu      sync.Mutex
	next    int
	waiting map[string]chan reply
	gone    chan struct{}
}

type reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// toolReply is what a tool gave.
type toolReply struct {
	Content []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     []byte `json:"data"`
		MIMEType string `json:"mimeType"`
	} `json:"content"`
	Structured map[string]any `json:"structuredContent"`
	Meta       struct {
		Result map[string]any `json:"carrel/result"`
	} `json:"_meta"`
	IsError bool   `json:"isError"`
	none    string // why there is none
}

func (r toolReply) text() string {
	var out []string
	for _, c := range r.Content {
		out = append(out, c.Text)
	}
	return strings.Join(out, "\n") + r.none
}

// code is that of a refusal.
func (r toolReply) code() string {
	if !r.IsError {
		return ""
	}
	code, _ := r.Structured["code"].(string)
	return code
}

// mcp starts a server and greets it.
func (w *world) mcp(args ...string) *agentClient {
	w.t.Helper()
	c := w.mcpSilent(args...)
	c.greet("2025-11-25")
	return c
}

// mcpSilent starts a server to which nothing has been said.
func (w *world) mcpSilent(args ...string) *agentClient {
	w.t.Helper()
	return newAgentClient(w.t, w.command(w.bin, append([]string{"mcp"}, args...)...))
}

// newAgentClient starts a server by a command.
func newAgentClient(t *testing.T, cmd *exec.Cmd) *agentClient {
	t.Helper()
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	c := &agentClient{t: t, cmd: cmd, in: in, said: &strings.Builder{}, waiting: map[string]chan reply{}, gone: make(chan struct{})}
	cmd.Stderr = c.said
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	go c.read(out)
	t.Cleanup(c.end)
	return c
}

func (c *agentClient) read(out io.Reader) {
	defer close(c.gone)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			reply
		}
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.Method == "notifications/progress":
			c.notes.Add(1)
		case m.Method != "" && len(m.ID) > 0 && c.asks != nil:
			answer, _ := json.Marshal(c.asks(m.Method, m.Params))
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, answer))
		case len(m.ID) > 0:
			c.mu.Lock()
			to := c.waiting[string(m.ID)]
			delete(c.waiting, string(m.ID))
			c.mu.Unlock()
			if to != nil {
				to <- m.reply
			}
		}
	}
}

// line says something, whatever it is.
func (c *agentClient) line(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.in, text+"\n")
}

// ask begins a request and gives its number and where the answer comes.
func (c *agentClient) ask(method string, params any) (int, chan reply) {
	text, err := json.Marshal(params)
	if err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	c.next++
	id, to := c.next, make(chan reply, 1)
	c.waiting[fmt.Sprint(id)] = to
	c.mu.Unlock()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, text))
	return id, to
}

func (c *agentClient) request(method string, params any) reply {
	c.t.Helper()
	_, to := c.ask(method, params)
	select {
	case r := <-to:
		return r
	case <-c.gone:
		c.t.Fatalf("%s: the server has ended: %s", method, c.said)
	case <-time.After(patience):
		c.t.Fatalf("%s: no answer", method)
	}
	return reply{}
}

func (c *agentClient) greet(version string) string {
	c.t.Helper()
	r := c.request("initialize", map[string]any{"protocolVersion": version, "capabilities": map[string]any{"elicitation": map[string]any{}}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	var got struct {
		Version string `json:"protocolVersion"`
	}
	if err := json.Unmarshal(r.Result, &got); err != nil || got.Version == "" {
		c.t.Fatalf("initialize: %s %v", r.Result, r.Error)
	}
	c.line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return got.Version
}

type args = map[string]any

// tool calls one, whatever it says.
func (c *agentClient) tool(name string, arguments any) toolReply {
	c.t.Helper()
	return c.told(c.request("tools/call", args{"name": name, "arguments": arguments}))
}

func (c *agentClient) told(r reply) (got toolReply) {
	c.t.Helper()
	if r.Error != nil {
		return toolReply{IsError: true, none: r.Error.Message}
	}
	if err := json.Unmarshal(r.Result, &got); err != nil {
		c.t.Fatalf("%v: %s", err, r.Result)
	}
	if got.Structured == nil { // the text or the picture is the answer
		got.Structured = got.Meta.Result
	}
	return got
}

// does wants a tool to do its work, and gives what it says.
func (c *agentClient) does(name string, arguments any) toolReply {
	c.t.Helper()
	r := c.tool(name, arguments)
	if r.IsError {
		c.t.Fatalf("%s %v: %s", name, arguments, r.text())
	}
	return r
}

// refuses wants a refusal with a code.
func (c *agentClient) refuses(code, name string, arguments any) toolReply {
	c.t.Helper()
	r := c.tool(name, arguments)
	if r.code() != code {
		c.t.Errorf("%s %v: code %q, want %q: %s", name, arguments, r.code(), code, r.text())
	}
	return r
}

// end lets the server go, which has to take all along that is its own.
func (c *agentClient) end() {
	c.in.Close()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(patience):
		_ = c.cmd.Process.Kill()
		c.t.Error("the server does not end with its client")
	}
}

// toolNames lists all pages.
func (c *agentClient) toolNames() (names []string, all []map[string]any) {
	c.t.Helper()
	for cursor := ""; ; {
		params := args{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		var page struct {
			Tools []map[string]any `json:"tools"`
			Next  string           `json:"nextCursor"`
		}
		if err := json.Unmarshal(c.request("tools/list", params).Result, &page); err != nil {
			c.t.Fatal(err)
		}
		for _, tool := range page.Tools {
			names = append(names, tool["name"].(string))
		}
		all = append(all, page.Tools...)
		if cursor = page.Next; cursor == "" {
			return names, all
		}
	}
}
