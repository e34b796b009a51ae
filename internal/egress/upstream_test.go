package egress

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// hostProxy is the host's own proxy: it answers CONNECT and absolute requests
// by itself, as if it were the server.
func (w *world) hostProxy(at, password string) {
	w.serve(at, func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if password != "" && r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("me:"+password)) {
			_, _ = io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
			return
		}
		if r.Method != http.MethodConnect {
			text := r.Method + " " + r.RequestURI
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			return
		}
		if strings.HasPrefix(r.RequestURI, "no.example") {
			_, _ = io.WriteString(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX: y\r\n\r\nto %s\n", r.RequestURI)
		_, _ = io.Copy(c, br)
	})
}

// hostSocks is the host's own SOCKS5 proxy with a password.
func (w *world) hostSocks(at string) {
	w.serve(at, func(c net.Conn) {
		br := bufio.NewReader(c)
		t, err := readSocks(br, func(b []byte) error { _, err := c.Write(b); return err })
		if err != nil {
			return
		}
		_, _ = c.Write(append([]byte{5, 0, 0, 3, 4}, "name\x00\x09"...))
		fmt.Fprintf(c, "to %s:%d\n", t.Host, t.Port)
		_, _ = io.Copy(c, br)
	})
}

func TestUpstream(t *testing.T) {
	const proxy = "10.1.1.1:3128"
	for _, c := range []struct{ url, to, line, address string }{
		{"http://me:secret@10.1.1.1:3128", "a.example:443", "to a.example:443\n", ""},
		{"http://me:secret@10.1.1.1:3128", addrA + ":443", "to " + addrA + ":443\n", addrA},
		{"socks5h://me:secret@10.1.1.1:3128", "a.example:443", "to a.example:443\n", ""},
		{"socks5h://10.1.1.1:3128", addrA + ":443", "to " + addrA + ":443\n", addrA},
		{"socks5://10.1.1.1:3128", "a.example:443", "to " + addrB + ":443\n", addrB},
		{"http://proxy.corp:3128", "a.example:443", "to a.example:443\n", ""},
	} {
		t.Run(c.url+" "+c.to, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", addrB)
			w.name("proxy.corp", "10.1.1.1")
			up, err := ParseUpstream(c.url, "")
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(c.url, "http") {
				w.hostProxy(proxy, up.Password)
			} else {
				w.hostSocks(proxy)
			}
			d := w.desk(rules(t, []string{"a.example", addrA}), func(cfg *Config) { cfg.Upstream = up })
			conn, br, resp := d.connect(c.to)
			want(t, "status", resp.StatusCode, 200)
			line, err := br.ReadString('\n')
			want(t, "first line", fmt.Sprint(line, err), c.line+"<nil>")
			_, _ = io.WriteString(conn, "\x01x")
			_ = conn.CloseWrite()
			rest, _ := io.ReadAll(br)
			want(t, "the rest", string(rest), "\x01x")
			a := w.waitAttempt(0)
			want(t, "delegated", a.Delegated, c.address == "")
			want(t, "address", a.Address, c.address)
			_, _, resp = d.connect("evil.example:443")
			want(t, "not listed", resp.Header.Get("X-Carrel-Denied"), CodeNotListed)
			_, _, resp = d.connect("10.0.0.1:443")
			want(t, "special", resp.Header.Get("X-Carrel-Denied"), CodeSpecial)
		})
	}
}

func TestUpstreamPlainAndFailures(t *testing.T) {
	w := newWorld(t)
	w.name("direct.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	w.hostProxy("10.1.1.1:80", "right")
	up, _ := ParseUpstream("http://me:right@10.1.1.1", "localhost, .direct.example")
	d := w.desk(rules(t, []string{"**.example"}), func(c *Config) { c.Upstream = up })
	has(t, "plain", d.say(strings.Replace(get, "Connection", "Proxy-Authorization: Basic eDp5\r\nConnection", 1)), "200 OK", "GET http://a.example/")
	has(t, "no_proxy", d.say(strings.ReplaceAll(get, "a.example", "direct.example")), "200 OK", "GET / host=direct.example")
	_, _, resp := d.connect("no.example:443")
	want(t, "refused by the proxy", fmt.Sprint(resp.StatusCode, resp.Header.Get("X-Carrel-Denied")), "502")
	up.Password = "wrong"
	_, _, resp = d.connect("a.example:443")
	want(t, "wrong password", resp.StatusCode, 502)
	has(t, "wrong password, plain", d.say(get), "502 Bad Gateway", "credentials")
	for _, a := range w.told() {
		if strings.Contains(fmt.Sprint(a), "wrong") || strings.Contains(fmt.Sprint(a), "right") {
			t.Errorf("a password is told: %+v", a)
		}
	}
}

func TestParseUpstream(t *testing.T) {
	for proxy, wanted := range map[string]string{
		"http://p:1": "http p:1", "p:8080": "http p:8080", "http://p": "http p:80", "socks5h://[::1]": "socks5h ::1:1080",
		"https://p": "error", "http://": "error", "http://u:pa ss@p": "error", "http://p:0": "error",
	} {
		up, err := ParseUpstream(proxy, "")
		got := "error"
		if err == nil {
			got = fmt.Sprintf("%s %s:%d", up.Scheme, up.Host, up.Port)
		} else if strings.Contains(err.Error(), "pa ss") {
			t.Errorf("%s: %v", proxy, err)
		}
		want(t, proxy, got, wanted)
	}
	up, err := ParseUpstream("", "x")
	want(t, "none", fmt.Sprint(up, err), "<nil> <nil>")
	up, _ = ParseUpstream("http://p", "plain.example,.dot.example *.star.example,10.0.0.0/8,9.9.9.9,ported.example:80,[::1]")
	for host, wanted := range map[string]bool{
		"plain.example": true, "x.plain.example": true, "notplain.example": false, "dot.example": true, "x.dot.example": true, "x.star.example": true,
		"10.1.1.1": true, "11.1.1.1": false, "9.9.9.9": true, "ported.example": false, "::1": true, "::2": false,
	} {
		want(t, host, up.direct(host, 443), wanted)
	}
	want(t, "port", up.direct("ported.example", 80), true)
}

func FuzzSocksReply(f *testing.F) {
	f.Add([]byte("\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x05\x02\x01\x00\x05\x00\x00\x03\x01a\x00\x00"))
	f.Add([]byte("\x05\x00\x05\x05"))
	up := &Upstream{User: "u", Password: "p"}
	f.Fuzz(func(t *testing.T, in []byte) {
		err := up.askSocks(fakeConn{r: bytes.NewReader(in)}, "a.example", 9)
		if err == nil && (len(in) < 4 || in[0] != 5) {
			t.Fatalf("%x is taken for a yes", in)
		}
	})
}

// fakeConn reads what is given and forgets what is written.
type fakeConn struct {
	net.Conn
	r io.Reader
}

func (f fakeConn) Read(b []byte) (int, error)  { return f.r.Read(b) }
func (f fakeConn) Write(b []byte) (int, error) { return len(b), nil }

// A proxy that is not there is said to be the proxy, not what was asked for.
func TestUpstreamIsNotThere(t *testing.T) {
	for proxy, want := range map[string]string{
		"http://10.1.1.1:3128":        "the host's own proxy 10.1.1.1:3128: connecting to 10.1.1.1:3128",
		"socks5h://proxy.corp:1080":   "the host's own proxy proxy.corp:1080: resolving proxy.corp",
		"http://user:secret@10.1.1.1": "the host's own proxy 10.1.1.1:80: connecting to",
	} {
		w := newWorld(t)
		up, err := ParseUpstream(proxy, "")
		if err != nil {
			t.Fatal(err)
		}
		d := w.desk(rules(t, []string{"a.example"}), func(cfg *Config) { cfg.Upstream = up })
		if _, _, resp := d.connect("a.example:443"); resp.StatusCode != 502 {
			t.Errorf("%s: status %d", proxy, resp.StatusCode)
		}
		has(t, "the reason", w.waitAttempt(0).Reason, want)
	}
}
