package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/guard"
	"carrel/internal/policy"
)

// hiddenDenial is the record of the files that a run could not read; none without any.
// The kernel tells nobody that one was tried, so it is one of the run and not of a try.
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
func (s *Session) hiddenSecrets() (names []string) {
	add := func(at string) {
		if rel, ok := strings.CutPrefix(at, s.Place.Project+"/"); ok && len(names) < guard.MaxListed {
			names = append(names, rel)
		}
	}
	for i := range s.Policy.Rules {
		if r := &s.Policy.Rules[i]; r.Access == policy.Deny && r.Path != "" && r.Source.Layer == policy.LayerDefault && s.Policy.Lookup(r.Path).Access == policy.Deny {
			add(r.Path)
		}
	}
	for _, at := range s.hiddenSince {
		if s.Policy.Lookup(at).Access == policy.Deny {
			add(at)
		}
	}
	for _, at := range s.Passwords() {
		add(at)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
