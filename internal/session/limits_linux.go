package session

import (
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// limitGroup makes the control group that holds the limits, nil without any.
// Process limits of an ordinary user need none: RLIMIT_NPROC counts within the
// workspace's own user namespace. Root is exempt from that one.
func (s *Session) limitGroup(id string) (*sandbox.Cgroup, error) {
	limits := make(map[string]string)
	if m := s.Policy.Resources.Memory; m > 0 {
		limits["memory"] = strconv.FormatInt(m, 10)
	}
	if n := s.Policy.Resources.Pids; n > 0 && s.UID == 0 {
		limits["pids"] = strconv.FormatInt(n, 10)
	}
	if len(limits) == 0 {
		return nil, nil
	}
	return sandbox.NewCgroup(id, limits)
}

func (s *Session) dropGroup(g *sandbox.Cgroup) {
	if g == nil {
		return
	}
	if g.Exceeded() {
		s.Deny(api.Denial{Code: api.CodeMemory, Operation: "limit", Subject: strings.Join(s.Request.Argv[:min(1, len(s.Request.Argv))], ""), Message: "processes were killed at the memory limit of " + s.Reason(policy.DimMemory).Value,
			Rule: "memory", Source: s.Reason(policy.DimMemory).Source.String(), Hint: "--memory takes a larger size"})
	}
	if err := g.Remove(); err != nil {
		s.Note("the control group stays behind: %v", err)
	}
}
