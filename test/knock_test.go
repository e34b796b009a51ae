//go:build linux

package e2e

import (
	"net"
	"strings"
	"testing"
	"time"
)

// TestConnectedWhenAnswered: connect(2) inside succeeds when a program answered outside, and
// fails as it would there, for names and for ports of the host, by both families. Who is
// slow to answer is waited for.
func TestConnectedWhenAnswered(t *testing.T) {
	asUserAlone(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com")
		n.names.set("nobody.example.com", n.address("api.example.com"))
		for _, at := range []string{"127.0.0.1:6379", "[::1]:6380"} {
			go eachConn(n.listen(n.host, "tcp", at), func(c net.Conn) {})
		}
		script := w.write(w.project+"/connects.py", program("knock/connects.py"))
		began := time.Now()
		r := w.run("--network", "filtered",
			"--allow-host", "api.example.com", "--allow-host", "nobody.example.com:7", "--allow-host", "never.example.com",
			"--host-port", "6379", "--host-port", "6380", "--host-port", "9", "--",
			"python3", script, "api.example.com", "443", "nobody.example.com", "7", "never.example.com", "443",
			"127.0.0.1", "6379", "::1", "6379", "::1", "6380", "127.0.0.1", "9", "::1", "9")
		want := "api.example.com 443 connected connected\nnobody.example.com 7 ECONNREFUSED ECONNREFUSED\n" +
			"never.example.com 443 EHOSTUNREACH EHOSTUNREACH\n127.0.0.1 6379 connected connected\n" +
			"::1 6379 connected connected\n::1 6380 connected connected\n" +
			"127.0.0.1 9 ECONNREFUSED ECONNREFUSED\n::1 9 ECONNREFUSED ECONNREFUSED\n"
		if r.out != want {
			t.Errorf("want %q: %s", want, r)
		}
		if took := time.Since(began); took > quick {
			t.Errorf("it took %s", took)
		}
		log := w.fine("net", "log", "--json")
		if got := strings.Count(log, `"code": "dial"`) + strings.Count(log, `"code": "resolve"`); got != 8 {
			t.Errorf("%d failures in the log, want 8: %s", got, log)
		}
	})
}
