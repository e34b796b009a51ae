package workspace

import (
	"carrel/internal/network"
	"carrel/internal/policy"
)

// openConnections takes the ports of the host that the policy publishes; see package network.
func (p *Prepared) openConnections(id string) (*network.Network, error) {
	return network.Open(network.Config{
		Workspace: id, Project: p.place.Project, Policy: p.Policy, Published: p.publishedPorts(), HostPorts: p.hostPorts(), UID: p.uid, Upstream: p.upstream,
		IsHost: p.speaksHost, Agent: p.insideAgent(), TakeAgent: p.keyring.TakeAgent, TakeBus: p.desktop.TakeBus,
		NetworkBy: p.reason(policy.DimNetwork).Source.String(), UnknownBy: p.reason(policy.DimUnknown).Source.String(),
		State: p.state, Audit: p.audit.Attempt, Heard: p.heard, Most: p.mostDenials(), Deny: p.deny, Note: p.note,
	})
}
