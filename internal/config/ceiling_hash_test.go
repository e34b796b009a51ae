package config

import (
	"slices"
	"testing"
	"time"

	"carrel/internal/policy"
)

func of[T any](v T) *policy.Value[T] { return &policy.Value[T]{V: v} }

func valuesOf(list ...string) (out []policy.Value[string]) {
	for _, s := range list {
		out = append(out, policy.Value[string]{V: s})
	}
	return out
}

// TestCeilingHash holds that a hash is of the meaning: the way of writing, the order and
// where it stands do not count, and everything that limits does.
func TestCeilingHash(t *testing.T) {
	expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	full := func() *policy.Ceiling {
		return &policy.Ceiling{Network: of(policy.NetLocal), HostPorts: []policy.Value[uint16]{{V: 3000}, {V: 80}}, Mounts: []policy.Mount{{HostPath: "/b"}, {HostPath: "/a", Write: true}},
			ProgramsAllow: valuesOf("/usr/bin/true", "git"), Undo: of(policy.UndoPreview), Expires: of(expires), HostCommands: valuesOf("gh"), Display: of(policy.DisplayNone), Memory: of(int64(5))}
	}
	base := CeilingHash(full())
	same := map[string]func(*policy.Ceiling){
		"order": func(c *policy.Ceiling) {
			slices.Reverse(c.Mounts)
			slices.Reverse(c.ProgramsAllow)
			slices.Reverse(c.HostPorts)
		},
		"twice":           func(c *policy.Ceiling) { c.Mounts = append(c.Mounts, c.Mounts[0]) },
		"where it stands": func(c *policy.Ceiling) { c.Network.Source = policy.Source{File: "/x", Line: 9} },
		"another zone":    func(c *policy.Ceiling) { c.Expires = of(expires.In(time.FixedZone("x", 3600))) },
		"the widest": func(c *policy.Ceiling) {
			c.Home, c.Nested, c.Pids = of(policy.HomeFull), of(policy.NestedFull), of(int64(0))
		},
		"no sockets": func(c *policy.Ceiling) { c.UnixSockets = []policy.Value[string]{} }, // local has none anyway
		"one that is open": func(c *policy.Ceiling) {
			c.Also = []*policy.Ceiling{{}, {Undo: of(policy.UndoAll)}}
		},
		"itself beside it": func(c *policy.Ceiling) { c.Also = []*policy.Ceiling{full()} },
	}
	for name, change := range same {
		c := full()
		if change(c); CeilingHash(c) != base {
			t.Errorf("%s: another hash: %+v", name, c.Permissions())
		}
	}
	seen := map[string]string{base: "the whole", CeilingHash(new(policy.Ceiling)): "none"}
	for name, change := range map[string]func(*policy.Ceiling){
		"network": func(c *policy.Ceiling) { c.Network = of(policy.NetClosed) }, "a port": func(c *policy.Ceiling) { c.HostPorts = c.HostPorts[:1] },
		"a mount": func(c *policy.Ceiling) { c.Mounts[0].Write = true }, "a program": func(c *policy.Ceiling) { c.ProgramsAllow = valuesOf("git") },
		"undo": func(c *policy.Ceiling) { c.Undo = nil }, "expires": func(c *policy.Ceiling) { c.Expires = of(expires.Add(time.Nanosecond)) },
		"host commands": func(c *policy.Ceiling) { c.HostCommands = nil }, "display": func(c *policy.Ceiling) { c.Display = of(policy.DisplayVirtual) }, "memory": func(c *policy.Ceiling) { c.Memory = of(int64(6)) },
		"publish": func(c *policy.Ceiling) { c.Publish = []policy.Value[policy.Publish]{} }, "one more": func(c *policy.Ceiling) { c.Also = []*policy.Ceiling{{Home: of(policy.HomeNone)}} },
		"bytes": func(c *policy.Ceiling) { c.Mounts[0].HostPath = "/\xff" }, "other bytes": func(c *policy.Ceiling) { c.Mounts[0].HostPath = "/\xfe" },
	} {
		c := full()
		change(c)
		if was, ok := seen[CeilingHash(c)]; ok {
			t.Errorf("%s has the hash of %s", name, was)
		}
		seen[CeilingHash(c)] = name
	}
	for _, same := range [][]string{{"EXAMPLE.org", "example.org.", " example.org "}, {"[::1]:80", "[0:0::1]:80"}, {"a.org:80,443", "a.org:443,80"}} {
		for _, host := range same {
			if got, want := CeilingHash(&policy.Ceiling{AllowHosts: valuesOf(host)}), CeilingHash(&policy.Ceiling{AllowHosts: valuesOf(same[0])}); got != want {
				t.Errorf("%q has another hash than %q", host, same[0])
			}
		}
	}
	if CeilingHash(nil) != "" {
		t.Error("no ceiling has a hash")
	}
}
