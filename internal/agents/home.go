package agents

import (
	"path/filepath"
	"slices"
	"strings"
)

// SharedPlace is a place of the host that an agent has in a shared home.
type SharedPlace struct {
	Place  string   // home-relative
	File   bool     // a file that is only added to; else a directory
	Except []string // names in it that stay the private copy's: what is there is run, or read as settings
}

// PlanShared plans the binds of a shared home, over those of [PlanState]: what of the
// host is put over the private copy, and what of the copy over that again.
func PlanShared(a Agent, hostHome, guestHome, privateDir string) []StateBind {
	var binds []StateBind
	for _, s := range a.Shared {
		binds = append(binds, StateBind{Source: filepath.Join(hostHome, s.Place), Target: filepath.Join(guestHome, s.Place), Writable: true, Dir: !s.File})
		for _, name := range s.Except {
			binds = append(binds, StateBind{Source: filepath.Join(privateDir, s.Place, name), Target: filepath.Join(guestHome, s.Place, name), Writable: true, Dir: true})
		}
	}
	return binds
}

// PlanOwn plans the binds of an agent that has a directory of its own: it stands for
// the agent's one directory, or has all of its several ones below it, by their places
// in home.
func PlanOwn(a Agent, hostHome, guestHome, dir string) StatePlan {
	plan := PlanState(Agent{State: a.State, Programs: a.Programs, EnvSet: a.EnvSet}, hostHome, guestHome, dir)
	for i, place := range a.State {
		plan.Binds[i].Source = filepath.Join(dir, a.InOwn(place))
	}
	return plan
}

// InOwn says where a place below State lies in a directory of the agent's own.
func (a Agent) InOwn(place string) string {
	if len(a.State) > 1 {
		return place
	}
	return "." + strings.TrimPrefix(place, a.State[0])
}

// ProgramsInState are the places of the agent's program that lie below State.
func (a Agent) ProgramsInState() []string {
	var all []string
	for _, p := range a.Programs {
		if a.inState(p) {
			all = append(all, p)
		}
	}
	return all
}

// OwnPlaces are the places of all known agents in a home directory, sorted.
func OwnPlaces() []string {
	var places []string
	for _, a := range Known() {
		places = slices.Concat(places, a.State, a.Config, a.Credentials, a.Programs)
		for _, m := range a.MergeBack {
			places = append(places, m.File)
		}
	}
	places = slices.DeleteFunc(places, func(p string) bool { return isPattern(p) || strings.HasPrefix(p, ".local/bin/") })
	slices.Sort(places)
	return slices.Compact(places)
}
