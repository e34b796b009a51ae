package doctor

// Status is how a check ended.
type Status string

const (
	OK      Status = "ok"
	Weak    Status = "weak"    // carrel runs, with less
	Missing Status = "missing" // not there, or refused
)

// Check is one thing that was tried or looked at.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Needed bool   `json:"needed"`          // without it no command can run
	Found  string `json:"found"`           // what was seen
	Means  string `json:"means,omitempty"` // what follows from it
	Fix    string `json:"fix,omitempty"`   // what to type; one step a line

	skipped bool // not tried: another check made it pointless
}

// Report is everything that was found.
type Report struct {
	Ready  bool    `json:"ready"` // carrel run can work here
	Checks []Check `json:"checks"`
}

// Examine makes all checks, those that are needed first.
func Examine(m *Machine) Report {
	if m.OS != "linux" {
		return Report{Checks: []Check{{Name: "operating system", Status: Missing, Needed: true, Found: m.OS,
			Means: "walls are made of Linux namespaces", Fix: "run carrel on Linux, or in a Linux virtual machine"}}}
	}
	p := &patient{Machine: m}
	r := Report{Ready: true, Checks: []Check{
		p.kernel(), p.userNamespaces(), p.otherNamespaces(), p.networkNamespace(),
		p.mountAPI(), p.proc(), p.filter(),
		p.landlock(), p.overlay(), p.cgroups(), p.state(), p.space(),
		p.surroundings(), p.yama(), p.terminal(), p.opener(), p.virtualDisplay(),
	}}
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
func notTried(name string, needed bool, because string) Check {
	return Check{Name: name, Status: Missing, Needed: needed, Found: "not tried: " + because, skipped: true}
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
