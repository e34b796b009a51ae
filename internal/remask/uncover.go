package remask

import (
	"slices"
	"strings"

	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Uncover has the broker see the project's files of secrets below their masks, and the
// directories on the way without a mount, so that a directory with a secret in it can be
// removed whole. It reads and changes none of them.
func Uncover(plan *sandbox.Plan, pol *policy.Effective, project string) {
	var bare []string
	for i := range plan.Mounts {
		m := &plan.Mounts[i]
		if m.Kind != sandbox.MountMask || m.Dir || !pathname.Within(m.Target, project) {
			continue
		}
		r := pol.Lookup(m.Target).Rule
		own := r != nil && r.Path == m.Target && r.Source.Layer == policy.LayerDefault
		if own && strings.HasPrefix(r.Source.Text, hostview.SecretPrefix) {
			m.Bare = true
			bare = append(bare, m.Target)
		}
	}
	for i := range plan.Mounts {
		m := &plan.Mounts[i]
		if m.Kind != sandbox.MountSelf || !m.Dir || m.ReadOnly || m.Target == project {
			continue
		}
		m.Bare = slices.ContainsFunc(bare, func(secret string) bool { return pathname.Within(secret, m.Target) }) &&
			pathname.Within(m.Target, project)
	}
}
