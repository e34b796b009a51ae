package ports

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"
)

// server listens on the loopback and serves each connection.
func server(t *testing.T, serve func(net.Conn)) uint16 {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { defer c.Close(); serve(c) })
		}
	})
	t.Cleanup(func() { l.Close(); wg.Wait() })
	return addrPort(l.Addr()).Port()
}

func echo(c net.Conn) { _, _ = io.Copy(c, c) }

func dialPlain(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "tcp", to.String())
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func publish(t *testing.T, inside uint16, change func(*PublishConfig)) string {
	t.Helper()
	l := listener(t)
	c := PublishConfig{Listeners: []net.Listener{l}, Port: inside, Dial: dialPlain, Mine: func(*net.TCPConn) bool { return true }}
	if change != nil {
		change(&c)
	}
	p := Publish(c)
	t.Cleanup(p.Close)
	return l.Addr().String()
}

func dial(t *testing.T, at string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c.(*net.TCPConn)
}

// say writes, ends its side, and hears all that comes.
func say(t *testing.T, at, what string) (string, error) {
	t.Helper()
	any, err := net.Dial("tcp", at)
	if err != nil {
		return "", err // reset while it was being made
	}
	defer any.Close()
	c := any.(*net.TCPConn)
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(c, what); err != nil {
		return "", err
	}
	_ = c.CloseWrite()
	all, err := io.ReadAll(c)
	return string(all), err
}

// TestForward: bytes, ends and restarts pass; each connection is told of.
func TestForward(t *testing.T) {
	told := make(chan Carried, 10)
	port := server(t, echo)
	l := listener(t)
	var mu sync.Mutex
	alive := true
	f := NewForward(ForwardConfig{Listeners: []net.Listener{l}, Port: port, Carried: func(c Carried) { told <- c },
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if !alive {
				return nil, errors.New("nobody listens")
			}
			return dialPlain(ctx, to)
		}})
	defer f.Close()
	if got, err := say(t, l.Addr().String(), "hello"); got != "hello" || err != nil {
		t.Fatalf("heard %q, %v", got, err)
	}
	if c := <-told; c.Sent != 5 || c.Received != 5 || c.Err != nil || c.To.Port() != port || c.From.Port() == 0 {
		t.Errorf("told %+v", c)
	}
	mu.Lock()
	alive = false
	mu.Unlock()
	if got, err := say(t, l.Addr().String(), "hello"); err == nil {
		t.Errorf("a server that is not there: heard %q", got)
	}
	if c := <-told; c.Err == nil {
		t.Errorf("told %+v", c)
	}
	mu.Lock()
	alive = true
	mu.Unlock()
	if got, err := say(t, l.Addr().String(), "again"); got != "again" || err != nil {
		t.Errorf("after a restart: heard %q, %v", got, err)
	}
}

// TestCloseEndsAll: both ends of what is open see the end, and nobody can come.
func TestCloseEndsAll(t *testing.T) {
	ended := make(chan struct{}, 1)
	port := server(t, func(c net.Conn) { echo(c); ended <- struct{}{} })
	l := listener(t)
	f := NewForward(ForwardConfig{Listeners: []net.Listener{l}, Port: port, Dial: dialPlain})
	c := dial(t, l.Addr().String())
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the near side is still open")
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the far side is still open")
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("the port still answers")
	}
}

// TestPublishHTTP: what is meant for this machine comes through, a name of
// somebody else's does not, and says why.
func TestPublishHTTP(t *testing.T) {
	served := make(chan string, 10)
	port := server(t, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		served <- r.Host
		fmt.Fprintf(c, "HTTP/1.0 200 OK\r\n\r\nhere")
	})
	refused := make(chan string, 10)
	at := publish(t, port, func(c *PublishConfig) { c.Refused = func(why string) { refused <- why } })
	if got, err := say(t, at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil || !strings.HasSuffix(got, "here") {
		t.Errorf("heard %q, %v", got, err)
	}
	<-served
	got, err := say(t, at, "GET / HTTP/1.1\r\nHost: evil.example\x1b[2J\r\n\r\n"+strings.Repeat("x", 100_000))
	if err != nil || !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, `"evil.example\x1b[2J"`) || !strings.Contains(got, "X-Carrel-Denied: host") || !strings.Contains(got, "hint: ") {
		t.Errorf("heard %q, %v", got, err)
	}
	if len(refused) != 1 || !strings.Contains(<-refused, "evil.example") {
		t.Error("it is not told, or twice")
	}
	select {
	case host := <-served:
		t.Errorf("the server got a request for %q", host)
	case <-time.After(pause):
	}
}

// TestPublishServerFirst: who waits for a greeting gets it.
func TestPublishServerFirst(t *testing.T) {
	port := server(t, func(c net.Conn) {
		fmt.Fprint(c, "220 ready\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		fmt.Fprint(c, "you said ", line)
	})
	c := dial(t, publish(t, port, nil))
	in := bufio.NewReader(c)
	if line, err := in.ReadString('\n'); line != "220 ready\r\n" {
		t.Fatalf("heard %q, %v", line, err)
	}
	fmt.Fprint(c, "HELO me\r\n")
	if rest, err := io.ReadAll(in); string(rest) != "you said HELO me\r\n" {
		t.Errorf("heard %q, %v", rest, err)
	}
}

// TestPublishDelivers: what a server has sent before it ended comes to a client that reads it later than the
// end; one that never reads holds the end up for a moment only.
func TestPublishDelivers(t *testing.T) {
	text := strings.Repeat("a long answer\n", 300_000) // more than the buffers of both connections
	for _, reads := range []bool{true, false} {
		port := server(t, func(c net.Conn) { fmt.Fprint(c, text) })
		l := listener(t)
		p := Publish(PublishConfig{Listeners: []net.Listener{l}, Port: port, Dial: dialPlain, Mine: func(*net.TCPConn) bool { return true }})
		c := dial(t, l.Addr().String())
		first := make([]byte, 10)
		if _, err := io.ReadFull(c, first); err != nil {
			t.Fatal(err)
		}
		ended := make(chan time.Duration, 1)
		go func() {
			began := time.Now()
			p.Close()
			ended <- time.Since(began)
		}()
		if !reads {
			if took := <-ended; took < lastTime || took > 10*lastTime {
				t.Errorf("a client that does not read held it up for %v", took)
			}
			continue
		}
		time.Sleep(pause)
		rest, err := io.ReadAll(c)
		if got := string(first) + string(rest); err != nil || got != text {
			t.Errorf("%d bytes of %d came, %v", len(got), len(text), err)
		}
		<-ended
	}
}

// TestPublishDeliversAtOnce: a server that has answered and ended while the connection to it was still
// being made is heard.
func TestPublishDeliversAtOnce(t *testing.T) {
	answered := make(chan struct{})
	port := server(t, func(c net.Conn) {
		fmt.Fprint(c, "an answer\n")
		c.Close()
		close(answered)
	})
	dialled, goOn := make(chan struct{}), make(chan struct{})
	slow := func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		c, err := dialPlain(ctx, to)
		close(dialled)
		<-goOn
		return c, err
	}
	l := listener(t)
	p := Publish(PublishConfig{Listeners: []net.Listener{l}, Port: port, Dial: slow, Mine: func(*net.TCPConn) bool { return true }})
	c := dial(t, l.Addr().String())
	<-dialled
	<-answered
	ended := make(chan struct{})
	go func() { p.Close(); close(ended) }()
	time.Sleep(pause)
	close(goOn)
	if got, err := io.ReadAll(c); err != nil || string(got) != "an answer\n" {
		t.Errorf("%q, %v", got, err)
	}
	<-ended
}

// TestPublishNobodyInside: a browser reads why, others are reset.
func TestPublishNobodyInside(t *testing.T) {
	at := publish(t, 3000, func(c *PublishConfig) {
		c.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) { return nil, errors.New("refused") }
	})
	if got, err := say(t, at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil || !strings.HasPrefix(got, "HTTP/1.1 502 ") || !strings.Contains(got, "port 3000 inside") {
		t.Errorf("heard %q, %v", got, err)
	}
	if got, err := say(t, at, "\x16\x03\x01"); err == nil {
		t.Errorf("TLS heard %q", got)
	}
	if got, _ := say(t, at, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403 ") {
		t.Errorf("another name heard %q", got)
	}
}

// TestPublishOthers: who may not come in is reset before anything is dialled.
func TestPublishOthers(t *testing.T) {
	refused := make(chan string, 10)
	at := publish(t, 1, func(c *PublishConfig) {
		c.Mine = func(*net.TCPConn) bool { return false }
		c.Refused = func(why string) { refused <- why }
		c.Dial = func(context.Context, netip.AddrPort) (net.Conn, error) {
			t.Error("it was dialled")
			return nil, errors.New("no")
		}
	})
	if got, err := say(t, at, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err == nil {
		t.Errorf("heard %q", got)
	}
	if len(refused) != 1 {
		t.Errorf("told %d times", len(refused))
	}
}

// TestBothFamilies: a server on ::1 alone is found, and a taken port of either
// family is an error.
func TestBothFamilies(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here: ", err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			echo(c)
			c.Close()
		}
	}()
	port := addrPort(l.Addr()).Port()
	c, to, err := dialLoopback(t.Context(), dialPlain, port)
	if err != nil || !to.Addr().Is6() {
		t.Fatalf("dialled %v: %v", to, err)
	}
	c.Close()
	if got, err := ListenLoopback(port); err == nil {
		t.Errorf("%d listeners on a port that is taken", len(got))
	} else if !strings.Contains(err.Error(), fmt.Sprint(port)) {
		t.Errorf("the error does not name the port: %v", err)
	}
}

// TestCallbacks: a login's way back leads to the port inside, one at a time, and ends with Close.
func TestCallbacks(t *testing.T) {
	inside, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	go func() {
		for {
			conn, err := inside.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().(*net.TCPAddr)
	free.Close()
	c := NewCallbacks(func(_ context.Context, to netip.AddrPort) (net.Conn, error) {
		if int(to.Port()) != at.Port {
			t.Errorf("dialled %s", to)
		}
		return net.Dial("tcp", inside.Addr().String())
	})
	for range 2 { // a program may ask twice
		if err := c.Open(uint16(at.Port)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Open(uint16(at.Port) + 1); err == nil {
		t.Error("two are open")
	}
	conn, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "hello" {
		t.Errorf("%q %v", got, err)
	}
	conn.Close()
	c.Close()
	if conn, err := net.Dial("tcp", at.String()); err == nil {
		conn.Close()
		t.Error("it is open after the end")
	}
}
