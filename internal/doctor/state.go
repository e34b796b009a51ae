package doctor

import "fmt"

// lowSpace is where a build or an agent's state soon fills the disk.
const lowSpace = 1 << 30

func (p *patient) state() Check {
	s := p.State()
	c := Check{Name: "state directory", Status: OK, Found: s.Path}
	const means = "commands run, and nothing is logged or kept: no denials, no caches, no agent logins"
	switch {
	case s.Path == "":
		c.Status, c.Found, c.Means, c.Fix = Weak, "no place for it", means, "set HOME or XDG_STATE_HOME to an absolute path"
	case s.Exists && !s.Safe:
		c.Status, c.Means = Weak, means
		c.Found += ": not a directory that only this user can write"
		c.Fix = fmt.Sprintf("sudo chown %d %q && chmod 700 %q", p.UID, s.Path, s.Path)
	case !s.Writable:
		c.Status, c.Means = Weak, means
		c.Found += fmt.Sprintf(": %q cannot be written", s.Nearest)
		c.Fix = "make it writable for this user, or set XDG_STATE_HOME to a place that is"
	case !s.Exists:
		c.Found += ", made by the first run"
	}
	return c
}

func (p *patient) space() Check {
	s := p.State()
	c := Check{Name: "free space", Status: OK, Found: "not known"}
	if !s.Known {
		return c
	}
	c.Found = fmt.Sprintf("%.1f GiB at %s", float64(s.Free)/(1<<30), s.Nearest)
	if s.Free < lowSpace {
		c.Status, c.Means, c.Fix = Weak, "caches and the state of agents may not find room", "free some, or set XDG_STATE_HOME to a larger disk"
	}
	return c
}
