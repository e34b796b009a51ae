package egress

import (
	"encoding/binary"
	"net/netip"
	"sync"
)

// maxNames bounds the names of one workspace; after that DNS answers SERVFAIL.
const maxNames = 65000

// pool gives each name one address, for the engine's life.
type pool struct {
	mu    sync.RWMutex
	addrs map[string]netip.Addr
	names []string // by address, from firstName on
}

// firstName is the first address that stands for a name.
var firstName = netip.MustParseAddr("198.18.1.0")

func newPool() *pool { return &pool{addrs: make(map[string]netip.Addr)} }

// address gives the address of a normalised name, a new one if it has none;
// not ok when the pool is used up.
func (p *pool) address(name string) (a netip.Addr, ok bool) {
	p.mu.RLock()
	a, ok = p.addrs[name]
	p.mu.RUnlock()
	if ok {
		return a, true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a, ok = p.addrs[name]; ok {
		return a, true
	}
	if len(p.names) >= maxNames {
		return netip.Addr{}, false
	}
	a = nth(len(p.names))
	p.addrs[name] = a
	p.names = append(p.names, name)
	return a, true
}

// name gives the name that an address stands for.
func (p *pool) name(a netip.Addr) (string, bool) {
	a = a.Unmap().WithZone("")
	if !a.Is4() || !Pool.Contains(a) {
		return "", false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	i := int(number(a)) - int(number(firstName))
	if i < 0 || i >= len(p.names) {
		return "", false
	}
	return p.names[i], true
}

func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}

func nth(i int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], number(firstName)+uint32(i))
	return netip.AddrFrom4(b)
}
