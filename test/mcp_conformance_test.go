//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// mcpHTTP starts a server on a port and gives its address.
func (w *world) mcpHTTP(token string, flags ...string) string {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	address := l.Addr().String()
	l.Close()
	cmd := w.command(w.bin, append([]string{"mcp", "--display", "none", "--listen", address, "--token-file", token}, flags...)...)
	w.must(cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	eventually(w.t, "it listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return address
}

// TestMCPConformance plays those parts of the protocol's own suite that are about what
// this server offers. The others want tools, resources and prompts of the suite's own.
func TestMCPConformance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installPackages("*")
	packages := w.home + "/.npm-global/lib/node_modules"
	token := w.home + "/token"
	w.litter = true
	address := w.mcpHTTP(token)
	// The suite knows no tokens.
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.FlushInterval = -1
	var passed lines // so that a request without an answer can be found
	proxy.ModifyResponse = func(r *http.Response) error {
		passed.add("%s begins to be answered: %s %s", r.Request.Header.Get("X-Number"), r.Status, r.Header.Get("Content-Type"))
		return nil
	}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		number := passed.add("%s %.200s %v", r.Method, body, err)
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.Header.Set("X-Number", number)
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(w.read(token)))
		proxy.ServeHTTP(rw, r)
		passed.add("%s is over: %v", number, r.Context().Err())
	}))
	defer front.Close()
	for _, scenario := range []string{"server-initialize", "ping", "tools-list", "logging-set-level", "server-sse-multiple-streams", "dns-rebinding-protection"} {
		play := func() (r result, ok bool) {
			r = w.plain(packages+"/node/bin/node", packages+"/@modelcontextprotocol/conformance/dist/index.js",
				"server", "--url", front.URL+"/", "--scenario", scenario)
			return r, r.code == 0 && strings.Contains(r.out, " 0 failed, 0 warnings") && !strings.Contains(r.out, "Passed: 0/")
		}
		r, ok := play()
		if !ok && strings.Contains(r.out, " 0 failed, 1 warnings") { // seldom, of streams on a busy machine
			t.Logf("%s: %s", scenario, r)
			r, ok = play()
		}
		if !ok {
			t.Errorf("%s: %s\nrequests:\n%s", scenario, r, passed.all())
		}
	}
}

// lines are told by several at once; each has a number, and when it came.
type lines struct {
	mu   sync.Mutex
	kept []string
}

func (l *lines) add(format string, args ...any) (number string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number = strconv.Itoa(len(l.kept))
	l.kept = append(l.kept, number+" "+time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	return number
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.kept, "\n")
}

// TestMCPInspector: the inspector's command line lists tools, and calls one.
func TestMCPInspector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installPackages("*")
	packages := w.home + "/.npm-global/lib/node_modules"
	w.setenv("PATH", packages+"/node/bin:/usr/local/bin:/usr/bin:/bin")
	w.litter = true
	inspect := func(more ...string) map[string]any {
		t.Helper()
		r := w.plain(packages+"/node/bin/node", append([]string{packages + "/@modelcontextprotocol/inspector/cli/build/cli.js"}, append([]string{"--cli", w.bin, "mcp", "--display", "none", "--method"}, more...)...)...)
		var got map[string]any
		if err := json.Unmarshal([]byte(r.out), &got); err != nil || r.code != 0 {
			t.Fatalf("%v: %s", err, r)
		}
		return got
	}
	if list, _ := inspect("tools/list")["tools"].([]any); len(list) < 20 {
		t.Errorf("%d tools", len(list))
	}
	if got := fmt.Sprint(inspect("tools/call", "--tool-name", "app_launch", "--tool-arg", `command=["touch","made"]`, "wait=exit")); !exists(w.project+"/made") || strings.Contains(got, "isError:true") {
		t.Errorf("%s", got)
	}
}

// TestMCPOverHTTP: who has no token, or comes from a page of the web or by another name of
// this machine, is told nothing; a second server does not take the first one's place.
func TestMCPOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	token := w.home + "/token"
	w.litter = true
	address := w.mcpHTTP(token)
	if st, err := os.Stat(token); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v %v", st, err)
	}
	secret := strings.TrimSpace(w.read(token))
	ask := func(change func(*http.Request)) int {
		r, err := http.NewRequest("POST", "http://"+address+"/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		w.must(err)
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Content-Type", "application/json")
		change(r)
		got, err := http.DefaultClient.Do(r)
		w.must(err)
		got.Body.Close()
		return got.StatusCode
	}
	for name, c := range map[string]struct {
		want   int
		change func(*http.Request)
	}{
		"as it should be": {200, func(*http.Request) {}},
		"a local page":    {200, func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }},
		"no token":        {401, func(r *http.Request) { r.Header.Del("Authorization") }},
		"half of it":      {401, func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+secret[:20]) }},
		"a page":          {403, func(r *http.Request) { r.Header.Set("Origin", "https://example.com") }},
		"no origin":       {403, func(r *http.Request) { r.Header.Set("Origin", "null") }},
		"another name":    {403, func(r *http.Request) { r.Host = "rebound.example.com" }},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	for _, wrong := range [][]string{{"--listen", address, "--token-file", token}, {"--listen", "0.0.0.0:0", "--token-file", token}, {"--listen", "127.0.0.1:0"}, {"--listen", "unix:rel/x"}, {"--token-file", token}} {
		if r := w.carrel(append([]string{"mcp"}, wrong...)...); r.code != 125 {
			t.Errorf("%q: %s", wrong, r)
		}
	}
	w.must(os.Chmod(token, 0o644))
	if r := w.carrel("mcp", "--listen", "127.0.0.1:0", "--token-file", token); r.code != 125 || !strings.Contains(r.err, "others can read it") {
		t.Errorf("%s", r)
	}
}
