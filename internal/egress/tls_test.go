package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// tlsServer puts a server that speaks TLS behind an address, for any name.
func (w *world) tlsServer(at string, change ...func(*tls.Config)) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(rw, "hello %s by %s", r.TLS.ServerName, r.Proto)
	}))
	s.TLS = &tls.Config{}
	for _, f := range change {
		f(s.TLS)
	}
	s.EnableHTTP2 = true
	s.Config.ErrorLog = discardLog
	s.StartTLS()
	w.t.Cleanup(s.Close)
	w.serveAt(at, s.Listener.Addr().String())
}

// handshake speaks TLS on a connection.
func handshake(c net.Conn, sni string) error {
	return tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}).Handshake()
}

func TestTLSNamesTheTarget(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.name("b.example", addrA)
	w.tlsServer(addrA + ":443")
	d := w.desk(rules(t, []string{"a.example", addrA, "b.example"}))
	for _, c := range []struct{ to, sni, code string }{
		{"a.example", "a.example", CodeListed},
		{"A.EXAMPLE.", "a.example", CodeListed},
		{"a.example", "A.Example", CodeListed},
		{"a.example", "evil.example", CodeName},
		{"a.example", "b.example", CodeName}, // listed, but not what was decided
		{"a.example", "sub.a.example", CodeName},
		{"a.example", "", CodeName},
		{addrA, "", CodeListed},
		{addrA, "a.example", CodeListed},
		{addrA, "evil.example", CodeName},
	} {
		t.Run(c.to+" "+c.sni, func(t *testing.T) {
			n := len(w.told())
			conn, _, resp := d.connect(c.to + ":443")
			want(t, "status", resp.StatusCode, 200)
			err := handshake(conn, c.sni)
			if c.code == CodeListed {
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
			} else if err == nil || !strings.Contains(err.Error(), "access denied") {
				t.Errorf("the client sees %v, want the alert access denied", err)
			}
			want(t, "code", w.waitAttempt(n).Code, c.code)
		})
	}
}

// A server may ask for a second ClientHello; the second counts as the first.
func TestHelloRetry(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.tlsServer(addrA+":443", func(c *tls.Config) { c.CurvePreferences = []tls.CurveID{tls.CurveP384} })
	d := w.desk(rules(t, []string{"a.example"}))
	conn, _, _ := d.connect("a.example:443")
	if err := handshake(conn, "a.example"); err != nil {
		t.Errorf("a second hello of the same name: %v", err)
	}
	first, second := captureHello(t, "a.example"), captureHello(t, "evil.example")
	var got bytes.Buffer
	over := make(chan struct{})
	w.serve(addrA+":444", func(c net.Conn) { _, _ = io.Copy(&got, c); close(over) })
	conn, br, _ := d.connect("a.example:444")
	_, _ = conn.Write(slices.Concat(first, []byte{0x14, 3, 3, 0, 1, 1}, second))
	out, _ := io.ReadAll(br)
	want(t, "alert", string(out), string(tlsAlert))
	<-over
	if bytes.Contains(got.Bytes(), []byte("evil")) {
		t.Error("the second hello arrived")
	}
}

// captureHello gives what a client of crypto/tls says first.
func captureHello(t testing.TB, sni string) []byte {
	near, far := net.Pipe()
	defer far.Close()
	go func() { _ = handshake(near, sni); near.Close() }()
	b := make([]byte, 8<<10)
	_ = far.SetReadDeadline(time.Now().Add(time.Second))
	n, err := far.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// fragment spreads a ClientHello over records of n bytes.
func fragment(hello []byte, n int) (out []byte) {
	for part := range slices.Chunk(hello[5:], n) {
		out = append(out, 0x16, 3, 1, byte(len(part)>>8), byte(len(part)))
		out = append(out, part...)
	}
	return out
}

// However a ClientHello comes, what was read is passed on unchanged, or not at
// all.
func TestHelloInPieces(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	arrived := make(chan []byte, 1)
	w.serve(addrA+":443", func(c net.Conn) { b, _ := io.ReadAll(c); arrived <- b })
	d := w.desk(rules(t, []string{"a.example"}))
	good, evil := captureHello(t, "a.example"), captureHello(t, "evil.example")
	for _, c := range []struct {
		name string
		sent []byte
		ok   bool
	}{
		{"whole", good, true},
		{"in records of one byte", fragment(good, 1), true},
		{"in records of 100 bytes", fragment(good, 100), true},
		{"evil in records of one byte", fragment(evil, 1), false},
		{"evil with an alert before it", append([]byte{0x15, 3, 1, 0, 2, 1, 0}, evil...), false},
		{"evil with a change of ciphers before it", append([]byte{0x14, 3, 3, 0, 1, 1}, evil...), false},
		{"evil with an empty record before it", append([]byte{0x16, 3, 1, 0, 0}, evil...), false},
		{"a record that is too long", []byte{0x16, 3, 1, 0xff, 0xff, 1, 0}, false},
		{"a message that is too long", []byte{0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff}, false},
		{"not a ClientHello", []byte{0x16, 3, 1, 0, 4, 2, 0, 0, 0}, false},
	} {
		for _, slowly := range []bool{false, true} {
			conn, br, _ := d.connect("a.example:443")
			if slowly {
				for part := range slices.Chunk(c.sent, max(1, len(c.sent)/50)) {
					_, _ = conn.Write(part)
					time.Sleep(time.Millisecond)
				}
			} else {
				_, _ = conn.Write(c.sent)
			}
			if c.ok {
				_, _ = io.WriteString(conn, "\x17\x03\x03and more")
				_ = conn.CloseWrite()
			}
			_, _ = io.ReadAll(br)
			got, wanted := <-arrived, []byte(nil)
			if c.ok {
				wanted = append(slices.Clone(c.sent), "\x17\x03\x03and more"...)
			}
			if !bytes.Equal(got, wanted) {
				t.Errorf("%s, slowly %v: %d bytes arrived, want %d", c.name, slowly, len(got), len(wanted))
			}
			conn.Close()
		}
	}
}

func TestSlowHello(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":443", echo)
	w.tune = func(e *Engine) { e.patience = 200 * time.Millisecond }
	d := w.desk(rules(t, []string{"a.example"}))
	conn, br, _ := d.connect("a.example:443")
	time.Sleep(2 * d.e.patience) // nothing said: a server may have to begin
	_, _ = conn.Write(captureHello(t, "a.example")[:50])
	out, _ := io.ReadAll(br)
	want(t, "alert", string(out), string(tlsAlert))
	want(t, "code", w.waitAttempt(0).Code, CodeMalformed)
}

// helloWith builds a ClientHello with these extensions.
func helloWith(extensions ...[]byte) []byte {
	ext := slices.Concat(extensions...)
	body := slices.Concat([]byte{3, 3}, make([]byte, 32), []byte{0, 0, 2, 0x13, 1, 1, 0, byte(len(ext) >> 8), byte(len(ext))}, ext)
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return append([]byte{0x16, 3, 1, byte(len(message) >> 8), byte(len(message))}, message...)
}

func extension(kind int, body ...byte) []byte {
	return append([]byte{byte(kind >> 8), byte(kind), byte(len(body) >> 8), byte(len(body))}, body...)
}

func sni(names ...string) []byte {
	var list []byte
	for _, n := range names {
		list = append(list, 0, byte(len(n)>>8), byte(len(n)))
		list = append(list, n...)
	}
	return extension(0, append([]byte{byte(len(list) >> 8), byte(len(list))}, list...)...)
}

func TestParseHello(t *testing.T) {
	grease := extension(extensionECH, append([]byte{0}, make([]byte, 200)...)...)
	whole := captureHello(t, "a.example")
	for _, c := range []struct {
		name  string
		b     []byte
		sni   string
		inner bool
		err   error
	}{
		{"of crypto/tls", whole, "a.example", false, nil},
		{"without a name", captureHello(t, ""), "", false, nil},
		{"grease", helloWith(grease, sni("a.example")), "a.example", false, nil},
		{"an inner one", helloWith(sni("a.example"), extension(extensionECH, 1)), "a.example", true, nil},
		{"two names", helloWith(sni("a.example", "b.example")), "", false, errTwice},
		{"two extensions of names", helloWith(sni("a.example"), sni("b.example")), "", false, errTwice},
		{"an empty name", helloWith(sni("")), "", false, errLength},
		{"another kind of name", helloWith(extension(0, 0, 4, 1, 0, 1, 'a')), "", false, errLength},
		{"an extension that is cut", helloWith([]byte{0, 0, 0, 9, 1}), "", false, errLength},
		{"cut", whole[:len(whole)-1], "", false, errShort},
		{"nothing", nil, "", false, errShort},
	} {
		h, used, err := parseHello(c.b)
		if !errors.Is(err, c.err) || err == nil && (h.name != c.sni || h.inner != c.inner || used != len(c.b)) {
			t.Errorf("%s: %+v, %d of %d, %v", c.name, h, used, len(c.b), err)
		}
	}
}

func FuzzHello(f *testing.F) {
	f.Add(captureHello(f, "a.example"))
	f.Add(fragment(captureHello(f, "a.example"), 7))
	f.Add(helloWith(sni("a.example"), extension(extensionECH, 0)))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, used, err := parseHello(b)
		if err != nil {
			return
		}
		if used > len(b) || look(b) != hello {
			t.Fatalf("%d of %d", used, len(b))
		}
		// Nothing before its end is enough, and nothing behind it counts.
		if _, _, err := parseHello(b[:used-1]); !errors.Is(err, errShort) {
			t.Fatalf("without its last byte: %v", err)
		}
		again, n, err := parseHello(append(slices.Clone(b[:used]), 0xff))
		if again != h || n != used || err != nil {
			t.Fatalf("%+v became %+v, %v", h, again, err)
		}
		// A server reads the same name.
		if name, ok := serverReads(b[:used]); ok && name != h.name {
			t.Fatalf("%q, and crypto/tls reads %q", h.name, name)
		}
	})
}

// serverReads gives the name that a server of crypto/tls reads.
func serverReads(b []byte) (name string, ok bool) {
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = near.Write(b)
		near.Close()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = tls.Server(far, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		name, ok = h.ServerName, true
		return nil, errors.New("enough")
	}}).HandshakeContext(ctx)
	far.Close()
	return name, ok
}
