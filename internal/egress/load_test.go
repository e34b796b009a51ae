package egress

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"
)

// 2,000 connections at one time, all of them open, all of them carrying. What
// rests holds no buffer.
func TestManyConnections(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	d := w.desk(rules(t, []string{"a.example"}))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, 2000)
	each := func(do func(i int) error) {
		t.Helper()
		var all sync.WaitGroup
		turns := make(chan struct{}, 100)
		for i := range conns {
			all.Add(1)
			turns <- struct{}{}
			go func() {
				defer all.Done()
				if err := do(i); err != nil {
					t.Errorf("connection %d: %v", i, err)
				}
				<-turns
			}()
		}
		all.Wait()
	}
	each(func(i int) error {
		c, _, resp := d.connect("a.example:9")
		if conns[i] = c; resp.StatusCode != 200 {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = fmt.Fprintf(c, "\x01%4d", i)
		return nil
	})
	each(func(i int) error {
		b := make([]byte, 5)
		_, err := io.ReadFull(conns[i], b)
		if err == nil && string(b) != fmt.Sprintf("\x01%4d", i) {
			err = fmt.Errorf("%q came back", b)
		}
		return err
	})
	want(t, "open", d.e.conns.Load(), int64(len(conns)))
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d bytes for each, with both ends of the test", (after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/uint64(len(conns)))
	start := time.Now()
	d.e.Close()
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("Close took %v", took)
	}
	want(t, "attempts", len(w.told()), len(conns))
}

func TestSharesOfDescriptors(t *testing.T) {
	for descriptors, wanted := range map[uint64]string{1 << 40: "2500 1024", 20000: "2500 1024", 4096: "1024 512", 1024: "256 128"} {
		conns, listeners := shares(descriptors)
		want(t, fmt.Sprint(descriptors), fmt.Sprint(conns, listeners), wanted)
	}
}

// One too many is told so in its own words.
func TestTooManyConnections(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	w.tune = func(e *Engine) { e.most = 3 }
	d := w.desk(rules(t, []string{"a.example"}))
	for range 3 {
		d.connect("a.example:9")
	}
	has(t, "HTTP", d.say("CONNECT a.example:9 HTTP/1.1\r\nHost: x\r\n\r\n"), "503 Service Unavailable", "X-Carrel-Denied: busy", "hint: ")
	want(t, "SOCKS5", d.say("\x05\x01\x00"), "\x05\xff")
	want(t, "code", w.waitAttempt(0).Code, CodeBusy)
}

// Streams that are copied by the kernel, in both directions, with rests that
// give the fast way back; every byte arrives, at the place where it belongs.
func TestLongStreams(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":9", echo)
	d := w.desk(rules(t, []string{"a.example"}))
	var all sync.WaitGroup
	for i := range 2 * maxFast {
		all.Add(1)
		go func() {
			defer all.Done()
			c, br, _ := d.connect("a.example:9")
			part := make([]byte, 1<<20)
			_, _ = rand.Read(part)
			part[0] = 1
			sent, got := sha256.New(), sha256.New()
			go func() {
				for n := range 8 {
					sent.Write(part)
					_, _ = c.Write(part)
					if i%2 == 0 && n == 4 {
						time.Sleep(400 * time.Millisecond) // longer than the fast way waits
					}
				}
				_ = c.CloseWrite()
			}()
			if n, err := io.Copy(got, br); n != 8<<20 || err != nil || string(sent.Sum(nil)) != string(got.Sum(nil)) {
				t.Errorf("%d bytes, %v", n, err)
			}
		}()
	}
	all.Wait()
	want(t, "fast ways that are still held", len(d.e.fast), 0)
	a := w.waitAttempt(2*maxFast - 1)
	want(t, "bytes", fmt.Sprint(a.Sent, a.Received), "8388608 8388608")
}

// through is a stream of bytes from a server to a client by way of the proxy,
// or directly.
func (d *desk) through(b *testing.B, direct bool) (net.Conn, io.Reader) {
	if !direct {
		c, br, _ := d.connect("a.example:9")
		_ = c.SetDeadline(time.Time{})
		return c, br
	}
	c, err := d.dial(b.Context(), netip.MustParseAddrPort(addrA+":9"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

func benchStreams(b *testing.B, streams int, direct, secret bool) {
	w := newWorld(b)
	w.name("a.example", addrA)
	server, client := tlsConfigs(b)
	w.serve(addrA+":9", func(c net.Conn) {
		var part [256 << 10]byte
		if secret {
			c = tls.Server(c, server)
		}
		_, _ = io.ReadFull(c, part[:1])
		for {
			if _, err := c.Write(part[:]); err != nil {
				return
			}
		}
	})
	d := w.desk(rules(b, []string{"a.example"}))
	b.SetBytes(1 << 20)
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range streams {
		c, r := d.through(b, direct)
		if secret {
			c = tls.Client(c, client)
			r = c
		}
		_, _ = c.Write([]byte{1})
		n := int64(b.N/streams) << 20
		if i == 0 {
			n += int64(b.N%streams) << 20
		}
		all.Add(1)
		go func() {
			defer all.Done()
			_, _ = io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(r, n), make([]byte, 256<<10))
		}()
	}
	all.Wait()
	b.StopTimer()
}

func tlsConfigs(b *testing.B) (server, client *tls.Config) {
	s := httptest.NewTLSServer(nil) // for its certificate
	defer s.Close()
	return s.TLS, &tls.Config{ServerName: "a.example", InsecureSkipVerify: true}
}

func BenchmarkStream(b *testing.B) {
	for kind, secret := range map[string]bool{"plain": false, "tls": true} {
		for _, streams := range []int{1, 64} {
			for way, direct := range map[string]bool{"direct": true, "proxied": false} {
				b.Run(fmt.Sprintf("%s/%d/%s", kind, streams, way), func(b *testing.B) { benchStreams(b, streams, direct, secret) })
			}
		}
	}
}

// BenchmarkConnection opens a connection, sends a byte and gets it back.
func BenchmarkConnection(b *testing.B) {
	for way, direct := range map[string]bool{"direct": true, "proxied": false} {
		b.Run(way, func(b *testing.B) {
			w := newWorld(b)
			w.name("a.example", addrA)
			w.serve(addrA+":9", echo)
			d := w.desk(rules(b, []string{"a.example"}))
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					c, r := d.through(b, direct)
					_, _ = c.Write([]byte{1})
					_, _ = r.Read(make([]byte, 1))
					c.Close()
				}
			})
		})
	}
}

// BenchmarkLatency sends a byte back and forth on one connection.
func BenchmarkLatency(b *testing.B) {
	for way, direct := range map[string]bool{"direct": true, "proxied": false} {
		b.Run(way, func(b *testing.B) {
			w := newWorld(b)
			w.name("a.example", addrA)
			w.serve(addrA+":9", echo)
			d := w.desk(rules(b, []string{"a.example"}))
			c, r := d.through(b, direct)
			one := []byte{1}
			for b.Loop() {
				_, _ = c.Write(one)
				_, _ = r.Read(one)
			}
		})
	}
}

// BenchmarkPlainRequest sends requests on one connection.
func BenchmarkPlainRequest(b *testing.B) {
	for way, direct := range map[string]bool{"direct": true, "proxied": false} {
		b.Run(way, func(b *testing.B) {
			w := newWorld(b)
			w.name("a.example", addrA)
			w.serveHTTP(addrA+":80", func(rw http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(rw, "hello") })
			d := w.desk(rules(b, []string{"a.example"}))
			to := d.proxy
			if direct {
				to = w.servers[netip.MustParseAddrPort(addrA+":80")]
			}
			c, err := net.Dial("tcp4", to)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			br := bufio.NewReader(c)
			for b.Loop() {
				_, _ = io.WriteString(c, "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n")
				resp, err := http.ReadResponse(br, nil)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
			}
		})
	}
}
