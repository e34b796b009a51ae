package policy

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// cutHTTP takes a rule for plain HTTP apart.
func cutHTTP(text string) (methods, rest string, ok bool) {
	methods, rest, ok = strings.Cut(text, "http://")
	if !ok || methods != "" && !strings.HasSuffix(methods, " ") {
		return "", "", false
	}
	return strings.TrimRight(methods, " "), rest, true
}

func parseHTTPRule(methods, rest string, allow bool) (*hostRule, error) {
	r := &hostRule{http: true}
	if methods != "" {
		r.methods = strings.Split(methods, ",")
		slices.Sort(r.methods)
		r.methods = slices.Compact(r.methods)
	}
	for _, m := range r.methods {
		switch {
		case strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "" || m == "":
			return nil, errors.New("has no list of methods like GET,HEAD before http://")
		case m == "CONNECT" || m == "TRACE":
			return nil, errors.New("names " + m + ", which is never let through")
		}
	}
	host, path, _ := strings.Cut(rest, "/")
	r.path = "/" + path
	if strings.ContainsAny(path, "?#*") || !plainPath(r.path) || strings.Contains(path, "%") {
		return nil, errors.New("has no plain path behind the host: no query, pattern, dots or percent-encoding")
	}
	if strings.Contains(host, "@") {
		return nil, errors.New("has a user name")
	}
	host, ports, err := cutPorts(host)
	if err != nil {
		return nil, err
	}
	if ports == nil {
		ports = []uint16{80}
	}
	slices.Sort(ports)
	r.ports = slices.Compact(ports)
	if host == "*" || host == "**" {
		return nil, errors.New("would be every host")
	}
	return r, r.setHost(host, allow)
}

// permits tells whether an allow rule lets the request through. A path that
// servers could read as another is let through by no prefix but "/".
func (r *hostRule) permits(t Target) bool {
	switch {
	case !r.http:
		return true
	case t.Method == "" || r.methods != nil && !slices.Contains(r.methods, t.Method):
		return false
	case r.path == "/":
		return true
	}
	return plainPath(t.Path) && inPath(r.path, decoded(t.Path))
}

// refuses tells whether a deny rule holds for the request. What cannot be seen
// into, or can be read in more than one way, it holds for.
func (r *hostRule) refuses(t Target) bool {
	switch {
	case !r.http || t.Method == "":
		return true
	case r.methods != nil && !slices.Contains(r.methods, strings.ToUpper(t.Method)):
		return false
	}
	return !plainPath(t.Path) || inPath(strings.ToLower(r.path), strings.ToLower(decoded(t.Path)))
}

func (r *hostRule) coversRequests(o *hostRule) bool {
	if r.methods != nil {
		if o.methods == nil || slices.ContainsFunc(o.methods, func(m string) bool { return !slices.Contains(r.methods, m) }) {
			return false
		}
	}
	return inPath(r.path, o.path)
}

// inPath tells whether a path is the prefix, or in it by whole components.
func inPath(prefix, path string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(prefix, "/"))
}

// plainPath tells whether all servers read a path of a request alike: no
// component "." or ".." however written, no encoded separator, nothing empty in
// the middle, nothing encoded twice.
func plainPath(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	lower := strings.ToLower(path)
	for _, s := range []string{"//", `\`, "%2f", "%5c", "%25", "%00", "#", "%2e"} {
		if strings.Contains(lower, s) {
			return false
		}
	}
	if _, err := url.PathUnescape(path); err != nil || !strings.HasPrefix(path, "/") {
		return false
	}
	for part := range strings.SplitSeq(decoded(path), "/") {
		if name, _, _ := strings.Cut(part, ";"); name == "." || name == ".." {
			return false
		}
	}
	return true
}

func decoded(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// literal returns the address that a normal host is, the zero value for a name.
func literal(host string) netip.Addr {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a
}
