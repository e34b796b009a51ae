package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// inside stands for the network namespace of a workspace: it makes listeners
// on the loopback and remembers for which address of the pool.
type inside struct {
	mu    sync.Mutex
	doors map[netip.AddrPort]net.Listener
	made  int
	fail  error
}

func (in *inside) listen(_ context.Context, network, address string) (net.Listener, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.fail != nil {
		return nil, in.fail
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	in.doors[netip.MustParseAddrPort(address)] = l
	in.made++
	return l, err
}

// dial connects as a program inside would.
func (in *inside) dial(t *testing.T, at string) net.Conn {
	t.Helper()
	in.mu.Lock()
	l := in.doors[netip.MustParseAddrPort(at)]
	in.mu.Unlock()
	if l == nil {
		t.Fatalf("nobody listens on %s", at)
	}
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func (in *inside) open() (out []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for at, l := range in.doors {
		if l.(*net.TCPListener).SetDeadline(time.Time{}) == nil { // not closed
			out = append(out, at.String())
		}
	}
	slices.Sort(out)
	return out
}

func withInside(in *inside) func(*Config) {
	in.doors = map[netip.AddrPort]net.Listener{}
	return func(c *Config) { c.Listen = in.listen }
}

func (d *desk) lookUp(name string) string {
	return show(d.t, d.e.answerDNS(query(name+".", dnsmessage.TypeA)))
}

// A program that knows no proxy reaches what is listed, at its ports.
func TestTransparent(t *testing.T) {
	w := newWorld(t)
	in := &inside{}
	w.name("a.example", addrA)
	w.name("git.example", addrB)
	w.tlsServer(addrA + ":443")
	w.serveHTTP(addrA+":80", dump)
	w.serve(addrB+":2222", func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n"); echo(c) })
	d := w.desk(rules(t, []string{"a.example", "git.example:2222"}), withInside(in))
	want(t, "listeners before", in.made, 0)
	want(t, "a", d.lookUp("a.example"), "Success 198.18.1.0")
	want(t, "git", d.lookUp("git.example"), "Success 198.18.1.1")
	d.lookUp("a.example")
	want(t, "listeners", strings.Join(in.open(), " "), "198.18.1.0:22 198.18.1.0:443 198.18.1.0:80 198.18.1.1:2222")
	want(t, "made", in.made, 4)

	c := in.dial(t, "198.18.1.0:80")
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
	out, _ := io.ReadAll(c)
	has(t, "plain", string(out), "GET /x host=a.example")
	c = in.dial(t, "198.18.1.0:80")
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: 198.18.1.0\r\nConnection: close\r\n\r\n")
	out, _ = io.ReadAll(c)
	has(t, "by its address", string(out), "GET /x host=a.example")
	c = in.dial(t, "198.18.1.0:80")
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	out, _ = io.ReadAll(c)
	has(t, "another name", string(out), "403", "X-Carrel-Denied: name")

	if err := handshake(in.dial(t, "198.18.1.0:443"), "a.example"); err != nil {
		t.Errorf("TLS: %v", err)
	}
	if err := handshake(in.dial(t, "198.18.1.0:443"), "git.example"); err == nil {
		t.Error("TLS for another name")
	}
	c = in.dial(t, "198.18.1.1:2222")
	b := make([]byte, 11)
	_, err := io.ReadFull(c, b)
	want(t, "ssh", fmt.Sprintf("%q %v", b, err), `"SSH-2.0-x\r\n" <nil>`)
	_, _, resp := d.connect("198.18.1.1:2222") // by the proxy, the address means the name
	want(t, "status", resp.StatusCode, 200)
	for _, a := range w.told() {
		if strings.HasPrefix(a.Host, "198.") || a.Protocol == "" {
			t.Errorf("%+v", a)
		}
	}
}

// What is refused behind a listener says so in the words of the program.
func TestTransparentRefusals(t *testing.T) {
	w := newWorld(t)
	in := &inside{}
	w.name("a.example", "10.0.0.1")
	d := w.desk(rules(t, []string{"a.example"}), withInside(in))
	d.lookUp("a.example")
	c := in.dial(t, "198.18.1.0:80")
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
	out, _ := io.ReadAll(c)
	has(t, "HTTP", string(out), "403", "X-Carrel-Denied: special", "private")
	if err := handshake(in.dial(t, "198.18.1.0:443"), "a.example"); err == nil || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("TLS: %v", err)
	}
	c = in.dial(t, "198.18.1.0:22")
	_, _ = io.WriteString(c, "SSH-2.0-y\r\n")
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("ssh: %v", err)
	}
	want(t, "dialled", len(w.dials()), 0)
}

// Only requests are listed: the connection waits for one.
func TestTransparentPlainOnly(t *testing.T) {
	w := newWorld(t)
	in := &inside{}
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	d := w.desk(rules(t, []string{"GET http://a.example/pub"}), withInside(in))
	d.lookUp("a.example")
	want(t, "listeners", strings.Join(in.open(), " "), "198.18.1.0:80")
	for request, wanted := range map[string]string{"GET /pub": "GET /pub", "GET /x": "X-Carrel-Denied: method"} {
		c := in.dial(t, "198.18.1.0:80")
		_, _ = io.WriteString(c, request+" HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n")
		out, _ := io.ReadAll(c)
		has(t, request, string(out), wanted)
	}
}

// Listeners follow the rules, and there is an end to them.
func TestListenersAreBounded(t *testing.T) {
	w := newWorld(t)
	in := &inside{}
	d := w.desk(rules(t, []string{"*.w.example:1,2,3,4,5,6,7,8", "a.example:1"}), withInside(in))
	d.lookUp("a.example")
	for i := range 150 {
		want(t, "answer", strings.HasPrefix(d.lookUp(fmt.Sprintf("n%d.w.example", i)), "Success "), true)
	}
	want(t, "made", in.made, 1+150*8)
	d.e.front.mu.Lock()
	count := d.e.front.count
	d.e.front.mu.Unlock()
	if count > d.e.front.most {
		t.Errorf("%d are open", count)
	}
	want(t, "the oldest answers again", d.lookUp("a.example"), "Success 198.18.1.0")
	want(t, "made again", in.made, 2+150*8)
	d.e.SetRules(rules(t, []string{"a.example:1", "*.w.example:2"}, "n149.w.example"))
	open := in.open()
	if !slices.Contains(open, "198.18.1.0:1") || slices.ContainsFunc(open, func(s string) bool { return !strings.HasSuffix(s, ":2") && s != "198.18.1.0:1" }) {
		t.Errorf("after other rules %v are open", open)
	}
	want(t, "denied now", d.lookUp("n149.w.example"), "NameError")
}

func TestListenerThatCannotBeMade(t *testing.T) {
	w := newWorld(t)
	in := &inside{fail: errors.New("no")}
	d := w.desk(rules(t, []string{"a.example"}), withInside(in))
	want(t, "answer", d.lookUp("a.example"), "ServerFailure")
	in.fail = nil
	want(t, "answer", d.lookUp("a.example"), "Success 198.18.1.0")
}
