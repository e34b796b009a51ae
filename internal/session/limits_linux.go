package session

import (
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// limitGroup makes the control group that holds the limits, nil without any.
// Process limits of an ordinary user need none: RLIMIT_NPROC counts within the
// workspace's own user namespace. Root is exempt from that one.
func limitGroup(d *decide.Decision, id string) (*sandbox.Cgroup, error) {
	limits := make(map[string]string)
	if m := d.Policy.Resources.Memory; m > 0 {
		limits["memory"] = strconv.FormatInt(m, 10)
	}
	if n := d.Policy.Resources.Pids; n > 0 && d.UID == 0 {
		limits["pids"] = strconv.FormatInt(n, 10)
	}
	if len(limits) == 0 {
		return nil, nil
	}
	return sandbox.NewCgroup(id, limits)
}

func dropGroup(d *decide.Decision, g *sandbox.Cgroup) {
	if g == nil {
		return
	}
	if g.Exceeded() {
		d.Deny(api.Denial{Code: api.CodeMemory, Operation: "limit", Subject: strings.Join(d.Request.Argv[:min(1, len(d.Request.Argv))], ""), Message: "processes were killed at the memory limit of " + d.Reason(policy.DimMemory).Value,
			Rule: "memory", Source: d.Reason(policy.DimMemory).Source.String(), Hint: "--memory takes a larger size"})
	}
	if err := g.Remove(); err != nil {
		d.Note("the control group stays behind: %v", err)
	}
}
