package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// route is a connection to where a grant leads.
type route struct {
	net.Conn
	addr      netip.AddrPort // that was dialled; invalid where an upstream proxy resolved
	delegated bool
	absolute  bool // an upstream HTTP proxy takes plain requests in absolute form
}

// reach connects to what was granted: resolved once, each address checked, a
// checked one dialled. plain says that plain HTTP requests will be sent.
func (e *Engine) reach(ctx context.Context, g grant, plain bool) (*route, error) {
	var r *route
	var err error
	if up := e.cfg.Upstream; up != nil && !up.direct(g.target.Host, g.target.Port) {
		r, err = e.viaUpstream(ctx, up, g, plain)
	} else {
		var addrs []netip.Addr
		if addrs, err = e.addresses(ctx, g); err == nil {
			r, err = e.dialAny(ctx, addrs, g.target.Port)
		}
	}
	if err != nil {
		return nil, err
	}
	if !e.hold(r.Conn) {
		return nil, &failure{code: CodeEnded, err: errClosed}
	}
	return r, nil
}

// addresses gives the addresses of a grant, all of them allowed.
func (e *Engine) addresses(ctx context.Context, g grant) ([]netip.Addr, error) {
	var addrs []netip.Addr
	if a, err := netip.ParseAddr(g.target.Host); err == nil {
		addrs = []netip.Addr{a}
	} else if addrs, err = e.lookUp(ctx, g.target.Host); err != nil {
		return nil, err
	}
	checked := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		a = a.Unmap()
		if err := g.address(a); err != nil {
			return nil, err
		}
		if e.cfg.Machine(a) && !g.rules.ListsAddress(a, g.target.Port) {
			return nil, ownAddress(g.target)
		}
		checked = append(checked, a)
	}
	return checked, nil
}

// machine tells whether an address is one of this machine's interfaces. They may
// change at any time, so that the kernel is asked each time; one that does not
// say has none that is known.
func machine(a netip.Addr) bool {
	list, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(list, func(own net.Addr) bool {
		n, ok := own.(*net.IPNet)
		if !ok {
			return false
		}
		b, _ := netip.AddrFromSlice(n.IP)
		return b.Unmap() == a.WithZone("")
	})
}

// lookUp resolves a name. A resolver that does not come back is left behind.
func (e *Engine) lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	type found struct {
		addrs []netip.Addr
		err   error
	}
	answer := make(chan found, 1)
	go func() {
		addrs, err := e.cfg.Resolve(ctx, name)
		answer <- found{addrs, err}
	}()
	select {
	case f := <-answer:
		switch {
		case f.err != nil:
			return nil, failed(CodeResolve, fmt.Errorf("resolving %s: %w", name, f.err))
		case len(f.addrs) == 0:
			return nil, &failure{code: CodeResolve, err: fmt.Errorf("resolving %s: it has no address", name)}
		}
		return f.addrs[:min(len(f.addrs), maxAddresses)], nil
	case <-ctx.Done():
		return nil, failed(CodeResolve, fmt.Errorf("resolving %s: %w", name, ctx.Err()))
	}
}

// resolve asks the host's resolver. The final dot keeps the host's search
// domains out: a name means itself.
func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if addrs := inHosts(hostsFile, name); len(addrs) > 0 {
		return addrs, nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
	return addrs, withoutServer(name, err)
}

// withoutServer leaves out of a resolver's error whom it asked and from where: it
// is told inside, where nobody has to know the host's own network.
func withoutServer(name string, err error) error {
	var e *net.DNSError
	if errors.As(err, &e) {
		e.Name, e.Server = name, ""
		e.Err = e.Err[max(0, strings.LastIndex(e.Err, ": ")):]
		e.Err = strings.TrimPrefix(e.Err, ": ")
	}
	return err
}

func dialTCP(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	d.SetMultipathTCP(false) // its further paths would be no decision of ours
	return d.DialContext(ctx, "tcp", addr.String())
}

// stagger is how long an address has before the next one is tried beside it.
const stagger = 250 * time.Millisecond

// dialAny connects to the first of some addresses that answers.
func (e *Engine) dialAny(ctx context.Context, addrs []netip.Addr, port uint16) (*route, error) {
	addrs = alternate(addrs)
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	type result struct {
		conn net.Conn
		addr netip.AddrPort
		err  error
	}
	results := make(chan result)
	over := make(chan struct{})
	defer close(over)
	dial := func(a netip.Addr) {
		r := result{addr: netip.AddrPortFrom(a, port)}
		r.conn, r.err = e.cfg.Dial(ctx, r.addr)
		select {
		case results <- r:
		case <-over:
			if r.err == nil {
				_ = r.conn.Close()
			}
		}
	}
	var first error
	next := time.NewTimer(0)
	defer next.Stop()
	for begun, waiting := 0, 0; ; {
		select {
		case <-next.C:
			if begun < len(addrs) {
				go dial(addrs[begun])
				begun++
				waiting++
				next.Reset(stagger)
			}
		case r := <-results:
			waiting--
			if r.err == nil {
				return &route{Conn: r.conn, addr: r.addr}, nil
			}
			if first == nil {
				first = failed(CodeDial, fmt.Errorf("connecting to %s: %w", r.addr, r.err))
			}
			if begun == len(addrs) && waiting == 0 {
				return nil, first
			}
			next.Reset(0)
		case <-ctx.Done():
			if first == nil {
				first = failed(CodeDial, fmt.Errorf("connecting to %s: %w", netip.AddrPortFrom(addrs[0], port), ctx.Err()))
			}
			return nil, first
		}
	}
}

// alternate mixes the two families, beginning with the resolver's first, and
// drops what is too much.
func alternate(addrs []netip.Addr) []netip.Addr {
	var same, other []netip.Addr
	for _, a := range addrs {
		if a.Is4() == addrs[0].Is4() {
			same = append(same, a)
		} else {
			other = append(other, a)
		}
	}
	out := make([]netip.Addr, 0, maxDials)
	for len(same)+len(other) > 0 && len(out) < maxDials {
		if len(same) > 0 {
			out, same = append(out, same[0]), same[1:]
		}
		if len(other) > 0 {
			out, other = append(out, other[0]), other[1:]
		}
	}
	return out
}
