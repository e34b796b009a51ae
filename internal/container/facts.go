package container

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Facts are what an engine says of itself.
type Facts struct {
	Version      string // of the engine that makes containers
	Rootless     bool   // uid 0 inside is an ordinary user outside
	IDs          int    // user ids of containers, where podman works without root
	Remapped     bool   // docker's daemon maps all ids of containers to others
	Remote       bool   // the engine is not on this machine
	Runtime      string // runc, crun
	Storage      string // overlay, vfs
	CgroupV1     bool
	Hybrid       bool   // version 1, which crun does not take
	Kernel       string // of docker's daemon
	Architecture string // as Go writes it
}

// Examine asks the engine about itself, and refuses what cannot hold a workspace. It takes
// some 0.3 s with podman.
func (e *Engine) Examine(ctx context.Context) (*Facts, error) {
	format := "json"
	if e.Kind == Docker {
		format = "{{json .}}"
	}
	said, err := e.Do(ctx, Call{Args: []string{"info", "--format", format}})
	if err != nil {
		return nil, err
	}
	f, err := parseFacts(e.Kind, said)
	if err != nil {
		return nil, err
	}
	return f, e.refuses(f, kernelRelease())
}

func parseFacts(kind string, said []byte) (*Facts, error) {
	f := &Facts{}
	if kind == Docker {
		var i struct {
			ServerVersion, Driver, DefaultRuntime, CgroupVersion, KernelVersion, Architecture, OperatingSystem string
			SecurityOptions, ServerErrors                                                                      []string
		}
		if err := json.Unmarshal(said, &i); err != nil {
			return nil, fmt.Errorf("docker info: %w", err)
		}
		if i.ServerVersion == "" {
			return nil, (&Engine{Kind: kind}).Explain("docker info", errDaemon, strings.Join(i.ServerErrors, "\n"))
		}
		has := func(name string) bool {
			return slices.ContainsFunc(i.SecurityOptions, func(o string) bool { return o == "name="+name })
		}
		return &Facts{Version: i.ServerVersion, Rootless: has("rootless"), Remapped: has("userns"), Runtime: i.DefaultRuntime, Storage: i.Driver,
			CgroupV1: i.CgroupVersion == "1", Kernel: i.KernelVersion, Architecture: goArch(i.Architecture),
			Remote: strings.Contains(i.OperatingSystem, "Docker Desktop")}, nil
	}
	var i struct {
		Host struct {
			Arch, CgroupVersion string
			ServiceIsRemote     bool
			OCIRuntime          struct{ Name string } `json:"ociRuntime"`
			Security            struct{ Rootless bool }
			IDMappings          struct{ UIDMap []struct{ Size int } }
			Kernel              string
		}
		Store   struct{ GraphDriverName string }
		Version struct{ Version string }
	}
	if err := json.Unmarshal(said, &i); err != nil {
		return nil, fmt.Errorf("podman info: %w", err)
	}
	*f = Facts{Version: i.Version.Version, Rootless: i.Host.Security.Rootless, Remote: i.Host.ServiceIsRemote, Runtime: i.Host.OCIRuntime.Name,
		Storage: i.Store.GraphDriverName, CgroupV1: i.Host.CgroupVersion == "v1", Kernel: i.Host.Kernel, Architecture: goArch(i.Host.Arch)}
	for _, m := range i.Host.IDMappings.UIDMap {
		f.IDs += m.Size
	}
	f.Hybrid = f.CgroupV1 && f.Runtime == "crun" && hybridCgroups()
	return f, nil
}

// goArch is an architecture as Go writes it.
func goArch(name string) string {
	switch name {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "":
		return runtime.GOARCH
	}
	return name
}
