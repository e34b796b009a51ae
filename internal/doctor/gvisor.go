package doctor

import (
	"errors"
	"io/fs"
	"time"

	"carrel/internal/advice"
)

// Gvisor is all that the checks of backend gvisor may ask.
type Gvisor struct {
	Wanted  bool // the configuration names the backend
	Program func() (path string, err error)
	Serve   func() error // whether this user may mount what is served
}

func (g *Gvisor) bounded(limit time.Duration) *Gvisor {
	b := *g
	b.Serve = func() error { return within(limit, g.Serve) }
	return &b
}

// gvisorChecks are those of backend gvisor, where the configuration or the program gives reason to
// ask. None is needed: walls do without.
func gvisorChecks(p *patient) []Check {
	g := p.Gvisor
	if g == nil || p.OS != "linux" {
		return nil
	}
	at, err := g.Program()
	if err != nil && !g.Wanted {
		return nil
	}
	const noSandbox = "backend gvisor starts no sandbox"
	program := Check{ID: "gvisor", Name: "gVisor", Status: OK, Found: at}
	if err != nil {
		program = program.advised(&advice.Error{Err: err,
			Hint: "install carrel-gvisor beside carrel (`make install`), with the same owner and mode"}, CauseProgram)
		program.Means = noSandbox
	}
	device := Check{ID: "gvisor-fuse", Name: "gVisor: FUSE", Status: OK, Found: "/dev/fuse can be opened"}
	if err := g.Serve(); err != nil {
		device = device.refused(Missing, err, noSandbox)
		r := remedy{cause: CauseDevice, fix: "have root give it to all users, as most distributions do",
			commands: []string{"sudo chmod 666 /dev/fuse"}}
		if errors.Is(err, fs.ErrNotExist) {
			r = remedy{cause: CauseDevice, fix: "load the module", commands: []string{"sudo modprobe fuse"}}
		}
		device = device.with(r)
	}
	return []Check{program, device}
}
