package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"carrel/internal/policy"
)

// world is what an engine sees outside: names with addresses that look public,
// and servers behind them, which are on the loopback in truth.
type world struct {
	t  testing.TB
	mu sync.Mutex

	names    map[string][]netip.Addr
	servers  map[netip.AddrPort]string
	resolved []string
	dialled  []netip.AddrPort
	slow     map[netip.Addr]bool // does not answer
	attempts []Attempt
	tune     func(*Engine) // before it serves
}

var discardLog = log.New(io.Discard, "", 0)

const (
	addrA = "93.184.216.34"
	addrB = "93.184.216.35"
)

func newWorld(t testing.TB) *world {
	leaks(t)
	return &world{t: t, names: map[string][]netip.Addr{}, servers: map[netip.AddrPort]string{}, slow: map[netip.Addr]bool{}}
}

// leaks fails a test that leaves goroutines behind.
func leaks(t testing.TB) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			n := runtime.NumGoroutine()
			if n <= before {
				return
			}
			if time.Now().After(end) {
				b := make([]byte, 1<<20)
				t.Errorf("%d goroutines were left behind:\n%s", n-before, b[:runtime.Stack(b, true)])
				return
			}
		}
	})
}

func (w *world) name(name string, addrs ...string) {
	for _, a := range addrs {
		w.names[name] = append(w.names[name], netip.MustParseAddr(a))
	}
}

// serve puts a server behind an address; handle gets each connection.
func (w *world) serve(at string, handle func(net.Conn)) {
	l := listen(w.t)
	w.serveAt(at, l.Addr().String())
	var all sync.WaitGroup
	w.t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() { // one of those that are waited for: a connection may come while the wait begins
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer c.Close(); handle(c) })
		}
	})
}

func listen(t testing.TB) net.Listener {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *world) resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	w.resolved = append(w.resolved, name)
	addrs, ok := w.names[name]
	w.mu.Unlock()
	if name == "hangs.example" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, a netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, a)
	to, ok := w.servers[a]
	slow := w.slow[a.Addr()]
	w.mu.Unlock()
	if slow {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if !ok {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", errors.New("connection refused"))}
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp4", to)
}

func (w *world) attempt(a Attempt) {
	w.mu.Lock()
	w.attempts = append(w.attempts, a)
	w.mu.Unlock()
}

func (w *world) told() []Attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.attempts)
}

func (w *world) dials() []netip.AddrPort {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialled)
}

func (w *world) lookups() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.resolved)
}

// waitAttempt gives the n-th attempt that was told, counted from 0.
func (w *world) waitAttempt(n int) Attempt {
	w.t.Helper()
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		w.mu.Lock()
		if len(w.attempts) > n {
			defer w.mu.Unlock()
			return w.attempts[n]
		}
		w.mu.Unlock()
	}
	w.t.Fatalf("attempt %d was never told", n)
	return Attempt{}
}

func rules(t testing.TB, allow []string, deny ...string) *policy.HostRules {
	t.Helper()
	values := func(texts []string) (out []policy.Value[string]) {
		for i, s := range texts {
			out = append(out, policy.Value[string]{V: s, Source: policy.Source{Layer: policy.LayerCommandLine, Text: fmt.Sprintf("rule %d", i)}})
		}
		return out
	}
	r, err := policy.CompileHosts(values(allow), values(deny))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// desk is an engine with a proxy address.
type desk struct {
	*world
	e     *Engine
	proxy string
}

func (w *world) desk(r *policy.HostRules, change ...func(*Config)) *desk {
	c := Config{Rules: r, Resolve: w.resolve, Dial: w.dial, Attempt: w.attempt}
	for _, f := range change {
		f(&c)
	}
	l := listen(w.t)
	d := &desk{world: w, e: New(c), proxy: l.Addr().String()}
	if w.tune != nil {
		w.tune(d.e)
	}
	over := make(chan error, 1)
	go func() { over <- d.e.ServeProxy(l) }()
	w.t.Cleanup(func() {
		d.e.Close()
		if err := <-over; err != nil {
			w.t.Errorf("ServeProxy: %v", err)
		}
		if n := d.e.conns.Load(); n != 0 {
			w.t.Errorf("%d connections are counted after Close", n)
		}
		d.e.mu.Lock()
		defer d.e.mu.Unlock()
		if len(d.e.held)+len(d.e.uses) != 0 {
			w.t.Errorf("after Close: %d held, %d in use", len(d.e.held), len(d.e.uses))
		}
	})
	return d
}

// open connects to the proxy.
func (d *desk) open() *net.TCPConn {
	d.t.Helper()
	c, err := net.Dial("tcp4", d.proxy)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*net.TCPConn)
}

// say sends text on a new connection and gives all that comes back.
func (d *desk) say(text string) string {
	d.t.Helper()
	c := d.open()
	if _, err := io.WriteString(c, text); err != nil {
		d.t.Fatal(err)
	}
	b, err := io.ReadAll(c)
	if err != nil {
		d.t.Errorf("after %q: %v", b, err)
	}
	return string(b)
}

// connect asks for a tunnel and gives it with the status line.
func (d *desk) connect(to string) (*net.TCPConn, *bufio.Reader, *http.Response) {
	d.t.Helper()
	c := d.open()
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, &http.Request{Method: "CONNECT"})
	if err != nil {
		d.t.Fatalf("CONNECT %s: %v", to, err)
	}
	return c, br, resp
}

func echo(c net.Conn) {
	_, _ = io.Copy(c, c)
	_ = c.(*net.TCPConn).CloseWrite()
}

func want(t testing.TB, what string, got, wanted any) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s is %v, want %v", what, got, wanted)
	}
}

func has(t testing.TB, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s does not have %q:\n%s", what, p, text)
		}
	}
}
