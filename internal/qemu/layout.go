package qemu

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"carrel/internal/guestinit"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
)

// kernelDirs are made by the machine itself.
var kernelDirs = []string{"/proc", "/sys", "/dev", "/run/carrel"}

// Own says whether a path is in one of those.
func Own(target string) bool {
	return slices.ContainsFunc(kernelDirs, func(dir string) bool { return pathname.Within(target, dir) })
}

// steps are those by which a machine makes its system: of a plan, and of what is served, by the paths
// that it has there.
func steps(plan *sandbox.Plan, served map[string]string) (list []guestinit.Step) {
	served = maps.Clone(served)
	for _, m := range plan.Mounts {
		if Own(m.Target) {
			continue
		}
		s := guestinit.Step{To: m.Target, Perm: m.Perm, Optional: m.Optional}
		switch m.Kind {
		case sandbox.MountBind, sandbox.MountOverlay:
			from, ok := served[m.Target]
			if !ok {
				from = guestinit.Program // what stands for our own program there
			}
			s.Kind, s.From, s.ReadOnly = guestinit.Bind, from, m.ReadOnly && ok
			delete(served, m.Target)
			list = append(list, s)
			if m.Kind == sandbox.MountOverlay {
				list = append(list, guestinit.Step{Kind: guestinit.Overlay, To: m.Target, Optional: true})
			}
			continue
		case sandbox.MountTmpfs:
			if m.Target == "/run" {
				continue // it is there
			}
			s.Kind, s.Own = guestinit.Memory, m.Perm == 0o700
		case sandbox.MakeSymlink:
			s.Kind, s.From, s.Optional = guestinit.Link, m.Source, true
		case sandbox.WriteFile:
			s.Kind, s.Data = guestinit.File, m.Data
		default:
			continue // masks, files with another content and names that are kept are the server's
		}
		list = append(list, s)
	}
	for to, from := range served {
		list = append(list, guestinit.Step{Kind: guestinit.Bind, To: to, From: from})
	}
	slices.SortStableFunc(list, func(a, b guestinit.Step) int {
		return cmp.Or(strings.Count(path.Clean(a.To), "/")-strings.Count(path.Clean(b.To), "/"), strings.Compare(a.To, b.To))
	})
	return list
}
