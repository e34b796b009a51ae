package egress

import (
	"context"
	"net/netip"

	"carrel/internal/policy"
)

// grant is a target that may be reached, with what allowed it.
type grant struct {
	target policy.Target // host normalised
	rules  *policy.HostRules
	rule   *policy.Value[string]
	asked  bool // by a person, so that no rule lists it
}

func (g grant) code() string {
	if g.asked {
		return CodeAsked
	}
	return CodeListed
}

// asked is the source of what a person allowed.
var asked = policy.Source{Layer: policy.LayerUser, Text: "allowed when asked"}

// decide asks the rules, and a person where the rules leave it open. The error
// is a *refusal, or a *failure when ctx ended while somebody was asked.
func (e *Engine) decide(ctx context.Context, t policy.Target) (grant, error) {
	host, err := e.canonical(t.Host)
	if err != nil {
		return grant{}, err
	}
	t.Host = host
	g := grant{target: t, rules: e.rules.Load()}
	d := g.rules.Decide(t)
	g.rule = d.Rule
	switch {
	case d.Allowed():
		return g, nil
	case d.Code != policy.HostNotListed || e.cfg.Ask == nil:
		return g, refused(t, d)
	}
	if g.asked, err = e.asks.ask(ctx, t); err != nil {
		return g, err
	}
	if !g.asked {
		r := refused(t, d)
		r.reason += ", and nobody allowed it when asked"
		return g, r
	}
	return g, g.settle(e.rules.Load())
}

// settle decides the grant by rules that may be newer. What a person allowed is
// one rule more: denied and special hold for it too.
func (g *grant) settle(rules *policy.HostRules) error {
	g.rules = rules
	if g.asked {
		more, err := rules.Allowing(g.target, asked)
		if err != nil {
			return malformed("%s", err)
		}
		g.rules = more
	}
	d := g.rules.Decide(g.target)
	if g.rule = d.Rule; !d.Allowed() {
		return refused(g.target, d)
	}
	return nil
}

// canonical gives the one spelling of a host. An address of the pool means its
// name, wherever it is written.
func (e *Engine) canonical(host string) (string, error) {
	name, err := policy.NormalHost(host)
	if err != nil {
		r := malformed("%s", err)
		r.host = shorten(host)
		return "", r
	}
	a, err := netip.ParseAddr(name)
	if err != nil || !Pool.Contains(a.WithZone("").Unmap()) {
		return name, nil
	}
	if given, ok := e.pool.name(a.Unmap()); ok {
		return given, nil
	}
	r := &refusal{code: CodeSpecial, host: name, reason: "the address stands for no name in this workspace"}
	if a.Unmap() == Own {
		r.reason = "it is carrel's own address inside"
	}
	return "", r
}

// address asks the rules about one address that a grant leads to.
func (g grant) address(a netip.Addr) error {
	if d := g.rules.Address(g.target, a); !d.Allowed() {
		return refused(g.target, d)
	}
	return nil
}

// still asks newer rules about a grant that is in use.
func (g grant) still(rules *policy.HostRules, addr netip.Addr) error {
	if err := g.settle(rules); err != nil || !addr.IsValid() {
		return err
	}
	return g.address(addr)
}
