package mcpserver

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the server over HTTP.
const (
	headerTime = 5 * time.Second
	idleTime   = 30 * time.Minute // after which a client that says nothing is forgotten
	maxBody    = 12 << 20
	bodyTime   = 30 * time.Second // for the body of a request
	maxHeader  = 32 << 10
	closeTime  = 3 * time.Second

	maxSessions = 256 // of clients at once; a few more where several come at the same moment
)

// ServeHTTP answers clients over streamable HTTP until ctx ends. Each request needs the
// token, in an Authorization header; a listener whose address is no path answers only to
// loopback's own names, so that no page in a browser gets through by another.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, token string) error {
	defer s.Close()
	protocol := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.sdk }, &sdk.StreamableHTTPOptions{
		SessionTimeout: idleTime, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
	})
	server := &http.Server{Handler: checked(counted(protocol, s.sdk), token, l.Addr().Network() != "unix"), ReadHeaderTimeout: headerTime, MaxHeaderBytes: maxHeader, IdleTimeout: idleTime}
	ended := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(last) != nil {
			server.Close() // whoever listens to a stream does not go by itself
		}
	})
	defer ended()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// checked lets through who knows the token, and does not come from a page of the web.
func checked(next http.Handler, token string, loopback bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
		ok = ok && strings.EqualFold(scheme, "Bearer")
		switch {
		case loopback && !isLoopback(r.Host):
			http.Error(w, "this server answers to localhost only", http.StatusForbidden)
		case !goodOrigin(r.Header.Values("Origin")):
			http.Error(w, "requests from web pages are not answered", http.StatusForbidden)
		case token != "" && (!ok || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1):
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
		default:
			if r.Body != http.NoBody && !wholeBody(w, r, bodyTime) {
				return
			}
			next.ServeHTTP(w, r)
		}
	})
}

// counted begins no more sessions than a server is to keep: a client that forgets its
// session's id would leave one behind with each request.
func counted(next http.Handler, server *sdk.Server) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" {
			n := 0
			for range server.Sessions() {
				n++
			}
			if n >= maxSessions {
				http.Error(w, fmt.Sprintf("this server keeps %d sessions and has them all: end one by DELETE, send the Mcp-Session-Id "+
					"that you were given, or come back when one was idle for %v", maxSessions, idleTime), http.StatusServiceUnavailable)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// wholeBody reads the body of a request, for which a client has so long, but as long as it
// wants for the answer. It says whether there is one; else the request has been answered.
func wholeBody(w http.ResponseWriter, r *http.Request, within time.Duration) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(within))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		status := http.StatusRequestTimeout
		if errors.As(err, new(*http.MaxBytesError)) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, "the body of the request did not come as a whole: "+err.Error(), status)
		return false
	}
	_ = control.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	return true
}

func goodOrigin(origins []string) bool {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || !isLoopback(u.Host) {
			return false
		}
	}
	return len(origins) <= 1
}

func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
