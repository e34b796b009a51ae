package session

import (
	"carrel/internal/network"
	"carrel/internal/policy"
)

// openConnections takes the ports of the host that the policy publishes; see package network.
func (s *Session) openConnections(id string) (*network.Network, error) {
	return network.Open(network.Config{
		Workspace: id, Project: s.Place.Project, Policy: s.Policy, Published: s.PublishedPorts(), HostPorts: s.HostPorts(), UID: s.UID, Upstream: s.Upstream,
		IsHost: s.SpeaksHost, Agent: s.InsideAgent(), TakeAgent: s.Keyring.TakeAgent, TakeBus: s.desktop.TakeBus,
		NetworkBy: s.Reason(policy.DimNetwork).Source.String(), UnknownBy: s.Reason(policy.DimUnknown).Source.String(),
		State: s.State, Audit: s.Audit.Attempt, Heard: s.Heard(), Most: s.MostDenials(), Deny: s.Deny, Note: s.Note,
	})
}
