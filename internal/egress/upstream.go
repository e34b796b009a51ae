package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Upstream is the host's own proxy. It resolves names itself, so that what
// addresses they lead to is in its hands; only "socks5" is given an address.
type Upstream struct {
	Scheme         string // "http", "socks5h", or "socks5"
	Host           string
	Port           uint16
	User, Password string
	NoProxy        []string // as in no_proxy: names, ".name", addresses, ranges, "*", each with an optional port
}

// ParseUpstream reads the values of HTTPS_PROXY (or ALL_PROXY) and NO_PROXY.
// Without a proxy it gives nil.
func ParseUpstream(proxy, noProxy string) (*Upstream, error) {
	if proxy == "" {
		return nil, nil
	}
	if !strings.Contains(proxy, "://") {
		proxy = "http://" + proxy
	}
	u, err := url.Parse(proxy)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the proxy variable of the host is no URL like http://HOST:PORT") // the URL may hold a password
	}
	ports := map[string]uint16{"http": 80, "socks5": 1080, "socks5h": 1080}
	up := &Upstream{Scheme: u.Scheme, Host: u.Hostname(), Port: ports[u.Scheme], User: u.User.Username()}
	up.Password, _ = u.User.Password()
	if up.Port == 0 {
		return nil, fmt.Errorf("the proxy %s: %q is not spoken; http, socks5 and socks5h are", u.Host, u.Scheme)
	}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("the proxy %s: its port is not one", u.Host)
		}
		up.Port = uint16(n)
	}
	for word := range strings.FieldsFuncSeq(noProxy, func(r rune) bool { return r == ',' || r == ' ' }) {
		up.NoProxy = append(up.NoProxy, strings.ToLower(word))
	}
	return up, nil
}

// direct tells whether no_proxy keeps a target from the proxy.
func (u *Upstream) direct(host string, port uint16) bool {
	a, _ := netip.ParseAddr(host)
	for _, rule := range u.NoProxy {
		if rule == "*" {
			return true
		}
		if p, err := netip.ParsePrefix(rule); err == nil {
			if a.IsValid() && p.Contains(a.Unmap()) {
				return true
			}
			continue
		}
		if h, p, err := net.SplitHostPort(rule); err == nil {
			if p != strconv.Itoa(int(port)) {
				continue
			}
			rule = h
		}
		rule = strings.TrimPrefix(strings.TrimPrefix(rule, "*"), ".")
		if b, err := netip.ParseAddr(strings.Trim(rule, "[]")); err == nil {
			if a == b {
				return true
			}
		} else if rule != "" && !a.IsValid() && (host == rule || strings.HasSuffix(host, "."+rule)) {
			return true
		}
	}
	return false
}

func (u *Upstream) credentials() string {
	if u.User == "" && u.Password == "" {
		return ""
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User+":"+u.Password))
}

// viaUpstream has the host's proxy connect to what was granted.
func (e *Engine) viaUpstream(ctx context.Context, up *Upstream, g grant, plain bool) (*route, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit+resolveLimit)
	defer cancel()
	to, checked := g.target.Host, netip.AddrPort{}
	if up.Scheme == "socks5" || isAddress(to) {
		addrs, err := e.addresses(ctx, g)
		if err != nil {
			return nil, err
		}
		to, checked = addrs[0].String(), netip.AddrPortFrom(addrs[0], g.target.Port)
	}
	proxy := "the host's own proxy " + hostPort(up.Host, up.Port)
	r, err := e.dialUpstream(ctx, up)
	if err != nil { // else it reads as if the target were there
		f := failed(CodeDial, err)
		return nil, &failure{code: f.code, err: fmt.Errorf("%s: %w", proxy, f.err)}
	}
	r.addr, r.delegated = checked, !checked.IsValid()
	stop := context.AfterFunc(ctx, func() { _ = r.SetDeadline(time.Unix(1, 0)) })
	switch {
	case up.Scheme != "http":
		err = up.askSocks(r.Conn, to, g.target.Port)
	case plain:
		r.absolute = true
	default:
		err = up.askHTTP(r.Conn, to, g.target.Port)
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = r.Close()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, failed(CodeDial, fmt.Errorf("%s: %w", proxy, err))
	}
	return r, nil
}

// dialUpstream connects to the proxy itself. Where it lies is the host's own
// setting, and no rule's matter.
func (e *Engine) dialUpstream(ctx context.Context, up *Upstream) (*route, error) {
	a, err := netip.ParseAddr(up.Host)
	addrs := []netip.Addr{a}
	if err != nil {
		if addrs, err = e.lookUp(ctx, up.Host); err != nil {
			return nil, err
		}
	}
	return e.dialAny(ctx, addrs, up.Port)
}

func (u *Upstream) askHTTP(c net.Conn, host string, port uint16) error {
	at := hostPort(host, port)
	ask := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", at, at)
	if cred := u.credentials(); cred != "" {
		ask += "Proxy-Authorization: " + cred + "\r\n"
	}
	if _, err := io.WriteString(c, ask+"\r\n"); err != nil {
		return err
	}
	// Byte by byte: what is behind the head is the server's.
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		var b [1]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return err
		}
		if head = append(head, b[0]); len(head) > 16<<10 {
			return errors.New("its answer is too long")
		}
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %q to CONNECT %s", shorten(resp.Status), at)
	}
	return nil
}

func (u *Upstream) askSocks(c net.Conn, host string, port uint16) error {
	methods := []byte{5, 1, socksNone}
	if u.User != "" {
		methods = []byte{5, 2, socksNone, socksPassword}
	}
	var b [256 + 2]byte
	if _, err := c.Write(methods); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return err
	}
	switch {
	case b[0] != 5 || b[1] != socksNone && b[1] != socksPassword:
		return errors.New("it accepts none of our ways to say who we are")
	case b[1] == socksPassword:
		name, password := u.User[:min(len(u.User), 255)], u.Password[:min(len(u.Password), 255)]
		ask := append([]byte{1, byte(len(name))}, name...)
		ask = append(append(ask, byte(len(password))), password...)
		if _, err := c.Write(ask); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b[:2]); err != nil || b[1] != 0 {
			return errors.Join(err, errors.New("it does not accept our credentials"))
		}
	}
	ask := append([]byte{5, socksConnect, 0}, socksAddress(host)...)
	if _, err := c.Write(append(ask, byte(port>>8), byte(port))); err != nil {
		return err
	}
	return readSocksReply(c, b[:])
}

func socksAddress(host string) []byte {
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return append([]byte{3, byte(len(host))}, host...)
	case a.Is4():
		return append([]byte{1}, a.AsSlice()...)
	}
	return append([]byte{4}, a.AsSlice()...)
}

func readSocksReply(c net.Conn, b []byte) error {
	if _, err := io.ReadFull(c, b[:5]); err != nil {
		return err
	}
	if b[0] != 5 || b[1] != socksDone {
		return fmt.Errorf("it answers with the code %d", b[1])
	}
	rest, ok := map[byte]int{1: 3 + 2, 3: int(b[4]) + 2, 4: 15 + 2}[b[3]]
	if !ok {
		return errors.New("its answer has an address of a kind that does not exist")
	}
	_, err := io.ReadFull(c, b[:rest])
	return err
}
