package egress

import (
	"io"
	"net"
	"strings"
	"testing"
)

func TestLook(t *testing.T) {
	for text, wanted := range map[string]kind{
		"":                                   more,
		"GET":                                more,
		"GET /":                              more,
		"GET / HTTP/1.1\r":                   more,
		"GET / HTTP/1.1\r\n":                 plainHTTP,
		"get\t/ http/1.0\n":                  plainHTTP,
		"\r\n\r\nGET / HTTP/1.1\n":           plainHTTP,
		"GET\v/ HTTP/1.1\r\n":                plainHTTP,
		"M-SEARCH * HTTP/1.1\r\n":            plainHTTP,
		"GET / HTTP/9\r\n":                   plainHTTP,
		"GET /\r\n":                          other, // older than Host
		"PRI * HTTP/2.0":                     more,
		"PRI * HTTP/2.0\r\n\r\nSM":           http2,
		"\x16":                               more,
		"\x16\x03":                           hello,
		"\x15\x03\x01":                       hello,
		"\x16\x01":                           other,
		"SSH-2.0-OpenSSH_9.6p1 Debian-1":     more,
		"SSH-2.0-OpenSSH_9.6p1 Debian-1\r\n": other,
		"0032git-upload-pack /x\x00host=a.example": other,
		"EHLO":                  more,
		"EHLO a.example\r\n":    other,
		"*1\r\n$4\r\nPING":      other,
		"\x00\x00\x00\x08":      other,
		"{\"json\":":            other,
		"@RSYNCD: 31.0\n":       other,
		strings.Repeat("a", 65): more,
		strings.Repeat("A", 65) + " / HTTP/1.1\r\nHost: evil.test\r\n\r\n": plainHTTP, // servers take methods of any length
		strings.Repeat("a", 65) + "\n":                                     other,
	} {
		want(t, text, look([]byte(text)), wanted)
	}
}

// FuzzLook holds that packets do not matter: what was said of a beginning is
// said of the whole.
func FuzzLook(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1\r\n", "\r\nPRI * HTTP/2.0\r\n", "PRI * HTTP/1.1\r\n", "\x16\x03\x01", "SSH-2.0-x\r\n", "a b\x00c\n", "a \xff\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		whole := look(b)
		for k := range b {
			if part := look(b[:k]); part != more && part != whole {
				t.Fatalf("%q is %d, and begins with %q, which is %d", b, whole, b[:k], part)
			}
		}
	})
}

// A request line of any length is one.
func TestLongRequestLine(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serveHTTP(addrA+":80", dump)
	d := w.desk(rules(t, []string{"a.example"}))
	for length, wanted := range map[int]string{20 << 10: "X-Carrel-Denied: name", 80 << 10: "X-Carrel-Denied: malformed"} {
		c, br, _ := d.connect("a.example:80")
		line := "GET /" + strings.Repeat("x", length)
		_, _ = io.WriteString(c, line[:len(line)/2])
		_, _ = io.WriteString(c, line[len(line)/2:]+" HTTP/1.1\r\nHost: evil.example\r\n\r\n")
		out, _ := io.ReadAll(br)
		has(t, "answer", string(out), wanted)
	}
}

// Text that is no HTTP comes through whole, whatever its first packet is.
func TestTextProtocols(t *testing.T) {
	w := newWorld(t)
	w.name("a.example", addrA)
	w.serve(addrA+":25", func(c net.Conn) { echo(c) })
	d := w.desk(rules(t, []string{"a.example"}))
	for _, text := range []string{"EHLO a.example\r\nMAIL FROM: <x>\r\n", "PING\r\n", "AMQP\x00\x00\x09\x01", "USER", "\r\n", "\x80\x2e\x01"} {
		c, br, _ := d.connect("a.example:25")
		for _, b := range []byte(text) {
			_, _ = c.Write([]byte{b})
		}
		_ = c.CloseWrite()
		out, err := io.ReadAll(br)
		if string(out) != text || err != nil {
			t.Errorf("%q became %q, %v", text, out, err)
		}
	}
}
