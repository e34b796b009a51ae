package session

import (
	"carrel/internal/decide"
	"carrel/internal/gui"
	"carrel/internal/network"
	"carrel/internal/policy"
)

// openConnections takes the ports of the host that the policy publishes; see package network.
func openConnections(d *decide.Decision, desktop *gui.Desktop, id string) (*network.Network, error) {
	return network.Open(network.Config{
		Workspace: id, Project: d.Place.Project, Policy: d.Policy, Published: d.PublishedPorts(), HostPorts: d.HostPorts(), UID: d.UID, Upstream: d.Upstream,
		IsHost: d.SpeaksHost, Agent: d.InsideAgent(), TakeAgent: d.Keyring.TakeAgent, TakeBus: desktop.TakeBus,
		NetworkBy: d.Reason(policy.DimNetwork).Source.String(), UnknownBy: d.Reason(policy.DimUnknown).Source.String(),
		State: d.State, Audit: d.Audit.Attempt, Heard: d.Heard(), Most: d.MostDenials(), Deny: d.Deny, Note: d.Note,
	})
}
