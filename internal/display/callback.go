package display

import (
	"net/url"
	"strings"
)

const (
	maxNesting    = 4   // links within links
	maxParameters = 256 // looked at in one link
	maxUnescapes  = 3   // of a value that was escaped more than once
)

// search is the walk through a link's parameters, in the order in which they
// are written, so that the same link always gives the same port.
type search struct {
	queue []nested
	left  int // parameters
}

// nested is the text of a query and how many links it lies within.
type nested struct {
	query string
	depth int
}

// callbackPort finds where an OAuth login comes back: the first parameter named
// redirect_uri or the like whose value is a link to a port of this machine. A
// login page that first sends the browser elsewhere carries the whole request
// in one of its own parameters, or behind "#"; those are searched as well.
func callbackPort(u *url.URL) int {
	s := search{left: maxParameters}
	s.add(u, 0)
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		if port := s.query(next); port != 0 {
			return port
		}
	}
	return 0
}

// add queues the queries of a link.
func (s *search) add(u *url.URL, depth int) {
	if depth > maxNesting {
		return
	}
	if u.RawQuery != "" {
		s.queue = append(s.queue, nested{u.RawQuery, depth})
	}
	fragment := u.EscapedFragment()
	if _, query, ok := strings.Cut(fragment, "?"); ok {
		fragment = query
	}
	if strings.Contains(fragment, "=") {
		s.queue = append(s.queue, nested{fragment, depth})
	}
}

// query looks at the parameters of one query.
func (s *search) query(n nested) int {
	for part := range strings.SplitSeq(n.query, "&") {
		if s.left--; s.left < 0 {
			return 0
		}
		name, value, _ := strings.Cut(part, "=")
		if port := s.value(unescape(name), value, n.depth); port != 0 {
			return port
		}
	}
	return 0
}

// value looks at one parameter, unescaping it as often as it was escaped.
func (s *search) value(name, value string, depth int) int {
	for range maxUnescapes {
		next := unescape(value)
		if u, err := url.Parse(next); err == nil && (u.Host != "" || strings.HasPrefix(next, "/")) {
			if isCallback(name) {
				if port := loopbackPort(u); port != 0 {
					return port
				}
			}
			s.add(u, depth+1)
			return 0
		}
		if next == value {
			return 0
		}
		value = next
	}
	return 0
}

// unescape undoes %XX and "+"; what is malformed stays as it is.
func unescape(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// isCallback reports whether a parameter names the way back of a login.
func isCallback(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", "")) {
	case "redirecturi", "redirecturl", "redirect", "redirectto", "callback", "callbackurl", "callbackuri",
		"returnto", "returnurl", "returnuri":
		return true
	}
	return false
}

// loopbackPort is the port of a link to this machine, 0 for any other.
func loopbackPort(u *url.URL) int {
	if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || !isLoopback(u.Hostname()) {
		return 0
	}
	port, err := portNumber(u.Port())
	if err != nil {
		return 0
	}
	return port
}
