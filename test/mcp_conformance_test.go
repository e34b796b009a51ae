//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
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
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(w.read(token)))
		proxy.ServeHTTP(rw, r)
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
			t.Errorf("%s: %s", scenario, r)
		}
	}
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
