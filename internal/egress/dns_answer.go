package egress

import (
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"carrel/internal/policy"
)

const (
	dnsTTL     = 10 // seconds; the address of a name stays, its listeners may be closed for others
	dnsPayload = 1232
)

// dnsReply is what is said to one question.
type dnsReply struct {
	code    dnsmessage.RCode
	address netip.Addr // of A and AAAA
	pointer string     // of PTR
}

const badVersion dnsmessage.RCode = 16

// answerDNS answers one message; nil: not at all. Nothing is asked of anybody
// else: names are looked up when they are connected to.
func (e *Engine) answerDNS(message []byte) []byte {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil || h.Response {
		return nil
	}
	q, edns, reply := readDNS(&p, h)
	if reply.code == dnsmessage.RCodeSuccess {
		reply = e.resolveInside(*q)
	}
	return writeDNS(h, q, edns, reply)
}

// readDNS reads what follows the header. A question that cannot be read is nil.
func readDNS(p *dnsmessage.Parser, h dnsmessage.Header) (q *dnsmessage.Question, edns bool, r dnsReply) {
	if h.OpCode != 0 {
		return nil, false, dnsReply{code: dnsmessage.RCodeNotImplemented}
	}
	wrong := dnsReply{code: dnsmessage.RCodeFormatError}
	one, err := p.Question()
	if err != nil {
		return nil, false, wrong
	}
	if _, err := p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return nil, false, wrong
	}
	if p.SkipAllAnswers() != nil || p.SkipAllAuthorities() != nil {
		return &one, false, wrong
	}
	for {
		a, err := p.AdditionalHeader()
		switch {
		case errors.Is(err, dnsmessage.ErrSectionDone):
			return &one, edns, r
		case err != nil || a.Type == dnsmessage.TypeOPT && edns:
			return &one, edns, wrong
		case a.Type == dnsmessage.TypeOPT:
			edns = true
			if a.TTL>>16&0xff != 0 {
				r.code = badVersion
			}
		}
		if p.SkipAdditional() != nil {
			return &one, edns, wrong
		}
	}
}

// resolveInside decides what a question is answered.
func (e *Engine) resolveInside(q dnsmessage.Question) dnsReply {
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	refused := dnsReply{code: dnsmessage.RCodeRefused}
	// Of a refusal libc makes EAI_AGAIN, "temporary failure", and programs ask again.
	unknown := dnsReply{code: dnsmessage.RCodeNameError}
	switch {
	case q.Class != dnsmessage.ClassINET || q.Type == dnsmessage.TypeALL || q.Type >= 249 && q.Type <= 255:
		return refused // other classes, transfers
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return localhost(q.Type)
	case strings.HasSuffix(name, ".arpa"):
		return e.reverse(name, q.Type)
	}
	host, err := policy.NormalHost(name)
	if err != nil || isAddress(host) {
		return refused
	}
	rules := e.rules.Load()
	if !e.mayResolve(rules, host) {
		if q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA {
			e.tellDNS(policy.Target{Host: host}, rules)
		}
		return unknown
	}
	if q.Type != dnsmessage.TypeA {
		return dnsReply{} // the name is there, nothing of this type
	}
	a, ok := e.pool.address(host)
	if !ok || e.front.admit(host, a) != nil {
		return dnsReply{code: dnsmessage.RCodeServerFailure}
	}
	return dnsReply{address: a}
}

func localhost(t dnsmessage.Type) dnsReply {
	switch t {
	case dnsmessage.TypeA:
		return dnsReply{address: netip.AddrFrom4([4]byte{127, 0, 0, 1})}
	case dnsmessage.TypeAAAA:
		return dnsReply{address: netip.IPv6Loopback()}
	}
	return dnsReply{}
}

// reverse answers for the addresses that mean something inside.
func (e *Engine) reverse(name string, t dnsmessage.Type) dnsReply {
	a := fromArpa(name)
	host, ok := e.pool.name(a)
	switch {
	case !ok && a.IsValid() && a.IsLoopback():
		host = "localhost"
	case !ok:
		return dnsReply{code: dnsmessage.RCodeNameError}
	}
	if t != dnsmessage.TypePTR {
		return dnsReply{}
	}
	return dnsReply{pointer: host + "."}
}

// fromArpa gives the address that a name below arpa is about.
func fromArpa(name string) netip.Addr {
	if four, ok := strings.CutSuffix(name, ".in-addr.arpa"); ok {
		parts := strings.Split(four, ".")
		slices.Reverse(parts)
		a, _ := netip.ParseAddr(strings.Join(parts, "."))
		return a
	}
	six, ok := strings.CutSuffix(name, ".ip6.arpa")
	parts := strings.Split(six, ".")
	if !ok || len(parts) != 32 {
		return netip.Addr{}
	}
	slices.Reverse(parts)
	b, err := hex.DecodeString(strings.Join(parts, ""))
	if err != nil || len(b) != 16 {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte(b))
}

// tellDNS tells of a name that no rule could let be reached.
func (e *Engine) tellDNS(t policy.Target, rules *policy.HostRules) {
	if !e.recent.first(t.Host) {
		return
	}
	d := rules.Decide(policy.Target{Host: t.Host, Port: 443})
	a := attempt{rec: Attempt{Time: time.Now(), Protocol: "dns"}}
	a.to(t)
	a.tell(e, refused(t, d))
}

// writeDNS writes the answer. It always fits a packet.
func writeDNS(h dnsmessage.Header, q *dnsmessage.Question, edns bool, r dnsReply) []byte {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{
		ID: h.ID, Response: true, OpCode: h.OpCode, RecursionDesired: h.RecursionDesired, RecursionAvailable: true,
		RCode: r.code & 0xf,
	})
	b.EnableCompression()
	err := b.StartQuestions()
	if q != nil {
		err = errors.Join(err, b.Question(*q), b.StartAnswers(), answerOf(&b, *q, r))
	}
	if edns {
		var o dnsmessage.ResourceHeader
		err = errors.Join(err, o.SetEDNS0(dnsPayload, r.code, false), b.StartAdditionals(), b.OPTResource(o, dnsmessage.OPTResource{}))
	}
	out, end := b.Finish()
	if err != nil || end != nil {
		return nil
	}
	return out
}

func answerOf(b *dnsmessage.Builder, q dnsmessage.Question, r dnsReply) error {
	h := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: dnsTTL}
	switch {
	case r.pointer != "":
		to, err := dnsmessage.NewName(r.pointer)
		return errors.Join(err, b.PTRResource(h, dnsmessage.PTRResource{PTR: to}))
	case r.address.Is4():
		return b.AResource(h, dnsmessage.AResource{A: r.address.As4()})
	case r.address.Is6():
		return b.AAAAResource(h, dnsmessage.AAAAResource{AAAA: r.address.As16()})
	}
	return nil
}
