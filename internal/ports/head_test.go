package ports

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// saying is a connection whose other end says something, a byte at a time or at
// once, and no more.
type saying struct {
	net.Conn
	io.Reader
}

func (s saying) Read(b []byte) (int, error) { return s.Reader.Read(b) }

// TestReadHead: a request for another machine is refused in whatever spelling a
// server may take it, this machine's and other protocols pass unchanged.
func TestReadHead(t *testing.T) {
	const pass, foreign, broken = "", "foreign", "broken"
	for name, c := range map[string]struct{ said, want string }{
		"localhost":                   {"GET / HTTP/1.1\r\nHost: localhost:3000\r\n\r\n", pass},
		"mixed case, no port":         {"GET / HTTP/1.1\r\nhOsT:LocalHost\r\n\r\n", pass},
		"v4":                          {"POST /x HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Length: 3\r\n\r\nabc", pass},
		"v6":                          {"GET / HTTP/1.1\r\nHost: [::1]:3000\r\n\r\n", pass},
		"v6 without a port":           {"GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", pass},
		"no host, as HTTP/1.0 has it": {"GET / HTTP/1.0\r\n\r\n", pass},
		"a URL in the query":          {"GET /?u=http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", pass},
		"absolute, ours":              {"GET http://localhost:3000/ HTTP/1.1\r\nHost: localhost:3000\r\n\r\n", pass},
		"HTTP/2":                      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", pass},
		"TLS":                         {"\x16\x03\x01\x02\x00\x01", pass},
		"postgres":                    {"\x00\x00\x00\x08\x04\xd2\x16\x2f", pass},
		"redis":                       {"*1\r\n$4\r\nPING\r\n", pass},
		"smtp":                        {"EHLO there\r\n", pass},
		"a word without an end":       {"QUIT", pass},
		"nothing":                     {"", pass},

		"another name":             {"GET / HTTP/1.1\r\nHost: evil.example:3000\r\n\r\n", foreign},
		"ours as a part":           {"GET / HTTP/1.1\r\nHost: localhost.evil.example\r\n\r\n", foreign},
		"ours and a dot":           {"GET / HTTP/1.1\r\nHost: localhost.\r\n\r\n", foreign},
		"ours as a user":           {"GET / HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n", foreign},
		"another address":          {"GET / HTTP/1.1\r\nHost: 192.168.1.5\r\n\r\n", foreign},
		"any address":              {"GET / HTTP/1.1\r\nHost: 0.0.0.0:3000\r\n\r\n", foreign},
		"empty":                    {"GET / HTTP/1.1\r\nHost:\r\n\r\n", foreign},
		"a second host":            {"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n", foreign},
		"absolute":                 {"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", foreign},
		"absolute with a user":     {"GET http://localhost@evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n", foreign},
		"a method of its own":      {"foo-bar / HTTP/1.1\r\nHost: evil.example\r\n\r\n", foreign},
		"bare line feeds":          {"GET / HTTP/1.1\nHost: evil.example\n\n", foreign},
		"space before the colon":   {"GET / HTTP/1.1\r\nHost : evil.example\r\n\r\n", foreign},
		"empty lines first":        {"\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", foreign},
		"an odd version":           {"GET / http/1.10\r\nHost: evil.example\r\n\r\n", foreign},
		"HTTP/2 with another line": {"GET * HTTP/2.0\r\nHost: evil.example\r\n\r\n", foreign},
		"a port that is none":      {"GET / HTTP/1.1\r\nHost: localhost:evil\r\n\r\n", foreign},

		"a head without an end":   {"GET / HTTP/1.1\r\nHost: localhost\r\n", broken},
		"a head that is too long": {"GET / HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead) + "\r\nHost: localhost\r\n\r\n", broken},
		"a line that is too long": {"GET /" + strings.Repeat("x", maxHead), broken},
	} {
		for how, in := range map[string]io.Reader{"at once": strings.NewReader(c.said), "by bytes": iotest.OneByteReader(strings.NewReader(c.said))} {
			head, err := readHead(saying{Reader: in})
			var host *hostError
			got := pass
			switch {
			case errors.As(err, &host):
				got = foreign
			case err != nil:
				got = broken
			}
			if got != c.want {
				t.Errorf("%s, %s: %q, want %q (%v)", name, how, got, c.want, err)
			}
			if rest, _ := io.ReadAll(in); got == pass && string(head)+string(rest) != c.said {
				t.Errorf("%s, %s: came through as %q", name, how, string(head)+string(rest))
			}
		}
	}
}

// FuzzReadHead: what is let pass is passed whole, and no head in it names
// another machine the way a plain reader would find it.
func FuzzReadHead(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost:3000\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
	f.Add([]byte("\x16\x03\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := strings.NewReader(string(b))
		head, err := readHead(saying{Reader: in})
		if err != nil {
			return
		}
		if rest, _ := io.ReadAll(in); string(head)+string(rest) != string(b) {
			t.Errorf("%q came through as %q", b, head)
		}
		lower := strings.ToLower(string(head))
		if strings.HasPrefix(lower, "get / http/1.1\r\nhost: ") && strings.HasSuffix(lower, "\r\n\r\n") && strings.Count(lower, "\n") == 3 {
			host := strings.TrimSpace(strings.Split(lower, "\r\n")[1][6:])
			if !strings.HasPrefix(host, "localhost") && !strings.HasPrefix(host, "127.0.0.1") && !strings.HasPrefix(host, "[::1]") {
				t.Errorf("%q is let pass", host)
			}
		}
	})
}

// pause is long enough for what must not happen.
const pause = 50 * time.Millisecond
