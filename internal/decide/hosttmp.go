package decide

import (
	"cmp"
	"slices"

	"carrel/internal/config"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
)

// spareTmp is how often walls for host commands can be built anew with the workspace's
// /tmp, and maxTmp bounds the mounts of it that are kept.
const (
	spareTmp = 4
	maxTmp   = 32
)

// lendTmp has mounts of the workspace's /tmp handed out for the walls of its host commands:
// programs inside pass files there. Only the stage's own engine can make them.
func lendTmp(p *Decision) {
	commands := p.HostCommands()
	own := cmp.Or(p.engine.name, sandbox.EngineNamespaces) == sandbox.EngineNamespaces
	if i := privateTmp(p); i >= 0 && own && len(commands) > 0 && !p.unwalledHost() {
		alone := len(slices.DeleteFunc(slices.Clone(commands), func(c config.HostCommand) bool { return !c.Alone() }))
		p.Plan.Mounts[i].Copies = uint64(min(1+alone+spareTmp, maxTmp))
	}
}

// TakeTmp has a mount of the workspace's /tmp take the place of a private one. Where the
// plan has other mounts in /tmp it does not: the workspace's programs could have put links
// where they go.
func TakeTmp(p *Decision, mount int) {
	i := privateTmp(p)
	if i < 0 {
		return
	}
	inTmp := func(m sandbox.Mount) bool { return pathname.Within(m.Target, p.Policy.Scope.Tmp) }
	if slices.ContainsFunc(p.Plan.Mounts[:i], inTmp) || slices.ContainsFunc(p.Plan.Mounts[i+1:], inTmp) {
		return
	}
	m := &p.Plan.Mounts[i]
	*m = sandbox.Mount{Kind: sandbox.MountGiven, Target: m.Target, Dir: true, Reason: "the temporary files of the workspace"}
	p.Plan.Given = mount
}

// privateTmp gives the place of the private /tmp among the mounts of the plan, -1 for none.
func privateTmp(p *Decision) int {
	return slices.IndexFunc(p.Plan.Mounts, func(m sandbox.Mount) bool {
		return m.Kind == sandbox.MountTmpfs && p.Policy.Scope.Tmp != "" && m.Target == p.Policy.Scope.Tmp
	})
}
