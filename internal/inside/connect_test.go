package inside

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
)

// TestConnect: what the proxy lets through is joined whole, also what came with
// its yes; a no is told in the proxy's words.
func TestConnect(t *testing.T) {
	for name, c := range map[string]struct{ answer, out, err string }{
		"yes":               {"HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n", "SSH-2.0-x\r\nhello", ""},
		"yes with fields":   {"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n", "hello", ""},
		"no":                {"HTTP/1.1 403 Forbidden\r\nX: y\r\nContent-Length: 29\r\n\r\ncarrel: a.example: not listed\n", "", "a.example: not listed"},
		"no without a word": {"HTTP/1.1 502 Bad Gateway\r\n\r\n", "", `the proxy answered "HTTP/1.1 502 Bad Gateway"`},
		"another protocol":  {"SSH-2.0-x\r\n", "", "the proxy answered"},
		"an early end":      {"HTTP/1.1 200 OK\r\n", "", "hearing the proxy"},
		"a long line":       {"HTTP/1.1 200 " + strings.Repeat("x", 1<<20), "", "hearing the proxy"},
		"many fields":       {"HTTP/1.1 200 OK\r\n" + strings.Repeat("a: b\r\n", 1000) + "\r\n", "", "too long"},
	} {
		near, far := net.Pipe()
		asked := make(chan string, 1)
		go func() {
			in := bufio.NewReader(far)
			text := ""
			for !strings.HasSuffix(text, "\r\n\r\n") {
				line, err := in.ReadString('\n')
				if err != nil {
					break
				}
				text += line
			}
			asked <- text
			go func() {
				defer far.Close()
				_, _ = io.WriteString(far, c.answer)
				if c.err == "" {
					_, _ = io.CopyN(far, in, 5)
				}
			}()
		}()
		if c.err != "" {
			go func() { <-asked; asked <- "" }()
		}
		var out strings.Builder
		err := connectThrough(near, "a.example:22", strings.NewReader("hello"), &out)
		near.Close()
		if c.err == "" {
			if text := <-asked; text != "CONNECT a.example:22 HTTP/1.1\r\nHost: a.example:22\r\n\r\n" {
				t.Errorf("%s: asked %q", name, text)
			}
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || out.String() != c.out {
			t.Errorf("%s: out %q, error %v", name, out.String(), err)
		}
	}
}

func TestConnectArguments(t *testing.T) {
	for _, c := range [][2]string{{"a.example", "0"}, {"a.example", "x"}, {"a.example", "65536"}, {"", "22"}, {"a b", "22"}, {"a\r\nX: y", "22"}} {
		if err := Connect(c[0], c[1], strings.NewReader(""), io.Discard); err == nil || strings.Contains(err.Error(), "filtered network only") {
			t.Errorf("%q: %v", c, err)
		}
	}
}

func FuzzAnswered(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\n\r\nrest")
	f.Add("HTTP/1.1 403 no\r\nContent-Length: -5\r\n\r\n")
	f.Fuzz(func(t *testing.T, s string) {
		in := bufio.NewReaderSize(strings.NewReader(s), maxAnswer)
		if err := answered(in); err == nil && !strings.HasPrefix(s, "HTTP/1.") {
			t.Errorf("%q is a yes", s)
		}
	})
}
