//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var onlyAPI = []string{"--network", "filtered", "--allow-host", "api.example.com"}

// post is a plain request with headers of the caller's choice and a body.
func post(headers, body string) string {
	return "POST http://api.example.com/upload HTTP/1.1\r\nHost: api.example.com\r\n" + headers + "\r\n" + body
}

// TestFilteredRequests: what two programs may read differently goes no further.
func TestFilteredRequests(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com", "other.example.com")
		const inner = "GET http://other.example.com/smuggled HTTP/1.1\r\nHost: other.example.com\r\n\r\n"
		refused := []string{"HTTP/1.1 4", "HTTP/1.1 501", "HTTP/1.1 505", "HTTP/1.0 4", ""}
		w.talks(onlyAPI, []talk{
			{plainGet("api.example.com"), allowed},
			{post("Content-Length: 4\r\nConnection: close\r\n", "body"), allowed},
			{post("Transfer-Encoding: chunked\r\nConnection: close\r\n", "4\r\nbody\r\n0\r\n\r\n"), allowed},
			// Two lengths, two bodies, two hosts: smuggling.
			{post(fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\n", 5+len(inner)), "0\r\n\r\n"+inner), refused},
			{post("Content-Length: 4\r\nContent-Length: 5\r\n", "body"+inner), refused},
			{post("Content-Length: +4\r\n", "body"+inner), refused},
			{post("Content-Length: 4,4\r\n", "body"+inner), refused},
			{post("Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"+inner), refused},
			{post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"+inner), refused},
			{post("Transfer-Encoding : chunked\r\n", "0\r\n\r\n"+inner), refused},
			{post("Host: other.example.com\r\n", ""), refused},
			{"GET http://api.example.com/ HTTP/1.1\r\nHost: other.example.com\r\n\r\n", append(refused, allowed...)},
			{"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n" + inner, allowed},
			{"GET http://api.example.com/\r\n\r\n", refused},
			{"GET / HTTP/1.1\r\nHost: api.example.com\r\n\r\n", refused},
			{"GET ftp://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", refused},
			{"GET http://api.example.com:0/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", refused},
			{"GET http://api.example.com:99999/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", refused},
			{"TRACE http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", refused},
			{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", refused},
			// An upgrade is not handed on: the answer is the plain one.
			{"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", append(refused, allowed...)},
			// The proxy by itself.
			{connectTo(proxyAt), refusals}, {plainGet(proxyAt), refusals}, {connectTo("127.0.0.1:3128"), refusals}, {connectTo("localhost:3128"), refusals},
			{connectTo(nameServerIn), refusals}, {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", refused},
			{"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n", refused}, {"CONNECT api.example.com HTTP/1.1\r\nHost: x\r\n\r\n", append(refused, allowed...)},
			// Too much of anything.
			{"GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\nX: " + strings.Repeat("a", 90_000) + "\r\n\r\n", append(refused, "HTTP/1.1 200")},
			{"GET http://api.example.com/" + strings.Repeat("a", 90_000) + " HTTP/1.1\r\n\r\n", append(refused, "HTTP/1.1 200")},
			{"CONNECT " + strings.Repeat("a", 90_000) + ":443 HTTP/1.1\r\n\r\n", refused},
			// SOCKS beyond connecting.
			{socksTo(3, "api.example.com", 443), []string{"\x05\x00\x05\x07"}}, {socksTo(2, "api.example.com", 443), []string{"\x05\x00\x05\x07"}},
			{"\x05\x01\x03", []string{"\x05\xff"}}, {"\x04\x01\x01\xbb\x5d\xb8\xd8\x0a\x00", append(refused, "\x00\x5b")}, {"\x05\x00", []string{"\x05\xff", ""}},
			{socksTo(1, "", 443), []string{"\x05\x00\x05"}}, {"\x16\x03\x01", append(refused, "\x15\x03", " (waits)")}, {"\x00\x00\x00\x00", append(refused, " (waits)")},
		})
		for _, v := range n.visits.take() {
			if strings.Contains(v, "other.example.com") || strings.Contains(v, "smuggled") || strings.Contains(v, "upgrade") || !strings.Contains(v, n.address("api.example.com").String()) {
				t.Errorf("visited: %q", v)
			}
		}
	})
}

// TestFilteredTLS: the name of a TLS connection is the name that was decided on.
func TestFilteredTLS(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com", "cdn.example.com")
		flags := append(slices.Clone(onlyAPI), "--allow-host", "cdn.example.com")
		got := strings.Split(w.attack(flags, "tls", "api.example.com:443", "API.Example.Com", "--", "tls", "api.example.com:443", "other.example.com", "--",
			"tls", "api.example.com:443", "cdn.example.com"), "\n")
		if got[0] != "ok reached GET API.Example.Com" {
			t.Errorf("the same name in capitals: %q", got[0])
		}
		for _, line := range got[1:] {
			if strings.HasPrefix(line, "ok") || strings.Contains(line, "slow") {
				t.Errorf("another name in TLS: %q", line)
			}
		}
		if !w.denied("other.example.com") {
			t.Errorf("the other name is in no denial: %s", w.plain(w.bin, "denials", "--all", "--json"))
		}
		for _, v := range n.visits.take() {
			if !strings.EqualFold(v, "https "+n.address("api.example.com").String()+":443 GET api.example.com/") {
				t.Errorf("visited: %q", v)
			}
		}
	})
}

// TestFilteredLoad: many connections at once, and many that say nothing, leave
// the next one served.
func TestFilteredLoad(t *testing.T) {
	n := newInternet(t)
	w := n.world(ordinary(t))
	n.name("api.example.com")
	const many = "2000"
	got := strings.Split(w.attack(onlyAPI,
		"many", proxyAt, many, "api.example.com:443", "--", "get", "https://api.example.com/", "--",
		"many", proxyAt, "500", "other.example.com:443", "--", "get", "https://api.example.com/", "--",
		"halfopen", proxyAt, "500", "", "http://api.example.com/", "--",
		"halfopen", proxyAt, "500", "GET http://api.exam", "http://api.example.com/", "--",
		"halfopen", proxyAt, "500", connectTo("api.example.com:443"), "http://api.example.com/", "--",
		"halfopen", proxyAt, "500", "\x05\x01", "http://api.example.com/"), "\n")
	const served = "ok 200 reached GET api.example.com"
	for i, want := range []string{"ok open 2000 refused 0 failed 0", served, "ok open 0 refused 500 failed 0", served, served, served, served, served} {
		if got[i] != want {
			t.Errorf("%d: %q, want %q", i, got[i], want)
		}
	}
}

// TestFilteredReusePort: nobody inside listens where we do.
func TestFilteredReusePort(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.fails(onlyAPI, []string{"reuseport", "tcp", proxyAt, "--", "reuseport", "tcp", nameServerIn, "--", "reuseport", "udp", nameServerIn}, "EADDRINUSE", "EACCES")
		if got := w.attack(onlyAPI, "reuseport", "tcp", "127.0.0.1:3128"); got != "ok bound" {
			t.Errorf("a port of one's own: %q", got)
		}
	})
}

// TestFilteredFailures: a resolver that hangs, a server that is not there or
// dies half way: an end that says so, soon, and others are served meanwhile.
func TestFilteredFailures(t *testing.T) {
	t.Parallel() // it waits, most of its time
	n := newInternet(t)
	w := n.world(ordinary(t))
	n.name("api.example.com")
	n.names.hang("hang.example.com")
	n.names.set("nobody.example.com", n.address("api.example.com"))
	flags := append(slices.Clone(onlyAPI), "--allow-host", "hang.example.com", "--allow-host", "nobody.example.com:7", "--allow-host", "gone.example.com")
	r := w.run(append(flags, "--", "bash", "-c", program("filtered_survival/failures.bash"))...)
	for _, want := range []string{"reached GET api.example.com\nreached GET api.example.com\nreached GET api.example.com\n", "gone 502", "nobody 502", "hang 50"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q: %s", want, r)
		}
	}
	// 18: less than was announced; 56: the connection was reset.
	if n := strings.Count(r.out, "half 18\n") + strings.Count(r.out, "half 56\n"); n != 2 {
		t.Errorf("%d of two broken answers are seen as such: %s", n, r)
	}
	for line := range strings.Lines(r.out) {
		var what string
		var code int
		var seconds float64
		if k, _ := fmt.Sscanf(line, "%s %d %f", &what, &code, &seconds); k == 3 && (seconds > 12 || what != "hang" && seconds > quick.Seconds()) {
			t.Errorf("late: %s", line)
		}
	}
}

// TestFilteredKilled: when a workspace ends, in whatever way, the far side of
// its connections sees it.
func TestFilteredKilled(t *testing.T) {
	asUserAlone(t, func(t *testing.T, p person) {
		n := newInternet(t)
		n.name("api.example.com")
		for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			w := n.world(p)
			w.litter = true
			cmd := w.command(w.bin, append(append([]string{"run"}, onlyAPI...), "--", "bash", "-c",
				"curl -sN https://api.example.com/stream >/dev/null & curl -sN http://api.example.com/stream >/dev/null & curl -sN --noproxy '*' https://api.example.com/stream >/dev/null & wait")...)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			n.must(w.start(cmd))
			count := 0
			eventually(t, "three streams", func() bool {
				n.visits.mu.Lock()
				defer n.visits.mu.Unlock()
				count = len(n.visits.all)
				return count == 3
			})
			start := time.Now()
			n.must(cmd.Process.Signal(how))
			eventually(t, "the far side sees the end", func() bool {
				n.visits.mu.Lock()
				defer n.visits.mu.Unlock()
				return len(n.visits.all) == 6
			})
			if took := time.Since(start); took > quick {
				t.Errorf("%v: the far side saw the end after %v", how, took)
			}
			n.visits.take()
			ended(cmd)
		}
	})
}

// ended waits for a process that was told to end.
func ended(cmd *exec.Cmd) { _ = cmd.Wait() }

// TestFilteredHostPorts: listed ports of the host's loopback are there inside,
// on both families, whoever starts first; others are not.
func TestFilteredHostPorts(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, mode := range []string{"local", "filtered"} {
			n := newInternet(t)
			w := n.world(p)
			for _, at := range []string{"127.0.0.1:5432", "127.0.0.1:6379", "[::1]:6380", "127.0.0.1:8081", "[::1]:8081"} {
				at := at
				go eachConn(n.listen(n.host, "tcp", at), func(c net.Conn) { _, _ = c.Write([]byte(greeting + " " + at)) })
			}
			flags := []string{"--network", mode, "--host-port", "6379", "--host-port", "6380", "--host-port", "8081", "--host-port", "9"}
			var args []string
			want := []struct{ at, says string }{
				{"127.0.0.1:6379", "ok reached 127.0.0.1:6379"}, {"[::1]:6380", "ok reached [::1]:6380"},
				{"127.0.0.1:8081", "ok reached 127.0.0.1:8081"}, {"[::1]:8081", "ok reached 127.0.0.1:8081"},
				{"localhost:6379", "ok reached 127.0.0.1:6379"}, {"127.0.0.1:5432", ""}, {"127.0.0.1:9", ""}, {hostAddress + ":6379", ""}, {gateway + ":8080", ""},
			}
			for _, one := range want {
				args = append(args, "dial", "tcp", one.at, "--")
			}
			for i, got := range strings.Split(w.attack(flags, args[:len(args)-1]...), "\n") {
				if want[i].says != "" && got != want[i].says || want[i].says == "" && (strings.HasPrefix(got, "ok") || strings.Contains(got, "slow")) {
					t.Errorf("%s: %s gives %q, want %q", mode, want[i].at, got, want[i].says)
				}
			}
		}
	})
}
