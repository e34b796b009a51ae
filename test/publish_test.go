//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browser is a client on the host: it connects where the world's programs run.
func (w *world) browser() *http.Client {
	return &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, DialContext: w.dial}}
}

// dial connects from the place; a name would be looked up on other threads.
func (w *world) dial(_ context.Context, network, address string) (c net.Conn, err error) {
	addresses := []string{address}
	if port, ok := strings.CutPrefix(address, "localhost:"); ok {
		addresses = []string{"127.0.0.1:" + port, "[::1]:" + port}
	}
	for _, at := range addresses {
		err = w.at.do(func() error { c, err = net.DialTimeout(network, at, 5*time.Second); return err })
		if err == nil {
			return c, nil
		}
	}
	return nil, err
}

// fetch gets a page as a browser on the host does; the host is what the page
// calls its own.
func (w *world) fetch(url, host string) (int, string) {
	r, err := http.NewRequest("GET", url, nil)
	w.must(err)
	if host != "" {
		r.Host = host
	}
	answer, err := w.browser().Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(body)
}

// background starts carrel run and gives its standard input; it ends with the
// test, or when the input is closed if the command reads it.
func (w *world) background(args ...string) (in io.WriteCloser, said *bytes.Buffer, cmd *exec.Cmd) {
	w.t.Helper()
	cmd = w.command(w.bin, append([]string{"run"}, args...)...)
	said = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = said, said
	in, err := cmd.StdinPipe()
	w.must(err)
	w.must(w.start(cmd))
	w.t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if w.t.Failed() {
			w.t.Logf("%q said: %s", args, said)
		}
	})
	return in, said, cmd
}

// closure copies a package of the tests' npm directory, and all that it needs,
// into the project.
func (w *world) closure(from string, names ...string) {
	w.t.Helper()
	for done := map[string]bool{}; len(names) > 0; names = names[1:] {
		dir := from + "/node_modules/" + names[0]
		if done[names[0]] || !exists(dir) {
			continue
		}
		done[names[0]] = true
		to := w.project + "/node_modules/" + names[0]
		w.mkdir(filepath.Dir(to), 0o755)
		if out, err := exec.Command("cp", "-aL", dir, to).CombinedOutput(); err != nil {
			w.t.Fatalf("copying %s: %s", names[0], out)
		}
		var about struct{ Dependencies, OptionalDependencies map[string]string }
		data, err := os.ReadFile(dir + "/package.json")
		w.must(err)
		w.must(json.Unmarshal(data, &about))
		for _, list := range []map[string]string{about.Dependencies, about.OptionalDependencies} {
			for name := range list {
				names = append(names, name)
			}
		}
	}
}

// TestPublishedDevServer: a page of a Vite dev server inside opens outside and
// reloads when a file changes, by the person or inside.
func TestPublishedDevServer(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		from := agentPrograms(t)
		n := newInternet(t)
		w := n.world(p)
		w.closure(from, "vite", "node")
		w.write(w.project+"/index.html", `<!DOCTYPE html><script type="module" src="/main.js"></script>`)
		w.write(w.project+"/main.js", "export const page = 'first'\nimport.meta.hot.accept()\n")
		w.write(w.project+"/package.json", `{"type":"module"}`)
		in, _, _ := w.background("--network", "local", "--publish", "3000", "--", "bash", "-c",
			`node_modules/node/bin/node node_modules/vite/bin/vite.js --port 3000 --strictPort & read; echo "export const page = 'third'; import.meta.hot.accept()" > main.js; wait`)
		var page string
		eventually(t, "the dev server's page", func() bool {
			var status int
			status, page = w.fetch("http://localhost:3000/", "")
			return status == 200
		})
		if !strings.Contains(page, "/@vite/client") {
			t.Errorf("the page: %s", page)
		}
		_, client := w.fetch("http://localhost:3000/@vite/client", "")
		token := regexp.MustCompile(`wsToken = "([^"]+)"`).FindStringSubmatch(client)
		if token == nil {
			t.Fatalf("no token in Vite's client: %.300s", client)
		}
		if _, script := w.fetch("http://localhost:3000/main.js", ""); !strings.Contains(script, "first") {
			t.Errorf("the script: %s", script)
		}
		if status, _ := w.upgrade("/?token="+token[1], "evil.example:3000"); status != 403 {
			t.Errorf("a page of another name may speak with the dev server: %d", status)
		}
		status, events := w.upgrade("/?token="+token[1], "localhost:3000")
		if status != 101 {
			t.Fatalf("the dev server's socket: %d", status)
		}
		reload := func(what string) {
			t.Helper()
			for {
				text, err := frame(events)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if strings.Contains(text, "/main.js") && (strings.Contains(text, `"update"`) || strings.Contains(text, "reload")) {
					return
				}
			}
		}
		w.write(w.project+"/main.js", "export const page = 'second'\nimport.meta.hot.accept()\n")
		reload("after a change outside")
		if _, script := w.fetch("http://localhost:3000/main.js", ""); !strings.Contains(script, "second") {
			t.Errorf("the script after a change outside: %s", script)
		}
		time.Sleep(300 * time.Millisecond) // Vite takes changes that follow each other closely for one
		fmt.Fprintln(in)
		reload("after a change inside")
	})
}

// upgrade opens a WebSocket as a page of an origin does.
func (w *world) upgrade(path, origin string) (int, *bufio.Reader) {
	w.t.Helper()
	c, err := w.dial(context.Background(), "tcp", "localhost:3000")
	w.must(err)
	w.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%[2]s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: vite-hmr\r\n\r\n", path, origin)
	r := bufio.NewReader(c)
	answer, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, nil
	}
	return answer.StatusCode, r
}

// frame reads one frame of a WebSocket's server.
func frame(r *bufio.Reader) (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	size := uint64(head[1] & 127)
	more := map[uint64]int{126: 2, 127: 8}[size]
	if more > 0 {
		var b [8]byte
		if _, err := io.ReadFull(r, b[8-more:]); err != nil {
			return "", err
		}
		size = binary.BigEndian.Uint64(b[:])
	}
	data := make([]byte, min(size, 1<<20))
	_, err := io.ReadFull(r, data)
	return string(data), err
}

// TestPublishedServer: who reaches a published port, by which name, and what
// becomes of it when the server inside starts again.
func TestPublishedServer(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		w.write(w.project+"/page", greeting)
		in, _, _ := w.background("--network", "filtered", "--publish", "8000:3000", "--publish", "8001", "--", "bash", "-c",
			`python3 -m http.server 8000 >/dev/null 2>&1 & a=$!; python3 -m http.server --bind ::1 8001 >/dev/null 2>&1 &
			read; kill $a; wait $a; echo stopped; read; python3 -m http.server --bind 127.0.0.1 8000 >/dev/null 2>&1 & read`)
		opens := func(url string) func() bool {
			return func() bool {
				status, body := w.fetch(url, "")
				return status == 200 && body == greeting
			}
		}
		eventually(t, "a published server", opens("http://127.0.0.1:3000/page"))
		eventually(t, "a published server by v6", opens("http://[::1]:3000/page"))
		eventually(t, "a server inside at ::1", opens("http://localhost:8001/page"))
		for _, host := range []string{"localhost:3000", "127.0.0.1:3000", "[::1]:3000", "LOCALHOST:3000", "localhost"} {
			if status, _ := w.fetch("http://127.0.0.1:3000/page", host); status != 200 {
				t.Errorf("Host %s: %d", host, status)
			}
		}
		for _, host := range []string{"evil.example", "evil.example:3000", "localhost.evil.example:3000", "127.0.0.1.evil.example", "10.200.0.2:3000"} {
			if status, body := w.fetch("http://127.0.0.1:3000/page", host); status != 403 || strings.Contains(body, greeting) {
				t.Errorf("Host %s: %d %s", host, status, body)
			}
		}
		if status, body := w.fetch("http://"+hostAddress+":3000/page", "localhost:3000"); status != 0 {
			t.Errorf("published to the network: %d %s", status, body)
		}
		other := *w
		other.who = person{"other", plainUID + 1, plainUID + 1}
		for _, at := range []string{"127.0.0.1", "[::1]"} {
			cmd := other.command("curl", "-sS", "-m", "3", "http://"+at+":3000/page")
			cmd.Dir = "/"
			if r := other.finish(cmd); r.code == 0 || strings.Contains(r.out, greeting) {
				t.Errorf("another user: %s", r)
			}
		}
		fmt.Fprintln(in)
		eventually(t, "the server has stopped", func() bool { status, _ := w.fetch("http://127.0.0.1:3000/page", ""); return status != 200 })
		fmt.Fprintln(in)
		eventually(t, "the server is there again", opens("http://127.0.0.1:3000/page"))
	})
}
