package egress

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"carrel/internal/policy"
)

// answers puts a server behind an address that says the same to every request.
func (w *world) answers(at, text string) {
	w.serve(at, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err := io.WriteString(c, text); err != nil || strings.Contains(text, "close") {
				return
			}
		}
	})
}

const get = "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

// What a server answers is written anew, and what it does not finish is not
// taken for whole.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		wanted       string // what the client gets, without the head's other lines
		broken       bool
	}{
		{"until the end", "HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nall", "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nall\r\n0\r\n\r\n", false},
		{"chunks that end early", "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nall\r\n", "3\r\nall\r\n", true},
		{"a length that is not kept", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nall", "Content-Length: 9\r\nConnection: close\r\n\r\nall", true},
		{"more than its length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nallHTTP/1.1 200 evil\r\n\r\n", "\r\n\r\nall", false},
		{"CL and TE", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n\r\n", "\r\n\r\n1\r\na\r\n0\r\n\r\n", false},
		{"nothing", "close", "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"no HTTP", "SSH-2.0-close\r\n\r\n", "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"an endless head", "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: close\r\n", 30000), "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"another protocol", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"a websocket that nobody asked for", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nclose", "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"endless announcements", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: close\r\n\r\n", 100), "HTTP/1.1 502 Bad Gateway\r\n", false},
		{"a reason with control bytes", "HTTP/1.1 200 O\x1b[2JK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 O[2JK\r\n", false},
		{"not modified", "HTTP/1.1 304 Not Modified\r\nETag: x\r\nConnection: close\r\n\r\n", "HTTP/1.1 304 Not Modified\r\nEtag: x\r\nConnection: close\r\n\r\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.name("a.example", addrA)
			w.answers(addrA+":80", c.answer)
			d := w.desk(rules(t, []string{"a.example"}))
			s := d.open()
			_, _ = io.WriteString(s, get)
			out, err := io.ReadAll(s)
			has(t, "answer", string(out), c.wanted)
			if strings.Contains(string(out), "evil") {
				t.Errorf("%q", out)
			}
			if (err != nil) != c.broken {
				t.Errorf("the end is %v, broken %v", err, c.broken)
			}
			if a := w.waitAttempt(0); c.broken && a.Decision != Failed {
				t.Errorf("%+v", a)
			}
		})
	}
}

// A connection that the server ended while it rested is not used again, nor one
// on which it said something unasked.
func TestRestingConnections(t *testing.T) {
	for with, more := range map[string]string{"": "close", "HTTP/1.1 200 evil\r\n\r\n": "", "HTTP/1.1": " 200 evil\r\n\r\n"} {
		w := newWorld(t)
		w.name("a.example", addrA)
		w.serve(addrA+":80", func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"+with)
			if time.Sleep(20 * time.Millisecond); more != "close" {
				_, _ = io.WriteString(c, more)
				time.Sleep(200 * time.Millisecond)
			}
		})
		d := w.desk(rules(t, []string{"a.example"}))
		c := d.open()
		br := bufio.NewReader(c)
		for range 2 {
			_, _ = io.WriteString(c, "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
			resp, err := http.ReadResponse(br, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			want(t, "answer", resp.Status+string(body), "200 OKok")
			time.Sleep(60 * time.Millisecond)
		}
		want(t, "connections", len(w.dials()), 2)
	}
}

// A server that answers before it has the whole request is heard.
func TestEarlyAnswer(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":80", func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
		_ = c.(*net.TCPConn).CloseWrite()
		time.Sleep(100 * time.Millisecond)
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c := d.open()
	_, _ = io.WriteString(c, "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nstart")
	out, err := io.ReadAll(c)
	has(t, fmt.Sprint("answer ", err), string(out), "413 Too Large", "big")
}

func TestWebsocket(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":80", func(c net.Conn) {
		br := bufio.NewReader(c)
		r, err := http.ReadRequest(br)
		if err != nil || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Key") != "k" {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: k\r\n\r\nfirst")
		_, _ = io.Copy(c, br)
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c := d.open()
	_, _ = io.WriteString(c, "GET http://a.example/ws HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\nearly")
	br := bufio.NewReader(c)
	resp, err := http.ReadResponse(br, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-Websocket-Accept") != "k" {
		t.Fatalf("%+v, %v", resp, err)
	}
	_, _ = io.WriteString(c, "\x81later")
	_ = c.CloseWrite()
	out, err := io.ReadAll(br)
	want(t, "frames", fmt.Sprint(string(out), err), "firstearly\x81later<nil>")
}

// Plain HTTP is decided request by request also where the connection was asked
// for as such, and cannot name another host.
func TestPlainHTTPInTunnels(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.name("pub.example", addrB)
	w.name("some.example", addrB)
	w.serveHTTP(addrA+":80", dump)
	w.serveHTTP(addrB+":80", dump)
	d := w.desk(rules(t, []string{"a.example", "GET http://pub.example/pub", "some.example"}, "http://some.example/admin"))
	for _, c := range []struct{ host, request, wanted string }{
		{"a.example", "GET /x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", "GET /x host=a.example"},
		{"a.example", "GET /x HTTP/1.1\r\nHost: A.example.:80\r\nConnection: close\r\n\r\n", "GET /x host=a.example"},
		{"a.example", "GET /x HTTP/1.0\r\n\r\n", "GET /x host=a.example"},
		{"a.example", "GET http://a.example/x HTTP/1.1\r\nHost: b.example\r\nConnection: close\r\n\r\n", "GET /x host=a.example"},
		{"a.example", "GET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "X-Carrel-Denied: name"},
		{"a.example", "\r\nGET / HTTP/1.1\r\nHost: b.example\r\n\r\n", "X-Carrel-Denied: name"},
		{"a.example", "get  / http/1.1\nHost: b.example\n\n\r\n", "X-Carrel-Denied: malformed"},
		{"a.example", "GET / HTTP/1.1\r\nHost: a.example:81\r\n\r\n", "X-Carrel-Denied: name"},
		{"a.example", "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n", "X-Carrel-Denied: protocol"},
		{"a.example", "TRACE / HTTP/1.1\r\nHost: a.example\r\n\r\n", "X-Carrel-Denied: protocol"},
		{"a.example", "OPTIONS * HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", "HTTP/1.1 200 OK"},
		{"pub.example", "GET /pub/x HTTP/1.1\r\nHost: pub.example\r\nConnection: close\r\n\r\n", "GET /pub/x host=pub.example"},
		{"pub.example", "POST /pub/x HTTP/1.1\r\nHost: pub.example\r\nContent-Length: 0\r\n\r\n", "X-Carrel-Denied: method"},
		{"pub.example", "GET /other HTTP/1.1\r\nHost: pub.example\r\n\r\n", "X-Carrel-Denied: method"},
		{"some.example", "GET /x HTTP/1.1\r\nHost: some.example\r\nConnection: close\r\n\r\n", "GET /x host=some.example"},
		{"some.example", "GET /admin HTTP/1.1\r\nHost: some.example\r\n\r\n", "X-Carrel-Denied: denied"},
	} {
		t.Run(c.host+" "+c.request, func(t *testing.T) {
			for _, early := range []bool{false, true} {
				s, br, resp := d.connect(c.host + ":80")
				want(t, "status", resp.StatusCode, 200)
				if early { // bit by bit
					for _, b := range []byte(c.request) {
						_, _ = s.Write([]byte{b})
					}
				} else {
					_, _ = io.WriteString(s, c.request)
				}
				out, err := io.ReadAll(br)
				has(t, fmt.Sprint("answer ", err), string(out), c.wanted)
			}
		})
	}
	// Anything but HTTP has nowhere to go where only requests are listed.
	s, br, _ := d.connect("pub.example:80")
	_, _ = io.WriteString(s, "\x00\x01not http")
	if b, err := io.ReadAll(br); err == nil || len(b) > 0 {
		t.Errorf("%q, %v", b, err)
	}
}

func TestHTTP2InTheClearIsRefused(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	var got bytes.Buffer
	over := make(chan struct{})
	w.serve(addrA+":80", func(c net.Conn) { _, _ = io.Copy(&got, c); close(over) })
	d := w.desk(rules(t, []string{"a.example"}))
	s, br, _ := d.connect("a.example:80")
	_, _ = io.WriteString(s, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	said, err := io.ReadAll(br)
	if <-over; err != nil || got.Len() > 0 {
		t.Errorf("%v; the server got %q", err, got.String())
	}
	// SETTINGS, and a GOAWAY of HTTP_1_1_REQUIRED with the reason.
	settings, goaway := "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00", "\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0dcarrel: "
	has(t, "answer", string(said), settings, goaway, "HTTP/2 in the clear", "hint: HTTP/1.1")
	if length := int(said[10])<<8 | int(said[11]); len(said) != 9+9+length {
		t.Errorf("the last frame has %d bytes: %q", length, said)
	}
	want(t, "code", w.waitAttempt(0).Code, CodeProtocol)
}

// TestBareLFIsRefusedAtOnce: a client that ends lines with LF alone has said all, and waits.
func TestBareLFIsRefusedAtOnce(t *testing.T) {
	for _, head := range []string{"GET / HTTP/1.0\n\n", "GET / HTTP/1.0\r\nHost: x\n", "\n"} {
		near, far := net.Pipe()
		go func() { _, _ = io.WriteString(near, head) }()
		_ = far.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := readHead(bufio.NewReader(far), maxHead); err != errBareLF {
			t.Errorf("%q: %v", head, err)
		}
		near.Close()
		far.Close()
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{get, "CONNECT a.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET / HTTP/1.0\r\n\r\n",
		"POST http://[::1]:80/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET http://a?x HTTP/1.1\r\nHost: \r\n\r\n"} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, in []byte, proxy bool) {
		head, err := readHead(bufio.NewReader(bytes.NewReader(in)), maxHead)
		if err != nil {
			return
		}
		target := &policy.Target{Host: "a.example", Port: 80}
		if proxy {
			target = nil
		}
		r, err := parseRequest(head, target)
		if err != nil || r.method == http.MethodConnect {
			return
		}
		// What is written is read by everybody as the request that was decided.
		out := r.head(r.target.Host, false, "")
		again, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(out)))
		if err != nil {
			t.Fatalf("%q became %q: %v", head, out, err)
		}
		length := again.ContentLength
		if len(again.TransferEncoding) > 0 {
			length = -1
		}
		if again.Method != r.method || again.RequestURI != r.path || length != r.length || len(again.Header["Host"]) > 0 {
			t.Fatalf("%q became %q", head, out)
		}
		if n := bytes.Count(out, []byte("\n")); n != bytes.Count(out, []byte("\r\n")) || bytes.Count(out, []byte("\r")) != n {
			t.Fatalf("%q became %q", head, out)
		}
	})
}
