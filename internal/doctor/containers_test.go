package doctor

import (
	"errors"
	"strings"
	"testing"
)

// withContainers is a healthy machine with an engine without root that works, with changes.
func withContainers(changes ...func(*Containers, *ContainerFacts)) change {
	return func(m *Machine) {
		facts := ContainerFacts{Version: "4.3.1", Rootless: true, IDs: 65537, Storage: "overlay"}
		m.Containers = &Containers{Wanted: true, Program: "/usr/bin/podman"}
		for _, c := range changes {
			c(m.Containers, &facts)
		}
		if m.Containers.Facts == nil {
			m.Containers.Facts = func() (ContainerFacts, error) { return facts, nil }
		}
	}
}

func refuseEngine(program string, err error) change {
	return withContainers(func(c *Containers, _ *ContainerFacts) { c.Program, c.Refused = program, err })
}

func failFacts(err error) change {
	return withContainers(func(c *Containers, _ *ContainerFacts) {
		c.Facts = func() (ContainerFacts, error) { return ContainerFacts{}, err }
	})
}

// simulatedContainers is what backend container finds.
var simulatedContainers = []row{
	{"podman", []change{withContainers()}, "container", OK, "", "", true},
	{"no engine", []change{refuseEngine("", advised("install podman"))}, "container", Missing, CauseProgram, "install podman", true},
	{"an engine elsewhere", []change{refuseEngine("/usr/bin/docker", advised("use an engine of this kernel"))},
		"container", Missing, "", "use an engine of this kernel", true},
	{"an engine that fails", []change{failFacts(errors.New("exit status 125"))}, "container", Missing, "", "/usr/bin/podman info", true},
	{"images", []change{withContainers()}, "container-storage", OK, "", "", true},
	{"images that are copied", []change{withContainers(func(_ *Containers, f *ContainerFacts) {
		f.Storage, f.Warnings = "vfs", []string{"set driver"}
	})}, "container-storage", Weak, "", "set driver", true},
	{"user ids", []change{withContainers()}, "container-ids", OK, "", "", true},
	{"one user id", []change{withContainers(func(_ *Containers, f *ContainerFacts) { f.IDs = 1 })},
		"container-ids", Weak, CauseIDs, "/etc/subuid", true},
}

// TestContainersAreAskedFor: no engine is started where no configuration asks for containers, and root needs
// no user ids.
func TestContainersAreAskedFor(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Containers, *ContainerFacts)
		want   string
	}{
		{"neither", func(c *Containers, _ *ContainerFacts) { c.Wanted, c.Program = false, "" }, ""},
		{"installed", func(c *Containers, _ *ContainerFacts) {
			c.Wanted = false
			c.Facts = func() (ContainerFacts, error) { panic("the engine is started") }
		}, "container"},
		{"configured", func(*Containers, *ContainerFacts) {}, "container container-storage container-ids"},
		{"as root", func(_ *Containers, f *ContainerFacts) { f.Rootless = false }, "container container-storage"},
	} {
		m := healthy()
		withContainers(c.change)(m)
		var ids []string
		for _, check := range Examine(m).Checks {
			if strings.HasPrefix(check.ID, "container") {
				ids = append(ids, check.ID)
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
