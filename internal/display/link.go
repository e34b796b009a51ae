package display

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLink is the longest link that is accepted, in bytes.
const MaxLink = 8 << 10

// Link is a link that a program inside asked to have opened outside.
type Link struct {
	// URL has only printable ASCII, with no quote, space or bracket that a shell
	// or a terminal could take for something else.
	URL    string
	Scheme string // "http" or "https"
	Host   string // lower case, without port
	Port   int    // as written, 0 for none
	Local  bool   // Host is this machine: outside that is another one than inside

	// CallbackPort is the port on localhost to which an OAuth login returns,
	// from redirect_uri and its like; 0 for none. It is what the program asks
	// for, not what it may have.
	CallbackPort int
}

// ParseLink reads a link from inside. Only http and https are links; anything
// else (file:, javascript:, the schemes that desktop programs register) could
// start a program outside. Names and passwords, control bytes, backslashes
// (which browsers read as slashes) and names that are not ASCII are refused,
// because a person has to see where the link leads.
func ParseLink(raw []byte) (Link, error) {
	text := string(raw)
	if err := checkBytes(text); err != nil {
		return Link{}, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return Link{}, fmt.Errorf("link %s: no URL: %w", shown(text), errors.Unwrap(err))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Link{}, fmt.Errorf("link %s: scheme %q: want http or https", shown(text), u.Scheme)
	case u.Opaque != "" || u.Hostname() == "":
		return Link{}, fmt.Errorf("link %s: no host: want http://HOST/ or https://HOST/", shown(text))
	case u.User != nil:
		return Link{}, fmt.Errorf("link %s: holds a user name: want a link without one", shown(text))
	}
	link := Link{Scheme: u.Scheme, Host: strings.ToLower(u.Hostname())}
	if !isHostName(link.Host) || looksNumeric(link.Host) && !isAddress(link.Host) {
		return Link{}, fmt.Errorf("link %s: host %q: want letters, digits, dots and dashes (xn-- for others), or an address", shown(text), link.Host)
	}
	if link.Port, err = portNumber(u.Port()); err != nil || strings.HasSuffix(u.Host, ":") {
		return Link{}, fmt.Errorf("link %s: port %q: want 1 to 65535", shown(text), u.Port())
	}
	link.URL = asciiURL(u)
	if len(link.URL) > 3*MaxLink {
		return Link{}, fmt.Errorf("link of %d bytes: want at most %d", len(link.URL), 3*MaxLink)
	}
	link.Local = isLocal(link.Host)
	link.CallbackPort = callbackPort(u)
	return link, nil
}

// checkBytes refuses what no link holds, before anything is parsed.
func checkBytes(text string) error {
	if text == "" {
		return errors.New("link is empty: want http://HOST/ or https://HOST/")
	}
	if len(text) > MaxLink {
		return fmt.Errorf("link of %d bytes: want at most %d", len(text), MaxLink)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("link %s: not UTF-8: want other bytes as %%XX", shown(text))
	}
	for i, r := range text {
		if r <= ' ' || r >= 0x7f && r < 0xa0 || r == '\\' {
			return fmt.Errorf("link %s: %q at byte %d: want no space, control byte or backslash", shown(text), r, i)
		}
	}
	return nil
}

// shown is a link for a message: quoted, ASCII, and short.
func shown(text string) string {
	if len(text) > 80 {
		return strconv.QuoteToASCII(text[:80]) + "..."
	}
	return strconv.QuoteToASCII(text)
}

// isHostName accepts names and addresses; a zone ("%eth0") is neither.
func isHostName(host string) bool {
	return host != "" && len(host) <= 253 && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:") == ""
}

// looksNumeric reports whether a browser takes a host for an address: its last
// label is a number. "2130706433" and "0x7f.1" are then 127.0.0.1 in disguise.
func looksNumeric(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.HasPrefix(last, "0x") || strings.Trim(last, "0123456789") == "" || strings.Contains(host, ":")
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// portNumber reads a port; "" is 0.
func portNumber(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && n == 0 {
		err = errors.New("port 0")
	}
	return int(n), err
}

// asciiURL writes a URL with everything escaped that is not plain.
func asciiURL(u *url.URL) string {
	var out strings.Builder
	for _, b := range []byte(u.String()) {
		if b > ' ' && b < 0x7f && strings.IndexByte("\"'<>\\^`{|}", b) < 0 {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// isLocal reports whether a host is this machine, by any of its names.
func isLocal(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().IsLoopback() || addr.Unmap().IsUnspecified()
	}
	host = strings.TrimSuffix(host, ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// isLoopback reports whether a host is this machine, by the three names that
// logins use.
func isLoopback(host string) bool {
	switch strings.ToLower(host) {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}
