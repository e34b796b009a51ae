package workspace

import (
	"fmt"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/egress"
	"carrel/internal/policy"
)

// hostProxy is the host's own proxy, which a filtered network goes through. It
// resolves names itself, so that nobody here sees where they lead: under a
// ceiling that is refused.
func (p *Prepared) hostProxy() (*egress.Upstream, error) {
	if p.Policy.Network != policy.NetFiltered {
		return nil, nil
	}
	name, value := p.firstOf("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
	_, except := p.firstOf("no_proxy", "NO_PROXY")
	up, err := egress.ParseUpstream(value, except)
	if err != nil {
		return nil, &advice.Error{Err: fmt.Errorf("%s: %w", name, err), Hint: "unset " + name + " for a direct connection"}
	}
	if up == nil || up.Scheme == "socks5" {
		return up, nil
	}
	if by := p.anyCeiling(); by != "" {
		return nil, &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: name, Rule: "a ceiling's hosts are checked here", Source: by,
			Message: fmt.Sprintf("%s: the proxy %s resolves names by itself, so that their addresses cannot be held to the ceiling %s", name, up.Host, by),
			Hint:    "unset " + name + ", or use a socks5:// proxy, which is told the address that was checked"}
	}
	return up, nil
}

// firstOf gives the first variable outside that has a value.
func (p *Prepared) firstOf(names ...string) (name, value string) {
	for _, name := range names {
		if v := p.getenv(name); v != "" {
			return name, v
		}
	}
	return names[0], ""
}

// anyCeiling names a ceiling that holds, "" for none.
func (p *Prepared) anyCeiling() string {
	if p.Loaded.Ceiling != nil {
		for _, f := range p.Loaded.Files {
			if f.Present && f.Kind == config.KindCeiling {
				return f.Path
			}
		}
		return "of this run"
	}
	for _, l := range p.Loaded.Layers {
		if l.Ceiling != nil {
			return l.Name
		}
	}
	return ""
}
