package doctor

import (
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Containers is all that the checks of backend container may ask.
type Containers struct {
	Wanted  bool   // the configuration names the backend, or what its containers are made of
	Program string // the engine that a run would take, "" for none
	Refused error  // why none can be taken

	Facts func() (ContainerFacts, error) // asked of the engine, which starts it
}

// ContainerFacts are what an engine says of itself.
type ContainerFacts struct {
	Version  string
	Rootless bool   // it works without root
	IDs      int    // how many user ids its containers have, where it does
	Storage  string // how images are kept
	Warnings []string
}

func (c *Containers) bounded(limit time.Duration) *Containers {
	b := *c
	b.Facts = func() (ContainerFacts, error) { return answered(limit, c.Facts) }
	return &b
}

// noContainer is what follows from what is missing.
const noContainer = "backend container starts no container"

// enoughIDs is how many user ids images of distributions have files of.
const enoughIDs = 65536

// containerChecks are those of backend container, where the configuration or an installed engine gives
// reason to ask. The engine is started only where the configuration asks for it: it makes directories.
func containerChecks(p *patient) []Check {
	e := p.Containers
	if e == nil || !e.Wanted && e.Program == "" {
		return nil
	}
	c := Check{ID: "container", Name: "containers", Status: OK, Found: e.Program}
	if e.Refused != nil {
		return []Check{c.lacks(e.Refused, e.Program)}
	}
	if !e.Wanted {
		c.Found += " is installed, and was not asked: your configuration does not name backend container"
		return []Check{c}
	}
	f, err := e.Facts()
	if err != nil {
		return []Check{c.lacks(err, e.Program)}
	}
	c.Found = fmt.Sprintf("%s %s, as root", e.Program, f.Version)
	if f.Rootless {
		c.Found = fmt.Sprintf("%s %s, without root", e.Program, f.Version)
	}
	checks := []Check{c, storageOf(f)}
	if f.Rootless {
		checks = append(checks, idsOf(f))
	}
	return checks
}

func (c Check) lacks(err error, program string) Check {
	cause := Cause("")
	switch {
	case program == "":
		cause = CauseProgram
	case errors.Is(err, syscall.ETIMEDOUT):
		cause = CauseTime
	}
	if c = c.advised(err, cause); c.Fix == seeLimactl {
		c.Fix = "see what `" + program + " info` says"
	}
	c.Means = noContainer
	return c
}

func storageOf(f ContainerFacts) Check {
	c := Check{ID: "container-storage", Name: "containers: images", Status: OK, Found: "storage driver " + f.Storage}
	if len(f.Warnings) == 0 {
		return c
	}
	c.Status, c.Means = Weak, "each start copies the image"
	return c.with(remedy{fix: f.Warnings[0]})
}

func idsOf(f ContainerFacts) Check {
	c := Check{ID: "container-ids", Name: "containers: user ids", Status: OK, Found: fmt.Sprintf("containers have %d user ids", f.IDs)}
	if f.IDs >= enoughIDs {
		return c
	}
	c.Status, c.Means = Weak, "images with files of other users are not fetched or started"
	return c.with(remedy{cause: CauseIDs, fix: "have root give you a range in /etc/subuid and /etc/subgid, and tell podman",
		commands: []string{`sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$(id -un)"`, "podman system migrate"}})
}
