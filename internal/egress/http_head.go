package egress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"carrel/internal/policy"
)

const (
	maxHead    = 64 << 10
	maxFields  = 100
	maxTrailer = 16 << 10
)

// request is the head of a plain HTTP request, of which nothing can be read in
// two ways. Everything that was sent is in it or was refused.
type request struct {
	method string
	target policy.Target // host as it was given; of CONNECT without method and path
	path   string        // what is asked of the server: origin form, or "*"
	fields []field       // end to end, without those that frame
	length int64         // of the body; -1: chunked
	sized  bool          // a Content-Length was there
	old    bool          // HTTP/1.0: the connection ends with the answer
	last   bool          // the client asked for the connection to end
	socket bool          // a websocket is asked for
}

type field struct{ name, value string }

var errBareLF = malformed("an end of line without CR LF in the request's head")

// readHead reads lines up to and with an empty one. An empty line before the
// first is overlooked. io.EOF: the end came before anything.
func readHead(br *bufio.Reader, bound int) ([]byte, error) {
	var head []byte
	for start := 0; ; {
		part, err := br.ReadSlice('\n')
		head = append(head, part...)
		switch {
		case len(head) > bound:
			return nil, malformed("the request's head is longer than %d bytes", bound)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(head) > 0:
			return nil, malformed("the request ends in its head")
		case err != nil && isTimeout(err):
			return nil, errSlow
		case err != nil:
			return nil, err
		}
		line := head[start:]
		if !bytes.HasSuffix(line, []byte("\r\n")) {
			return nil, errBareLF // nothing needs to follow: such a client may wait for its answer
		}
		if start = len(head); string(line) != "\r\n" {
			continue
		}
		if len(head) > 2 {
			return head, nil
		}
		head, start = head[:0], 0
		if b, err := br.Peek(1); err == nil && b[0] == '\r' {
			return nil, malformed("empty lines where a request should begin")
		}
	}
}

// parseRequest reads a head. at is where requests on this connection lead; nil
// on the proxy, where each names it.
func parseRequest(head []byte, at *policy.Target) (*request, error) {
	lines := strings.Split(string(head), "\r\n")
	if len(lines) < 3 {
		return nil, malformed("the request's head does not end with an empty line")
	}
	lines = lines[:len(lines)-2]
	for _, l := range lines {
		if strings.ContainsFunc(l, control) {
			return nil, malformed("a control byte, or an end of line without CR LF, in the request's head")
		}
	}
	fields, err := parseFields(lines[1:], maxFields)
	if err != nil {
		return nil, err
	}
	seen, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
	if err != nil {
		return nil, malformed("%s", err)
	}
	r := &request{method: seen.Method, old: !seen.ProtoAtLeast(1, 1)}
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || words[0] != r.method || words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0" {
		return nil, malformed("the request line %q is not METHOD TARGET HTTP/1.1", shorten(lines[0]))
	}
	if err := r.frame(fields); err != nil {
		return nil, err
	}
	if err := r.aim(words[1], seen.URL, fields, at); err != nil {
		return nil, err
	}
	return r, r.carried()
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// parseFields takes header lines apart.
func parseFields(lines []string, bound int) ([]field, error) {
	if len(lines) > bound {
		return nil, malformed("more than %d header lines", bound)
	}
	fields := make([]field, 0, len(lines))
	for _, l := range lines {
		name, value, ok := strings.Cut(l, ":")
		if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 || !isToken(byte(r)) }) {
			return nil, malformed("the header line %q has no name that HTTP allows", shorten(l))
		}
		fields = append(fields, field{name, strings.Trim(value, " \t")})
	}
	return fields, nil
}

func isToken(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", b) >= 0
}

// frame finds where the body ends, in the only way it can be read, and keeps
// the fields that are for the far side.
func (r *request) frame(fields []field) error {
	hop := map[string]bool{"connection": true, "keep-alive": true, "proxy-connection": true, "proxy-authorization": true,
		"proxy-authenticate": true, "te": true, "trailer": true, "transfer-encoding": true, "upgrade": true, "http2-settings": true,
		"host": true, "content-length": true}
	chunked, upgrade := false, ""
	for _, f := range fields {
		switch name := strings.ToLower(f.name); name {
		case "content-length":
			n, err := strconv.ParseUint(f.value, 10, 63)
			if err != nil || r.sized || strings.Trim(f.value, "0123456789") != "" {
				return malformed("Content-Length %q, or more than one", shorten(f.value))
			}
			r.length, r.sized = int64(n), true
		case "transfer-encoding":
			if chunked || !strings.EqualFold(f.value, "chunked") || r.old {
				return malformed("Transfer-Encoding %q: only one, chunked, and not in HTTP/1.0", shorten(f.value))
			}
			chunked = true
		case "upgrade":
			upgrade = strings.ToLower(f.value)
		case "connection", "proxy-connection":
			for word := range strings.SplitSeq(f.value, ",") {
				word = strings.ToLower(strings.Trim(word, " \t"))
				hop[word] = true
				r.last = r.last || word == "close"
			}
		}
	}
	if chunked && r.sized {
		return malformed("both Content-Length and Transfer-Encoding")
	}
	if chunked {
		r.length = -1
	}
	r.socket = upgrade == "websocket" && r.method == http.MethodGet && r.length == 0 && !r.old
	r.last = r.last || r.old
	for _, f := range fields {
		if !hop[strings.ToLower(f.name)] {
			r.fields = append(r.fields, f)
		}
	}
	return nil
}

// aim finds out what the request is to.
func (r *request) aim(word string, u *url.URL, fields []field, at *policy.Target) error {
	host, hosts := "", 0
	for _, f := range fields {
		if strings.EqualFold(f.name, "Host") {
			host = f.value
			hosts++
		}
	}
	if hosts > 1 || hosts == 0 && !r.old {
		return malformed("%d Host headers where HTTP/1.1 has one", hosts)
	}
	var err error
	port := uint16(80)
	if at != nil {
		port = at.Port
	}
	switch {
	case r.method == http.MethodConnect && at != nil:
		return notCarried("CONNECT to a server: a proxy behind the proxy is not reached")
	case r.method == http.MethodConnect:
		r.target, err = authority(word, 0)
		return err
	case strings.Contains(word, "#"):
		return malformed("a fragment in the target %q", shorten(word))
	case u.Scheme == "" && at == nil:
		return notCarried("a request for %q without a host: this is a proxy, which takes http://HOST/PATH, CONNECT HOST:PORT or SOCKS5", shorten(word))
	case u.Scheme == "" && (strings.HasPrefix(word, "/") || word == "*" && r.method == http.MethodOptions):
		r.path = word
		if host != "" {
			r.target, err = authority(host, port)
		} else if r.target = *at; hosts > 0 {
			return malformed("an empty Host header")
		}
	case u.Scheme == "http" && u.User == nil && u.Opaque == "" && u.Host != "":
		r.target, err = authority(u.Host, port)
		r.path = originForm(word)
	case u.Scheme == "https":
		return notCarried("https:// in plain text: a proxy is asked for CONNECT HOST:443 instead")
	default:
		return malformed("the target %q is not http://HOST[:PORT]/PATH without a user name", shorten(word))
	}
	r.target.Method, r.target.Path = r.method, r.path
	return err
}

// originForm is what is behind the host of an absolute target, as it was sent.
func originForm(word string) string {
	_, rest, _ := strings.Cut(word, "//")
	i := strings.IndexAny(rest, "/?")
	switch {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	}
	return rest[i:]
}

// authority reads HOST[:PORT]; without a port it is def, and 0 is none.
func authority(s string, def uint16) (t policy.Target, err error) {
	t.Host, t.Port = s, def
	if host, port, err := net.SplitHostPort(s); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || strings.Trim(port, "0123456789") != "" {
			return t, malformed("the port of %q is not one", shorten(s))
		}
		t.Host, t.Port = host, uint16(n)
	} else if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		t.Host = s[1 : len(s)-1]
		if _, err := netip.ParseAddr(t.Host); err != nil {
			return t, malformed("%q is not an address in brackets", shorten(s))
		}
	} else if strings.ContainsAny(s, ":[]") {
		return t, malformed("%q is not HOST:PORT", shorten(s))
	}
	if t.Port == 0 || t.Host == "" {
		return t, malformed("%q is not HOST:PORT", shorten(s))
	}
	return t, nil
}

// carried refuses what is no request of plain HTTP.
func (r *request) carried() error {
	switch {
	case r.method == http.MethodTrace || r.method == "TRACK":
		return notCarried("%s is not carried: it shows what other headers the way adds", r.method)
	case r.method == http.MethodConnect && r.length != 0:
		return malformed("CONNECT with a body")
	case r.method == "PRI":
		return noHTTP2()
	}
	return nil
}
