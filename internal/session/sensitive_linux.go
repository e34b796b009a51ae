package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/guard"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protectednames"
)

// madeNames is what a broker that has ended knows of the names that programs inside have made.
type madeNames struct {
	expected, removable func(path string) bool // a protected name may be new, or gone
	hidden              []string               // secrets that came
}

// hiddenDenial is the record of the files that a run could not read; none without any.
// The kernel does not tell that one was tried, so it is one of the run and not of a try.
func hiddenDenial(r *api.Result, project string) (d api.Denial) {
	if len(r.Hidden) == 0 {
		return d
	}
	few := strings.Join(r.Hidden[:min(len(r.Hidden), maxHiddenNamed)], ", ")
	if more := len(r.Hidden) - maxHiddenNamed; more > 0 {
		few += fmt.Sprintf(" and %d more", more)
	}
	return api.Denial{
		Time: time.Now(), Workspace: r.Workspace, Project: project, Code: api.CodeHidden, Operation: "read", Subject: few,
		Message: "files of secrets were hidden: " + few, Rule: "secrets of the project", Source: "default", Hint: "--read FILE shows one",
	}
}

const maxHiddenNamed = 20

// hiddenSecrets names the files of the project that are hidden as secrets, as a person
// there calls them.
func (m *madeNames) hiddenSecrets(d *decide.Decision) (names []string) {
	add := func(at string) {
		if rel, ok := strings.CutPrefix(at, d.Place.Project+"/"); ok && len(names) < guard.MaxListed {
			names = append(names, rel)
		}
	}
	for i := range d.Policy.Rules {
		if r := &d.Policy.Rules[i]; r.Access == policy.Deny && r.Path != "" && r.Source.Layer == policy.LayerDefault && d.Policy.Lookup(r.Path).Access == policy.Deny {
			add(r.Path)
		}
	}
	for _, at := range m.hidden {
		if d.Policy.Lookup(at).Access == policy.Deny {
			add(at)
		}
	}
	for _, at := range d.Passwords() {
		add(at)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sensitiveNow are the names to compare at the end: protected ones, and denied
// names of the project, which may be links to what they hide.
func sensitiveNow(d *decide.Decision) map[string]string {
	if d.AsIs() {
		return nil // no names but the policy's
	}
	paths, own := protectednames.Sensitive(&d.Place, d.History()), d.OwnDirs() // these are made and removed by ourselves
	for _, t := range d.Guarded.Named {
		if t.Path != "" {
			paths = append(paths, t.Path)
		}
	}
	for _, r := range d.Policy.Rules {
		if r.Access == policy.Deny && r.Path != "" && pathname.Within(r.Path, d.Place.Project) && !slices.Contains(own, r.Path) {
			paths = append(paths, r.Path)
		}
	}
	return protectednames.Present(paths)
}

// born lists sensitive names that a run has created, turned into something else,
// or removed although they were to stay: mounts can protect only what exists, and no link.
func (m *madeNames) born(d *decide.Decision, before map[string]string) []string {
	var born []string
	after := sensitiveNow(d)
	for path, kind := range after {
		if was, there := before[path]; was != kind && (there || m.expected == nil || !m.expected(path)) {
			born = append(born, path)
		}
	}
	for path := range before {
		if _, still := after[path]; !still && (m.removable == nil || !m.removable(path)) {
			born = append(born, path)
		}
	}
	for i := range born {
		born[i] = strings.TrimPrefix(born[i], d.Place.Project+"/")
	}
	slices.Sort(born)
	return born
}
