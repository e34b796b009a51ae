package doctor

import (
	"fmt"
	"strings"
	"syscall"
)

// lowSpace is where a build or an agent's state soon fills the disk.
const lowSpace = 1 << 30

// fullSpace and fullFiles are as good as nothing.
const (
	fullSpace = 1 << 20
	fullFiles = 16
)

func (p *patient) state() Check {
	s := p.State()
	c := Check{ID: "state", Name: "state directory", Status: OK, Found: s.Path}
	const means = "commands run with --history off only, and nothing is logged or kept: no denials, no caches, no agent logins"
	weak := func(found string, r remedy) Check {
		c.Status, c.Means = Weak, means
		c.Found = strings.TrimPrefix(c.Found+": "+found, ": ")
		return c.with(r)
	}
	elsewhere := "export XDG_STATE_HOME=" + quoted("/var/tmp/carrel-state-"+fmt.Sprint(p.UID))
	switch errno := errnoOf(s.Denied); {
	case s.Path == "":
		return weak("no place for it", remedy{cause: CauseNoPlace, fix: "set HOME or XDG_STATE_HOME to the absolute path of a directory of yours"})
	case s.Exists && !s.Safe && !s.Owned:
		return weak("it belongs to another user", remedy{cause: CauseOwner, fix: "make it yours", commands: []string{fmt.Sprintf("sudo chown %d %s && chmod 700 %s", p.UID, quoted(s.Path), quoted(s.Path))}})
	case s.Exists && !s.Safe:
		return weak("others can write it", remedy{cause: CauseOwner, fix: "make it yours alone", commands: []string{"chmod 700 " + quoted(s.Path)}})
	case errno == syscall.EROFS:
		c.Errno = errnoNames[errno]
		return weak(fmt.Sprintf("%q is on a file system that is read-only", s.Nearest), remedy{cause: CauseReadOnly,
			fix: "mount it read-write, or set XDG_STATE_HOME to a place of yours that is", commands: []string{remount(p.mounts(), s.Nearest, "rw")}})
	case s.Denied != nil:
		c.Errno = errnoNames[errno]
		return weak(fmt.Sprintf("%q cannot be written: %v", s.Nearest, s.Denied), remedy{cause: CauseOwner,
			fix: "make it writable for this user, or put it elsewhere", commands: []string{elsewhere}})
	case !s.Exists:
		c.Found += ", made by the first run"
	}
	return c
}

func (p *patient) space() Check {
	s := p.State()
	c := Check{ID: "space", Name: "free space", Status: OK, Found: "not known"}
	if !s.Known {
		return c
	}
	c.Found = fmt.Sprintf("%.1f GiB at %s", float64(s.Free)/(1<<30), s.Nearest)
	r := remedy{cause: CauseFull, fix: "free some, or set XDG_STATE_HOME to a place of yours on a larger disk"}
	switch {
	case s.Free < fullSpace:
		c.Status, c.Found, c.Means = Weak, fmt.Sprintf("%d KiB at %s", s.Free>>10, s.Nearest), "changes that cannot be recorded are refused: commands run with --history off only"
	case s.Files < fullFiles:
		c.Status, c.Found, c.Means = Weak, fmt.Sprintf("no more files can be made at %s", s.Nearest), "changes that cannot be recorded are refused: commands run with --history off only"
	case s.Free < lowSpace:
		c.Status, c.Means = Weak, "caches, the history and the state of agents may not find room"
	default:
		return c
	}
	return c.with(r)
}

// noexec looks at home and the working directory: mounts behind walls keep what
// theirs forbid.
func (p *patient) noexec() Check {
	c := Check{ID: "noexec", Name: "programs in home and project", Status: OK, Found: "can be started"}
	r := remedy{cause: CauseNoExec, fix: "mount it without noexec, or keep programs elsewhere"}
	var found []string
	for _, place := range p.Places() {
		if !place.NoExec {
			continue
		}
		found = append(found, place.Path)
		command := remount(p.mounts(), place.Path, "exec")
		if len(r.commands) == 0 || r.commands[len(r.commands)-1] != command {
			r.commands = append(r.commands, command)
		}
	}
	if len(found) == 0 {
		return c
	}
	c.Status, c.Found = Weak, "noexec: "+strings.Join(found, ", ")
	c.Means = "no program there can be started, outside or inside: node_modules/.bin, virtual environments, what a build makes"
	return c.with(r)
}
