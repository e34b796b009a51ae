package main

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestDriverTalksToTheServer holds both ends against each other, without a
// proxy and through one that does nothing but relay.
func TestDriverTalksToTheServer(t *testing.T) {
	s, err := newTLSServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	proxy, asked := relay(t, "HTTP/1.1 200 OK\r\nVia: test\r\n\r\n")
	for _, by := range []string{"", proxy} {
		for _, job := range []func() ([]float64, error){
			func() ([]float64, error) { return pingOften(s.Addr().String(), by) },
			func() ([]float64, error) { return nil, oneByte(s.Addr().String(), by) },
		} {
			got, err := job()
			if err != nil {
				t.Fatalf("by %q: %v", by, err)
			}
			if len(got) == 2 && (got[0] <= 0 || got[1] < got[0]) {
				t.Errorf("median and p99: %v", got)
			}
		}
	}
	if to := <-asked; to != s.Addr().String() {
		t.Errorf("the proxy was asked for %q", to)
	}
	no, _ := relay(t, "HTTP/1.1 403 Forbidden\r\n\r\n")
	if err := oneByte(s.Addr().String(), no); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a proxy that refuses: %v", err)
	}
	if err := driveNetwork(io.Discard, "tea", "", ""); err == nil || !strings.Contains(err.Error(), `"tea"`) {
		t.Errorf("an unknown job: %v", err)
	}
}

// relay is a proxy that gives one answer.
func relay(t *testing.T, answer string) (address string, asked chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	asked = make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				r := bufio.NewReader(c)
				line, _ := r.ReadString('\n')
				to := strings.Fields(line)[1]
				asked <- to
				for line != "\r\n" && line != "" {
					line, _ = r.ReadString('\n')
				}
				if _, err := io.WriteString(c, answer); err != nil || !strings.Contains(answer, "200") {
					return
				}
				at, err := netip.ParseAddrPort(to)
				if err != nil {
					return
				}
				out, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(at))
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, r); out.Close() }()
				_, _ = io.Copy(c, out)
			}()
		}
	}()
	return l.Addr().String(), asked
}

func TestAtLeast(t *testing.T) {
	tb := table{rows: rows([]*contender{{name: "a", got: samples{8}}, {name: "b", got: samples{10}}})}
	tb.atLeast("a", "b", 0.8, "x")
	tb.atLeast("a", "b", 0.9, "x")
	tb.atLeast("a", "b", 0, "x")
	tb.atLeast("a", "c", 0, "x")
	for i, want := range []string{"x: **0.80x**, to reach >= 0.8x: met", "to reach >= 0.9x: not met", "x: **0.80x**", "x: not measured"} {
		if !strings.HasSuffix(tb.verdicts[i], want) {
			t.Errorf("verdict %q, want %q", tb.verdicts[i], want)
		}
	}
}
