package policy

// AgentHomeMode says whose the running agent's own places are.
// Widening order: private < shared.
type AgentHomeMode string

const (
	AgentHomePrivate AgentHomeMode = "private" // a copy for each project; only logins go out of it
	AgentHomeShared  AgentHomeMode = "shared"  // and its transcripts and history are the host's
)

// agentHome decides what a known agent has of its places on the host.
func (d *decision) agentHome() {
	c := settle(d, dimension[AgentHomeMode]{
		name: DimAgentHome, initial: AgentHomePrivate,
		wider: byRank(agentHomeRank), known: inRank(agentHomeRank), text: func(m AgentHomeMode) string { return string(m) },
		asked: func(r *Request) *Value[AgentHomeMode] { return r.AgentHome },
		bound: func(c *Ceiling) *Value[AgentHomeMode] { return c.AgentHome },
	})
	d.out.AgentHome = c.V
	if c.V != AgentHomePrivate || c.Source.Layer != LayerDefault {
		because(d, DimAgentHome, string(c.V), c)
	}
}

func agentHomeRank(m AgentHomeMode) int { return rankOf(m, AgentHomePrivate, AgentHomeShared) }
