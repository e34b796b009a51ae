package doctor

import (
	"slices"
	"time"
)

// Status is how a check ended.
type Status string

const (
	OK      Status = "ok"
	Weak    Status = "weak"    // carrel runs, with less
	Missing Status = "missing" // not there, or refused
)

// Check is one thing that was tried or looked at.
type Check struct {
	ID       string   `json:"id"` // keeps its name from version to version
	Name     string   `json:"name"`
	Status   Status   `json:"status"`
	Needed   bool     `json:"needed"`             // without it no command can run
	Found    string   `json:"found"`              // what was seen
	Errno    string   `json:"errno,omitempty"`    // the kernel's answer, where it refused
	Cause    Cause    `json:"cause,omitempty"`    // why, as far as it is known
	Means    string   `json:"means,omitempty"`    // what follows from it
	Fix      string   `json:"fix,omitempty"`      // what to do, in words
	Commands []string `json:"commands,omitempty"` // what to type, a line each

	skipped bool // not tried: another check made it pointless
}

// Format is the version of [Report] as JSON. Fields and causes may be added to
// a version; none is taken away or changes its meaning.
const Format = 1

// Report is everything that was found.
type Report struct {
	Format int     `json:"format"`
	Ready  bool    `json:"ready"` // carrel run can work here
	Kept   int     `json:"kept"`  // answers that are of an earlier time
	Checks []Check `json:"checks"`
}

// Examine makes all checks, those that are needed first.
func Examine(m *Machine) Report {
	p := &patient{Machine: m.bounded()}
	if m.OS != "linux" {
		system := Check{ID: "system", Name: "operating system", Status: Missing, Needed: true, Found: m.OS, Cause: CauseKernel,
			Means: "walls are made of Linux namespaces", Fix: "run carrel on Linux, or in a Linux virtual machine (docs/lima.md)"}
		return Report{Format: Format, Checks: append([]Check{system}, limaChecks(p)...)}
	}
	r := Report{Format: Format, Ready: true, Checks: []Check{
		p.kernel(), p.userNamespaces(), p.otherNamespaces(), p.networkNamespace(),
		p.mountAPI(), p.proc(), p.filter(), p.history(), p.memory(),
		p.landlock(), withoutNamespaces(p), p.overlay(), p.cgroups(), p.state(), p.space(), p.noexec(),
		p.surroundings(), p.terminal(), p.opener(), p.virtualDisplay(),
	}}
	r.Checks = slices.Concat(r.Checks, containerChecks(p), limaChecks(p), vmChecks(p), gvisorChecks(p))
	for _, c := range r.Checks {
		if c.Needed && c.Status == Missing {
			r.Ready = false
		}
	}
	return r
}

// patient is one examination: the machine, and what earlier checks found that
// later ones build on.
type patient struct {
	*Machine
	noUser   bool // user namespaces are refused
	noMounts bool // nothing can be mounted in them
}

// notTried is a check that another one makes pointless.
func notTried(c Check, because string) Check {
	c.Status, c.Found, c.skipped = Missing, "not tried: "+because, true
	return c
}

// Lacking names the needed checks that failed, without those that were not
// tried because of another.
func (r Report) Lacking() []string {
	var names []string
	for _, c := range r.Checks {
		if c.Needed && c.Status == Missing && !c.skipped {
			names = append(names, c.Name)
		}
	}
	return names
}

// Check gives the check of that ID, nil where there is none.
func (r Report) Check(id string) *Check {
	for i := range r.Checks {
		if r.Checks[i].ID == id {
			return &r.Checks[i]
		}
	}
	return nil
}

// patience bounds each probe: what hangs, such as the file system of a server
// that is gone, must not keep the other answers back.
const patience = 10 * time.Second
