package egress

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// serveHTTP puts a real HTTP server behind an address.
func (w *world) serveHTTP(at string, handle http.HandlerFunc) {
	l := listen(w.t)
	w.serveAt(at, l.Addr().String())
	s := &http.Server{Handler: handle}
	over := make(chan struct{})
	go func() { _ = s.Serve(l); close(over) }()
	w.t.Cleanup(func() { s.Close(); <-over })
}

func (w *world) serveAt(at, truly string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[netip.MustParseAddrPort(at)] = truly
}

// dump answers with the request as it came.
func dump(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s host=%s body=%q trailer=%v header=%v", r.Method, r.RequestURI, r.Host, body, r.Trailer, r.Header)
}

func TestPlainRequests(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	w.serveHTTP(addrA+":8080", dump)
	d := w.desk(rules(t, []string{"a.example:80,8080"}))
	for _, c := range []struct{ name, head, wanted string }{
		{"simple", "GET http://a.example/p?q=1 HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", `GET /p?q=1 host=a.example body=""`},
		{"no path", "GET http://a.example HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", `GET / host=a.example`},
		{"query only", "GET http://a.example?x HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", `GET /?x host=a.example`},
		{"the target decides", "GET http://A.EXAMPLE.:80/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", `GET / host=a.example body`},
		{"another port", "GET http://a.example:8080/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `GET / host=a.example:8080`},
		{"encoded path as it was", "GET http://a.example/@s%2fp/..%20x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `GET /@s%2fp/..%20x `},
		{"a body", "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody", `body="body"`},
		{"chunks and a trailer", "POST http://a.example/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\nConnection: close\r\n\r\n4\r\nbody\r\n3;ext=1\r\nmor\r\n0\r\nX-T: v\r\nHost: evil.example\r\n\r\n", `body="bodymor"`},
		{"hop by hop", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nX-Gone: 1\r\nX-Kept: 2\r\nConnection: close, X-Gone\r\n\r\n", `header=map[X-Kept:[2]]`},
		{"HTTP/1.0", "GET http://a.example/ HTTP/1.0\r\n\r\n", `GET / host=a.example`},
		{"h2c is not offered on", "GET http://a.example/ HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings, close\r\n\r\n", `header=map[]`},
		{"an empty line before", "\r\nGET http://a.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", `GET / host=a.example`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := d.say(c.head)
			has(t, "answer", out, "HTTP/1.1 200 OK\r\n", "Connection: close\r\n", c.wanted)
			if strings.Contains(out, "evil") {
				t.Errorf("the other host is in %s", out)
			}
		})
	}
}

// What could be read in two ways, or is no request that a proxy carries, is
// refused before anything is sent on.
func TestHostileRequests(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	reached := make(chan struct{}, 100)
	w.serve(addrA+":80", func(c net.Conn) { reached <- struct{}{} })
	d := w.desk(rules(t, []string{"a.example"}))
	start := "POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\n"
	for name, head := range map[string]string{
		"CL and TE":              start + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"TE and CL":              start + "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
		"two CL":                 start + "Content-Length: 4\r\nContent-Length: 5\r\n\r\nbodyX",
		"two equal CL":           start + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nbody",
		"a list of CL":           start + "Content-Length: 4, 4\r\n\r\nbody",
		"CL with a sign":         start + "Content-Length: +4\r\n\r\nbody",
		"CL empty":               start + "Content-Length:\r\n\r\n",
		"CL beyond all":          start + "Content-Length: 99999999999999999999\r\n\r\n",
		"two TE":                 start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"TE identity":            start + "Transfer-Encoding: identity\r\n\r\n",
		"TE xchunked":            start + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"TE gzip, chunked":       start + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"TE in HTTP/1.0":         "POST http://a.example/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a folded line":          start + "X: a\r\n b\r\n\r\n",
		"a line that is folded":  start + " X: a\r\n\r\n",
		"a bare LF":              "GET http://a.example/ HTTP/1.1\nHost: a.example\n\n" + "\r\n",
		"one bare LF":            start + "X: a\nY: b\r\n\r\n",
		"a bare CR":              start + "X: a\rY: b\r\n\r\n",
		"a NUL":                  start + "X: a\x00b\r\n\r\n",
		"space before the colon": start + "Content-Length : 4\r\n\r\nbody",
		"no colon":               start + "Nothing\r\n\r\n",
		"an empty name":          start + ": x\r\n\r\n",
		"a name in UTF-8":        start + "Ü: x\r\n\r\n",
		"two hosts":              "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: b.example\r\n\r\n",
		"no host":                "GET http://a.example/ HTTP/1.1\r\n\r\n",
		"a user":                 "GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"a fragment":             "GET http://a.example/#x HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"https in the clear":     "GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"another scheme":         "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"no host at all":         "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"two spaces":             "GET  http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"a space in the path":    "GET http://a.example/a b HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"a tab":                  "GET\thttp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"HTTP/1.2":               "GET http://a.example/ HTTP/1.2\r\nHost: a.example\r\n\r\n",
		"HTTP/2.0":               "GET http://a.example/ HTTP/2.0\r\nHost: a.example\r\n\r\n",
		"HTTP/0.9":               "GET http://a.example/\r\n\r\n",
		"TRACE":                  "TRACE http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"to ourselves":           "GET http://198.18.0.1:3128/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"odd address":            "GET http://0x7f.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"port 0":                 "GET http://a.example:0/ HTTP/1.1\r\nHost: x\r\n\r\n",
		"a long head":            start + "X: " + strings.Repeat("x", maxHead) + "\r\n\r\n",
		"many lines":             start + strings.Repeat("X: y\r\n", maxFields) + "\r\n",
		"a long line":            "GET http://a.example/" + strings.Repeat("x", maxHead) + " HTTP/1.1\r\n",
		"CONNECT with a body":    "CONNECT a.example:80 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
		"CONNECT with a path":    "CONNECT a.example:80/x HTTP/1.1\r\nHost: x\r\n\r\n",
		"many empty lines":       "\r\n\r\n\r\nGET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			out := d.say(head)
			if !strings.HasPrefix(out, "HTTP/1.1 4") && !strings.HasPrefix(out, "HTTP/1.1 501") {
				t.Errorf("%q", out)
			}
			has(t, "answer", out, "X-Carrel-Denied: ", "Connection: close\r\n", "carrel: ")
		})
	}
	if len(reached) > 0 {
		t.Error("the server was reached")
	}
}

// Each request on a connection is decided by itself.
func TestKeepAliveDecidesEachRequest(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.name("b.example", addrB)
	w.serveHTTP(addrA+":80", dump)
	w.serveHTTP(addrB+":80", dump)
	d := w.desk(rules(t, []string{"a.example", "GET,HEAD http://b.example/pub"}))
	c := d.open()
	br := bufio.NewReader(c)
	for _, r := range []struct {
		request string
		status  int
	}{
		{"GET http://a.example/1", 200}, {"GET http://a.example/2", 200}, {"GET http://b.example/pub/x", 200},
		{"HEAD http://b.example/pub", 200}, {"GET http://a.example/3", 200}, {"GET http://b.example/pub/../x", 403},
	} {
		fmt.Fprintf(c, "%s HTTP/1.1\r\nHost: x\r\n\r\n", r.request)
		resp, err := http.ReadResponse(br, &http.Request{Method: strings.Fields(r.request)[0]})
		if err != nil {
			t.Fatalf("%s: %v", r.request, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		want(t, r.request, resp.StatusCode, r.status)
	}
	want(t, "connections", len(w.dials()), 3)
	has(t, "refused", d.say("POST http://b.example/pub/x HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"), "403", "X-Carrel-Denied: method", "POST /pub/x", "hint: ")
	a := w.waitAttempt(2)
	want(t, "attempt", a.Method+" "+a.Host+" "+a.Rule, "GET b.example GET,HEAD http://b.example/pub")
	if a.Sent == 0 || a.Received == 0 {
		t.Errorf("no bytes are counted: %+v", a)
	}
}

// Requests that come at once are answered in order.
func TestPipelined(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	d := w.desk(rules(t, []string{"a.example"}))
	out := d.say("POST http://a.example/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none" +
		"POST http://a.example/2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n" +
		"GET http://evil.example/3 HTTP/1.1\r\nHost: x\r\n\r\nGET http://a.example/4 HTTP/1.1\r\nHost: x\r\n\r\n")
	has(t, "answers", out, `/1 host=a.example body="one"`, `/2 host=a.example body="two"`, "403 Forbidden")
	if strings.Contains(out, "/4") {
		t.Error("something was carried after a refusal")
	}
}

func TestLargeBodies(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	const size = 20 << 20
	w.serveHTTP(addrA+":80", func(rw http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/sized" {
			rw.Header().Set("Content-Length", fmt.Sprint(size))
		}
		rw.Header().Set("X-Read", fmt.Sprint(n))
		_, _ = io.Copy(rw, io.LimitReader(zeros{}, size))
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c := d.open()
	br := bufio.NewReader(c)
	for _, path := range []string{"sized", "chunked", "sized"} {
		go func() {
			fmt.Fprintf(c, "POST http://a.example/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", path, size)
			_, _ = io.Copy(c, io.LimitReader(zeros{}, size))
		}()
		resp, err := http.ReadResponse(br, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil || n != size || resp.Header.Get("X-Read") != fmt.Sprint(size) {
			t.Errorf("%s: %d bytes and %v; the server read %s", path, n, err, resp.Header.Get("X-Read"))
		}
	}
	want(t, "connections", len(w.dials()), 1)
	if a := w.waitAttempt(2); a.Sent < size || a.Received < size {
		t.Errorf("%d bytes sent, %d received", a.Sent, a.Received)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func TestContinueAndTrailers(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // has the server say 100
		rw.Header().Set("Trailer", "X-Sum")
		fmt.Fprintf(rw, "got %s", body)
		rw.(http.Flusher).Flush()
		rw.Header().Set("X-Sum", "7")
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c := d.open()
	br := bufio.NewReader(c)
	_, _ = io.WriteString(c, "PUT http://a.example/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
	line, _ := br.ReadString('\n')
	want(t, "first line", line, "HTTP/1.1 100 Continue\r\n")
	_, _ = br.ReadString('\n')
	_, _ = io.WriteString(c, "body")
	resp, err := http.ReadResponse(br, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	want(t, "body", fmt.Sprint(string(body), err), "got body<nil>")
	want(t, "trailer", resp.Trailer.Get("X-Sum"), "7")
}

// What a server says bit by bit arrives bit by bit, and a client that goes away
// takes the answer with it.
func TestStreams(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	next, over := make(chan struct{}), make(chan struct{})
	w.serveHTTP(addrA+":80", func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "data: 1\n")
		rw.(http.Flusher).Flush()
		<-next
		fmt.Fprint(rw, "data: 2\n")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
		close(over)
	})
	d := w.desk(rules(t, []string{"a.example"}))
	c := d.open()
	_, _ = io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	br := bufio.NewReader(resp.Body)
	one, _ := br.ReadString('\n')
	close(next)
	two, _ := br.ReadString('\n')
	want(t, "events", one+two, "data: 1\ndata: 2\n")
	c.Close()
	select {
	case <-over:
	case <-time.After(5 * time.Second):
		t.Error("the server did not see the client go")
	}
	want(t, "code", w.waitAttempt(0).Code, CodeGone)
}
