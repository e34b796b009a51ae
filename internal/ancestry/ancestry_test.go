package ancestry

import (
	"math"
	"testing"
)

func TestKindOf(t *testing.T) {
	const infinite = math.MaxUint64
	for _, c := range []struct {
		name       string
		limit, own uint64
		kind       Kind
		agent      int
	}{
		{"nothing", infinite, infinite, Unmarked, 0},
		{"a limit of the system", 200_000, 200_000, Unmarked, 0},
		{"lowered", 200_000, infinite, Lowered, 0},
		{"lowered below an agent", 200_000, agentBase + 7, Lowered, 0},
		{"in a workspace", InsideLimit, infinite, Workspace, 0},
		{"both in a workspace", InsideLimit, InsideLimit, Workspace, 0},
		{"below an agent", agentBase + 7, infinite, Agent, 7},
		{"both below an agent", agentBase + 7, agentBase + 7, Agent, 7},
		{"the first number that is none", agentBase, infinite, Lowered, 0},
		{"the last number", agentBase + maxPID, infinite, Agent, maxPID},
		{"nothing, asked by one below an agent", infinite, agentBase + 7, Unmarked, 0},
	} {
		if k, agent := kindOf(c.limit, c.own, infinite); k != c.kind || agent != c.agent {
			t.Errorf("%s: %d %d, want %d %d", c.name, k, agent, c.kind, c.agent)
		}
	}
}
