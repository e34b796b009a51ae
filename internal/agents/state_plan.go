package agents

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// StatePlan says how the private copy of an agent's places is put into a
// view. It is pure: nothing needs to exist yet.
type StatePlan struct {
	Binds []StateBind       // in mount order: outer places first
	Env   map[string]string // EnvSet with the guest home filled in
}

// StateBind is one place of the private copy at its place in the guest home.
type StateBind struct {
	Source   string // absolute, in the private copy or, for programs, on the host
	Target   string // absolute, in the guest home
	Writable bool
	Optional bool // Source may not exist; then there is nothing to bind
	Dir      bool // Source is a directory when it exists; false: not known
}

// PlanState plans the binds for one agent. hostHome is the home directory
// outside, guestHome inside (most often the same), privateDir the private copy.
//
// The State directories are writable: what is written there lives on. Config
// below them is writable too, as many agents rewrite their settings by rename,
// but MirrorIn puts the host's content back at the next start. Config beside
// them, and the agent's own program, are read-only.
func PlanState(a Agent, hostHome, guestHome, privateDir string) StatePlan {
	plan := StatePlan{Env: map[string]string{}}
	for _, dir := range a.State {
		plan.Binds = append(plan.Binds, StateBind{
			Source: filepath.Join(privateDir, dir), Target: filepath.Join(guestHome, dir), Writable: true, Dir: true,
		})
	}
	for _, file := range slices.Concat(a.Config, a.Seed) {
		if !a.inState(file) && !isPattern(file) {
			plan.Binds = append(plan.Binds, StateBind{
				Source: filepath.Join(privateDir, file), Target: filepath.Join(guestHome, file), Optional: true,
			})
		}
	}
	for _, program := range a.Programs {
		plan.Binds = append(plan.Binds, StateBind{
			Source: filepath.Join(hostHome, program), Target: filepath.Join(guestHome, program), Optional: true,
		})
	}
	for name, value := range a.EnvSet {
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			value = path.Join(guestHome, rest)
		}
		plan.Env[name] = value
	}
	return plan
}

// inState reports whether a home-relative place lies below a State directory.
func (a Agent) inState(place string) bool {
	for _, dir := range a.State {
		if below(place, dir) {
			return true
		}
	}
	return false
}

// isPattern reports whether a place has a pattern as its last component.
func isPattern(place string) bool { return strings.ContainsAny(place, "*?[") }
