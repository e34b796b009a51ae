package ports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// maxHead bounds the head of a request that is looked at.
const maxHead = 64 << 10

// maxShown bounds what is told of a host's name, in bytes.
const maxShown = 200

var errHead = errors.New("the head of the request is longer than 64 KiB, or ends in the middle")

// hostError is a request that is meant for another machine.
type hostError struct{ host string }

func (e *hostError) Error() string { return "the request is for " + e.shown() }

// shown is safe for a log and a page: the name comes from whoever asks.
func (e *hostError) shown() string { return strconv.QuoteToASCII(e.host[:min(len(e.host), maxShown)]) }

// readHead reads what a client says first, as far as has to be known: the whole
// head of an HTTP request, whose host is checked, or the first bytes of
// something else. What was read is returned.
//
// Only the first request of a connection is looked at. A browser, which is what
// somebody else's page can make talk, has connections for each host of their own.
func readHead(conn net.Conn) ([]byte, error) {
	buf := make([]byte, 0, 4<<10)
	var s scanner
	for {
		switch kind, end := s.more(buf); {
		case kind == headOther:
			return buf, nil
		case kind == headHTTP:
			return buf, checkHost(buf[:end])
		case len(buf) >= maxHead:
			return nil, errHead
		}
		if len(buf) == cap(buf) {
			buf = append(make([]byte, 0, min(4*cap(buf), maxHead)), buf...)
		}
		n, err := conn.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if n > 0 {
			continue
		}
		if err == io.EOF && !looksHTTP(buf) {
			return buf, nil // a word without an end, of another protocol
		}
		if err != nil {
			return nil, errHead
		}
	}
}

// headKind is what the beginning of a stream is.
type headKind uint8

const (
	headMore  headKind = iota // not yet known
	headHTTP                  // the whole head of a request
	headOther                 // anything else
)

// scanner looks at each byte once, however they come.
type scanner struct {
	at, line int  // the next byte, and where its line begins
	fields   bool // the first line was one of HTTP
}

// more looks at the bytes that b has got since. end is the length of a whole head.
func (s *scanner) more(b []byte) (kind headKind, end int) {
	for ; s.at < len(b); s.at++ {
		c := b[s.at]
		switch {
		case c == '\n' && s.fields:
			if len(bytes.TrimRight(b[s.line:s.at], "\r")) == 0 {
				return headHTTP, s.at + 1
			}
			s.line = s.at + 1
		case s.fields:
		case s.at == s.line && (c == '\r' || c == '\n'):
			s.line++ // empty lines before the first
		case c == '\n':
			if !isHTTP(b[s.line:s.at]) {
				return headOther, 0
			}
			s.fields, s.line = true, s.at+1
		case c < ' ' && c != '\r' && c != '\t' || c == 0x7f:
			return headOther, 0
		}
	}
	return headMore, 0
}

// isHTTP says whether a first line is one of HTTP/1: servers accept odd ones. The
// preface of HTTP/2 is let pass, as no browser sends it without TLS.
func isHTTP(line []byte) bool {
	line = bytes.TrimRight(line, "\r")
	return bytes.Contains(bytes.ToUpper(line), []byte("HTTP/")) && string(line) != "PRI * HTTP/2.0"
}

// looksHTTP says the same of what may be the beginning of a head.
func looksHTTP(b []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimLeft(b, "\r\n"), []byte("\n"))
	return isHTTP(line)
}

// checkHost wants every host that a head names to be this machine.
func checkHost(head []byte) error {
	lines := strings.Split(strings.TrimLeft(string(head), "\r\n"), "\n")
	if words := strings.Fields(lines[0]); len(words) > 1 && !strings.HasPrefix(words[1], "/") {
		if _, host, ok := strings.Cut(words[1], "://"); ok {
			if i := strings.IndexAny(host, "/?#"); i >= 0 {
				host = host[:i]
			}
			if !isLocal(host) {
				return &hostError{host}
			}
		}
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "host") && !isLocal(strings.TrimSpace(value)) {
			return &hostError{strings.TrimSpace(value)}
		}
	}
	return nil
}

// isLocal says whether an authority is one of the names of this machine that no
// name server has a word in.
func isLocal(authority string) bool {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		host, port = authority[:i], authority[i+1:]
	}
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	return strings.EqualFold(host, "localhost") || host == "127.0.0.1" || host == "[::1]"
}

// answer says something to a browser and lets it read that.
func answer(conn *net.TCPConn, status, code, body string) {
	_ = conn.SetDeadline(time.Now().Add(absentTime))
	var head strings.Builder
	fmt.Fprintf(&head, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: %d\r\n", status, len(body))
	if code != "" {
		fmt.Fprintf(&head, "X-Carrel-Denied: %s\r\n", code)
	}
	if _, err := io.WriteString(conn, head.String()+"\r\n"+body); err != nil {
		return
	}
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, io.LimitReader(conn, maxHead)) // else what it still sends resets what it reads
}
