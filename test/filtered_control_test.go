//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// attempt is what the tests read of a line of `carrel net log --json`.
type attempt struct {
	PID                                                                            int
	Process, Protocol, Host, Address, Method, Decision, Code, Rule, Source, Reason string
	Port                                                                           uint16
	Delegated                                                                      bool
	Sent, Received                                                                 int64
	Duration                                                                       time.Duration `json:"duration_ns"`
}

func (w *world) netLog() []attempt {
	w.t.Helper()
	var all []attempt
	w.must(json.Unmarshal([]byte(w.plain(w.bin, "net", "log", "--all", "--json").out), &all))
	return all
}

// TestFilteredLog: every attempt is written down once, with who, where, how
// much and why.
func TestFilteredLog(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		n.name("api.example.com")
		n.names.set("inside.example.com", n.address("x"))
		w.run(append(slices.Clone(onlyAPI), "--deny-host", "no.api.example.com", "--allow-host", "gone.example.com", "--", "bash", "-c", program("filtered_control/attempts.bash"))...)
		want := []attempt{
			{Protocol: "connect", Host: "api.example.com", Port: 443, Decision: "allowed", Code: "listed"},
			{Protocol: "http", Host: "api.example.com", Port: 80, Method: "GET", Decision: "allowed", Code: "listed"},
			{Protocol: "tcp", Host: "api.example.com", Port: 443, Decision: "allowed", Code: "listed"},
			{Protocol: "http", Host: "api.example.com", Port: 80, Method: "GET", Decision: "allowed", Code: "listed"}, // by SOCKS
			{Protocol: "connect", Host: "other.example.com", Port: 443, Decision: "refused", Code: "not_listed"},
			{Protocol: "dns", Host: "dns.example.com", Decision: "refused", Code: "not_listed"},
			{Protocol: "http", Host: "no.api.example.com", Port: 80, Method: "GET", Decision: "refused", Code: "denied"},
			{Protocol: "http", Host: "169.254.169.254", Port: 80, Method: "GET", Decision: "refused", Code: "special"},
			{Protocol: "connect", Host: "gone.example.com", Port: 443, Decision: "failed", Code: "resolve"},
		}
		got := w.netLog()
		if len(got) < len(want) {
			t.Fatalf("%d attempts in the log, want %d or more: %+v", len(got), len(want), got)
		}
		for _, one := range want {
			i := slices.IndexFunc(got, func(c attempt) bool {
				return c.Protocol == one.Protocol && c.Host == one.Host && c.Port == one.Port && c.Method == one.Method &&
					(c.Decision == one.Decision && c.Code == one.Code || one.Decision == "allowed" && c.Code == "gone") // a program may end with a reset
			})
			if i < 0 {
				t.Errorf("no %+v in the log: %+v", one, got)
				continue
			}
			c := got[i]
			if one.Decision == "allowed" {
				if c.Address != n.address("api.example.com").String() || c.Rule != "api.example.com" || c.Source != "--allow-host" || c.Sent == 0 || c.Received == 0 || c.Duration == 0 {
					t.Errorf("an allowed connection in the log: %+v", c)
				}
			} else if c.Address != "" || c.Reason == "" {
				t.Errorf("a connection that did not come about in the log: %+v", c)
			}
		}
		// Who it was is looked for in a bounded time.
		if !slices.ContainsFunc(got, func(c attempt) bool { return c.Process == "curl" && c.PID > 0 }) {
			t.Errorf("nobody is said to have connected: %+v", got)
		}
	})
}

// hostProxy is the host's own way out: a proxy that takes names and writes them
// down.
func (n *internet) hostProxy(at string) {
	n.t.Helper()
	go eachConn(n.listen(n.outside, "tcp", at), func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		n.visits.add("proxy", c.LocalAddr(), r.Method+" "+r.Host)
		var far net.Conn
		host, port, _ := net.SplitHostPort(r.Host)
		if err := n.outside.do(func() (err error) {
			far, err = net.DialTimeout("tcp", net.JoinHostPort(n.address(host).String(), port), quick)
			return err
		}); err != nil {
			return
		}
		defer far.Close()
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(far, c); far.Close() }()
		_, _ = io.Copy(c, far)
	})
}

// TestFilteredByHostProxy: where the host itself has a proxy, a workspace goes
// by it, with a word about what that proxy decides; under a ceiling it does not.
func TestFilteredByHostProxy(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		n := newInternet(t)
		w := n.world(p)
		const at = "93.184.216.30:8888"
		n.hostProxy(at)
		w.setenv("HTTPS_PROXY", "http://"+at)
		n.cable.start()
		r := w.run(append(slices.Clone(onlyAPI), "--", "bash", "-c", "curl -sS https://api.example.com/; curl -sS --noproxy '*' https://api.example.com/; curl -sS https://other.example.com/; env | grep 93.184")...)
		if !strings.HasPrefix(r.out, "reached GET api.example.com\nreached GET api.example.com\n") || strings.Contains(r.out, at) {
			t.Errorf("inside: %s", r)
		}
		if !strings.Contains(r.err, "the host's proxy 93.184.216.30") || !strings.Contains(r.err, "not checked here") {
			t.Errorf("nothing is said of the host's proxy: %s", r)
		}
		n.cable.only("a run behind the host's proxy", "tcp "+at)
		for _, v := range n.visits.take() {
			if v != "proxy "+at+" CONNECT api.example.com:443" && !strings.HasPrefix(v, "https ") {
				t.Errorf("visited: %q", v)
			}
		}
		if log := w.netLog(); len(log) == 0 || !log[0].Delegated {
			t.Errorf("the log does not say who resolved: %+v", log)
		}
		ceiling := w.write(w.outside+"/ceiling.yaml", "network:\n  mode: filtered\n  allow_hosts: [api.example.com]\n")
		if r := w.run(append([]string{"--permissions", ceiling}, append(slices.Clone(onlyAPI), "--", "curl", "-sS", "https://api.example.com/")...)...); r.code != 125 || !strings.Contains(r.err, "HTTPS_PROXY") {
			t.Errorf("under a ceiling: %s", r)
		}
	})
}
