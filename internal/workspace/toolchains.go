package workspace

import (
	"cmp"

	"carrel/internal/toolchain"
)

// toolchainOf gives the environment of the project that a setting means, nil for none.
func (p *Prepared) toolchainOf(setting string) (*toolchain.Toolchain, error) {
	if setting == "" && p.Loaded != nil && p.Loaded.Settings.Toolchain != nil {
		setting = p.Loaded.Settings.Toolchain.V
	}
	if setting = cmp.Or(setting, "off"); setting == "off" || p.req.Exact != nil {
		return nil, nil
	}
	return toolchain.Search{Project: p.place.Project, LookPath: p.lookPath, Canonical: p.facts.Canonical}.Find(setting)
}

// agentToolchain is that of the agent itself.
func (p *Prepared) agentToolchain() (*toolchain.Toolchain, error) {
	if p.Agent == nil || p.req.For != "" || p.lender != nil {
		return nil, nil
	}
	return p.toolchainOf("")
}
