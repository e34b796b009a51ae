package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// head writes the request anew, for the server at host, or in absolute form
// for a proxy with these credentials.
func (r *request) head(host string, absolute bool, credentials string) []byte {
	var b bytes.Buffer
	at := host
	if a, err := netip.ParseAddr(host); err == nil && a.Is6() {
		at = "[" + a.WithZone("").String() + "]"
	}
	if r.target.Port != 80 {
		at = fmt.Sprintf("%s:%d", at, r.target.Port)
	}
	path := r.path
	if absolute {
		path = "http://" + at + strings.TrimPrefix(path, "*")
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, path, at)
	for _, f := range r.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
	}
	if absolute && credentials != "" {
		fmt.Fprintf(&b, "Proxy-Authorization: %s\r\n", credentials)
	}
	switch {
	case r.length < 0:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case r.sized:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", r.length)
	}
	if r.socket {
		b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// responseHead writes an answer's head anew. chunked and last say how its body
// will be framed and whether the connection ends with it.
func responseHead(resp *http.Response, chunked, last bool) []byte {
	var b bytes.Buffer
	h := resp.Header
	for _, line := range h["Connection"] {
		for word := range strings.SplitSeq(line, ",") {
			h.Del(strings.Trim(word, " \t"))
		}
	}
	_, reason, _ := strings.Cut(resp.Status, " ")
	reason = strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, reason)
	fmt.Fprintf(&b, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, reason)
	_ = h.WriteSubset(&b, map[string]bool{"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Proxy-Authenticate": true,
		"Proxy-Authentication-Info": true, "Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true, "Content-Length": true})
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		b.WriteString("Connection: Upgrade\r\nUpgrade: websocket\r\n")
	case resp.StatusCode < 200:
	case chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
		for name := range resp.Trailer {
			fmt.Fprintf(&b, "Trailer: %s\r\n", name)
		}
	case resp.ContentLength >= 0 && resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusNotModified:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", resp.ContentLength)
	}
	if last {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// writeChunks copies a body as chunks, each as it comes, and then the trailer
// that end gives.
func writeChunks(dst io.Writer, body io.Reader, end func() (http.Header, error)) (n int64, read, write error) {
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)
	const room = 16 // for the length before a chunk
	for {
		got, err := body.Read(buf[room : bufferSize-2])
		if got > 0 {
			length := strconv.AppendInt(nil, int64(got), 16)
			start := room - len(length) - 2
			copy(buf[start:], length)
			copy(buf[room-2:], "\r\n")
			copy(buf[room+got:], "\r\n")
			if _, write = dst.Write(buf[start : room+got+2]); write != nil {
				return n, nil, write
			}
			n += int64(got)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return n, err, nil
		}
	}
	trailer, read := end()
	if read != nil {
		return n, read, nil
	}
	var b bytes.Buffer
	b.WriteString("0\r\n")
	_ = trailer.WriteSubset(&b, map[string]bool{"Content-Length": true, "Transfer-Encoding": true, "Host": true, "Connection": true, "Trailer": true,
		"Content-Encoding": true, "Content-Type": true, "Content-Range": true, "Authorization": true, "Set-Cookie": true})
	b.WriteString("\r\n")
	_, write = dst.Write(b.Bytes())
	return n, nil, write
}

// answer is our own answer to a request that was refused or failed. The
// connection ends with it.
func answer(host string, err error) []byte {
	var r *refusal
	var f *failure
	status, denied := http.StatusBadGateway, ""
	switch {
	case errors.As(err, &r):
		denied = "X-Carrel-Denied: " + r.code + "\r\n"
		status = http.StatusForbidden
		switch r.code {
		case CodeMalformed:
			status = http.StatusBadRequest
		case CodeProtocol:
			status = http.StatusNotImplemented
		case CodeBusy:
			status = http.StatusServiceUnavailable
		}
	case errors.As(err, &f) && f.code == CodeTimeout:
		status = http.StatusGatewayTimeout
	}
	body := text(host, err)
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\n%sContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), denied, len(body), body)
}

// counted counts what is written.
type counted struct {
	net.Conn
	n *int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	*c.n += int64(n)
	return n, err
}
