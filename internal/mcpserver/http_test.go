package mcpserver

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTokenScheme: the scheme of the token is written in any case, and nothing else is
// taken for it.
func TestTokenScheme(t *testing.T) {
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	server := httptest.NewServer(checked(next, "secret", true))
	defer server.Close()
	for header, want := range map[string]int{
		"Bearer secret": 200, "bearer secret": 200, "BEARER secret": 200, "Basic secret": 401, "Bearer": 401, "secret": 401, "": 401,
		"Bearer secret2": 401, "Bearer  secret": 401, "Bearersecret": 401,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", header)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		if r.StatusCode != want || want == 200 && string(text) != "body" {
			t.Errorf("%q: %d %q, want %d", header, r.StatusCode, text, want)
		}
	}
	r, err := http.Post(server.URL, "", bytes.NewReader(make([]byte, 100)))
	if err != nil || r.StatusCode != 401 {
		t.Errorf("without a token: %v", err)
	}
	r.Body.Close()
}

// TestWrongLinesKeepTheirID: what is no message is answered under its id, and no id becomes
// another.
func TestWrongLinesKeepTheirID(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7.9,"method":"ping"}`: `"id":7.9,`, `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`: `"id":1e3,`,
		`{"jsonrpc":"1.0","id":"a\"b","method":"ping"}`: `"id":"a\"b",`, `{"jsonrpc":"1.0","id":12,"method":"ping"}`: `"id":12,`,
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`: `"id":null,`, `{"jsonrpc":"2.0","id":[1],"method":"ping"}`: `"id":null,`,
		`{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`: `"id":99999999999999999999,`, `{`: `"id":null,`,
		`{"jsonrpc":"2.0","id":"text","method":"ping"}`: "", `{"jsonrpc":"2.0","id":-3,"method":"ping"}`: "",
		`{"jsonrpc":"2.0","method":"notifications/x"}`: "",
	} {
		var said strings.Builder
		from, _ := transport(io.NopCloser(strings.NewReader(line+"\n")), closer{&said})
		passed, _ := io.ReadAll(from)
		if (want == "") != (string(passed) == line+"\n") || !strings.Contains(said.String(), want) || (want == "") != (said.Len() == 0) {
			t.Errorf("%s: handed on %q, answered %q", line, passed, said.String())
		}
	}
}

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// TestSlowBody: a body that does not come is given up, and one that came leaves as much
// time for the answer as it takes.
func TestSlowBody(t *testing.T) {
	const within = 200 * time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !wholeBody(w, r, within) {
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(3 * within):
			fmt.Fprint(w, "answered")
		}
	}))
	defer server.Close()
	for body, want := range map[string]string{"0123456789": "answered", "0123": "408 Request Timeout"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 10\r\n\r\n%s", body)
		if got, err := io.ReadAll(conn); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%q: %.200q, %v", body, got, err)
		}
		conn.Close()
	}
}

// TestSessionsAreCounted: a server keeps so many sessions; who has one is answered, and one
// that ends makes room.
func TestSessionsAreCounted(t *testing.T) {
	protocol := sdk.NewServer(&sdk.Implementation{Name: "counted"}, nil)
	server := httptest.NewServer(counted(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return protocol }, nil), protocol))
	defer server.Close()
	ask := func(method, session, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		return r.StatusCode, r.Header.Get("Mcp-Session-Id")
	}
	const (
		begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
			`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	)
	var session string
	for i := range maxSessions {
		var status int
		if status, session = ask(http.MethodPost, "", begin); status != http.StatusOK || session == "" {
			t.Fatalf("session %d: %d %q", i, status, session)
		}
	}
	if status, _ := ask(http.MethodPost, "", begin); status != http.StatusServiceUnavailable {
		t.Errorf("one too many: %d", status)
	}
	if status, _ := ask(http.MethodPost, session, ping); status != http.StatusOK {
		t.Errorf("a session that there is: %d", status)
	}
	if status, _ := ask(http.MethodDelete, session, ""); status != http.StatusNoContent {
		t.Errorf("its end: %d", status)
	}
	if status, _ := ask(http.MethodPost, "", begin); status != http.StatusOK {
		t.Errorf("there is no room again: %d", status)
	}
}
