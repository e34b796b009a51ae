package policy

import (
	"path"
	"slices"
	"testing"

	"carrel/internal/pathname"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"
)

// Small alphabets make rules meet each other. Nothing lies below the private
// temporary directory: what the host has there is hidden by it, not granted.
var (
	genPath = rapid.SampledFrom([]string{"/", "/w", "/w/a", "/w/a/b", "/w/a/b/c", "/w/b", "/home/u", "/home/u/a", "/home/u/a/b", "/usr", "/usr/a", "/x"})
	genGlob = rapid.SampledFrom([]string{"a", "b", "*", "**/b", "/w/a/**", "/w/*/b", "/**/c", "/home/u/{a,b}", "/usr/**", "a/b", "?"})
	genKind = rapid.SampledFrom([]LayerKind{LayerOperator, LayerCommandLine, LayerEnvironment, LayerUser, LayerProfile, LayerDefault})
	queries = []string{"/", "/w", "/w/a", "/w/a/b", "/w/a/b/c", "/w/a/b/c/d", "/w/b", "/w/b/a", "/w/c", "/home", "/home/u", "/home/u/a", "/home/u/a/b", "/home/u/c", "/usr", "/usr/a", "/usr/a/b", "/x", "/x/a", "/y"}
)

var (
	ruleTexts   = []string{"a.x", "*.x", "**.x:443", "b", "10.0.0.0/8"}
	ruleTargets = []Target{{Host: "a.x", Port: 443}, {Host: "b.x", Port: 80}, {Host: "x", Port: 443}, {Host: "b", Port: 1}, {Host: "10.0.0.1", Port: 80}}
)

func genFile(t *rapid.T) FileRequest {
	if rapid.Bool().Draw(t, "glob") {
		a := rapid.SampledFrom([]Access{Read, Deny}).Draw(t, "access")
		return glob(genGlob.Draw(t, "place"), a)
	}
	a := rapid.SampledFrom([]Access{Read, Write, Deny}).Draw(t, "access")
	return rule(genPath.Draw(t, "place"), a)
}

func maybe[T any](t *rapid.T, label string, from ...T) *Value[T] {
	if rapid.Bool().Draw(t, label+"?") {
		return val(rapid.SampledFrom(from).Draw(t, label), label)
	}
	return nil
}

func genRequest(t *rapid.T) Request {
	r := Request{
		Network:         maybe(t, "network", NetClosed, NetLocal, NetFiltered, NetOpen),
		Display:         maybe(t, "display", DisplayNone, DisplayVirtual, DisplayHost),
		AllowDesktopGUI: maybe(t, "gui", true, false),
		VirtualDisplay:  maybe(t, "virtual", true, false),
		WatchVNC:        maybe(t, "watch", true, false),
		Clipboard:       maybe(t, "clipboard", ClipboardOwn, ClipboardPaste),
		Sound:           maybe(t, "sound", SwitchOn, SwitchOff),
		Notify:          maybe(t, "notify", SwitchOn, SwitchOff),
		OpenURLs:        maybe(t, "links", LinksNone, LinksShow, LinksBrowser),
		Home:            maybe(t, "home", HomeNone, HomeToolchains, HomeFull),
		Nested:          maybe(t, "nested", NestedNone, NestedUserns, NestedFull),
		History:         maybe(t, "history", HistoryOn, HistoryOff),
		Memory:          maybe[int64](t, "memory", 0, 1, 2, 3),
		Persona:         maybe(t, "persona", Human, Agent),
		OnUnknown:       maybe(t, "unknown", UnknownDeny, UnknownAsk),
	}
	for range rapid.IntRange(0, 5).Draw(t, "files") {
		r.Files = append(r.Files, genFile(t))
	}
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"A", "B", "*"}), 0, 2)
	r.EnvPass, r.EnvDrop = values(names.Draw(t, "pass")...), values(names.Draw(t, "drop")...)
	r.Devices = values(rapid.SliceOfN(rapid.SampledFrom([]string{"/dev/a", "/dev/b"}), 0, 2).Draw(t, "devices")...)
	r.AllowHosts = values(rapid.SliceOfN(rapid.SampledFrom(ruleTexts), 0, 2).Draw(t, "hosts")...)
	r.DenyHosts = values(rapid.SliceOfN(rapid.SampledFrom(ruleTexts), 0, 2).Draw(t, "denied hosts")...)
	r.HostPorts = ports(rapid.SliceOfN(rapid.SampledFrom([]uint16{1, 2}), 0, 2).Draw(t, "ports")...)
	r.Publish = publishes(rapid.SliceOfN(rapid.SampledFrom([]Publish{{3, 3}, {4, 4}}), 0, 2).Draw(t, "published")...)
	r.UnixSockets = values(rapid.SliceOfN(rapid.SampledFrom([]string{"/a", "/b"}), 0, 2).Draw(t, "sockets")...)
	if rapid.Bool().Draw(t, "programs?") {
		r.ProgramsAllow = values(rapid.SliceOfN(rapid.SampledFrom([]string{"p", "/bin/p", "q"}), 0, 2).Draw(t, "programs")...)
	}
	return r
}

func genLayers(t *rapid.T) []Layer {
	var layers []Layer
	for range rapid.IntRange(0, 3).Draw(t, "layers") {
		layers = append(layers, Layer{Kind: genKind.Draw(t, "kind"), Request: genRequest(t)})
	}
	return layers
}

func genCeiling(t *rapid.T) *Ceiling {
	c := &Ceiling{
		Network: maybe(t, "c.network", NetClosed, NetLocal, NetOpen),
		Display: maybe(t, "c.display", DisplayNone, DisplayVirtual, DisplayHost),
		Home:    maybe(t, "c.home", HomeNone, HomeFull),
		Nested:  maybe(t, "c.nested", NestedNone, NestedFull),
		History: maybe(t, "c.history", HistoryOn, HistoryOff),
		Memory:  maybe[int64](t, "c.memory", 0, 1, 2),
	}
	for range rapid.IntRange(0, 3).Draw(t, "mounts") {
		c.Mounts = append(c.Mounts, Mount{HostPath: genPath.Draw(t, "mount"), Write: rapid.Bool().Draw(t, "rw")})
	}
	c.DenyHosts = values(rapid.SliceOfN(rapid.SampledFrom(ruleTexts), 0, 1).Draw(t, "c.denied")...)
	c.AllowHosts = values(rapid.SliceOfN(rapid.SampledFrom(ruleTexts), 0, 2).Draw(t, "c.hosts")...)
	if rapid.Bool().Draw(t, "c.ports?") {
		c.HostPorts, c.Publish = ports(1), publishes(Publish{3, 3})
	}
	c.OnUnknown = maybe(t, "c.unknown", UnknownDeny, UnknownAsk)
	c.Devices = values(rapid.SliceOfN(rapid.SampledFrom([]string{"/dev/a", "/dev/b"}), 0, 1).Draw(t, "c.devices")...)
	c.ProgramsAllow = values(rapid.SliceOfN(rapid.SampledFrom([]string{"p", "/bin/p", "q"}), 0, 2).Draw(t, "c.programs")...)
	return c
}

// decideOr skips the draws that mean a refusal.
func decideOr(t *rapid.T, c *Ceiling, layers []Layer) *Effective {
	e, err := Decide(testScope(), c, layers)
	if err != nil {
		t.Skip(err.Error())
	}
	return e
}

// notWider fails where b grants anything that a does not.
func notWider(t *rapid.T, a, b *Effective) {
	for _, q := range queries {
		if x, y := a.Lookup(q).Access, b.Lookup(q).Access; y.grants() > x.grants() {
			t.Fatalf("%s: %s became %s\nbefore %v\nafter %v", q, x, y, a.Rules, b.Rules)
		}
	}
	host := func(e *Effective) bool { return e.Display == DisplayHost }
	wider := limit[int64](DimMemory, nil, nil, nil).wider
	switch {
	case networkRank(b.Network) > networkRank(a.Network):
		t.Fatalf("network %s became %s", a.Network, b.Network)
	case host(b) && !host(a):
		t.Fatalf("display %s became %s", a.Display, b.Display)
	case b.WatchVNC && !a.WatchVNC && a.Display == DisplayVirtual:
		t.Fatal("watch_vnc was turned on")
	case clipboardRank(b.Clipboard) > clipboardRank(a.Clipboard):
		t.Fatalf("clipboard %s became %s", a.Clipboard, b.Clipboard)
	case switchRank(b.Sound) > switchRank(a.Sound), switchRank(b.Notify) > switchRank(a.Notify), linkRank(b.OpenURLs) > linkRank(a.OpenURLs):
		t.Fatalf("sound %s became %s, notify %s %s, links %s %s", a.Sound, b.Sound, a.Notify, b.Notify, a.OpenURLs, b.OpenURLs)
	case homeRank(b.Home) > homeRank(a.Home), nestedRank(b.Nested) > nestedRank(a.Nested):
		t.Fatalf("home %s became %s, nested %s became %s", a.Home, b.Home, a.Nested, b.Nested)
	case historyRank(b.History) > historyRank(a.History):
		t.Fatalf("history %s became %s", a.History, b.History)
	case wider(b.Resources.Memory, a.Resources.Memory):
		t.Fatalf("memory %d became %d", a.Resources.Memory, b.Resources.Memory)
	case a.Persona != b.Persona:
		t.Fatalf("persona %s became %s", a.Persona, b.Persona)
	}
	for _, v := range b.Devices {
		if !holds(a.Devices, v.V) {
			t.Fatalf("device %s appeared", v.V)
		}
	}
	for _, v := range b.Hosts {
		if !ruleCovered(a.Hosts, v.V) {
			t.Fatalf("host %s appeared", v.V)
		}
	}
	for _, target := range ruleTargets {
		if b.HostRules().Decide(target).Allowed() && !a.HostRules().Decide(target).Allowed() {
			t.Fatalf("%+v is reached by %v but %v", target, b.Hosts, b.DenyHosts)
		}
	}
	if unknownRank(b.OnUnknown) > unknownRank(a.OnUnknown) {
		t.Fatalf("on_unknown %s became %s", a.OnUnknown, b.OnUnknown)
	}
	subset(t, b.HostPorts, a.HostPorts)
	subset(t, b.Publish, a.Publish)
	subset(t, b.UnixSockets, a.UnixSockets)
	for _, p := range []string{"p", "/bin/p", "/opt/p", "q"} {
		if allows(b, p) && !allows(a, p) {
			t.Fatalf("program %s appeared: %v, was %v", p, b.Programs, a.Programs)
		}
	}
	for _, name := range []string{"A", "B", "C"} {
		_, before, _ := a.Env.Lookup(name, "x")
		if _, after, _ := b.Env.Lookup(name, "x"); after && !before {
			t.Fatalf("variable %s appeared", name)
		}
	}
}

func subset[T comparable](t *rapid.T, list, of []Value[T]) {
	for _, v := range list {
		if !slices.ContainsFunc(of, func(o Value[T]) bool { return o.V == v.V }) {
			t.Fatalf("%v appeared", v.V)
		}
	}
}

func allows(e *Effective, program string) bool {
	return e.Programs == nil || covered(e.Programs, program)
}

// A project's file never widens anything, whatever stands in it.
func TestProjectNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers, c := genLayers(t), genCeiling(t)
		before := decideOr(t, c, layers)
		project := Layer{Kind: LayerProject, Request: genRequest(t)}
		after, err := Decide(testScope(), c, append(slices.Clone(layers), project))
		if err != nil {
			t.Fatalf("a project's well-formed file refused the start: %v", err)
		}
		notWider(t, before, after)
	})
}

// A ceiling never widens anything.
func TestCeilingNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := genLayers(t)
		layers = append(layers, Layer{Kind: LayerProject, Request: genRequest(t)})
		before := decideOr(t, nil, layers)
		after := decideOr(t, genCeiling(t), layers)
		notWider(t, before, after)
	})
}

// Nothing is granted beyond a ceiling's mounts.
func TestMountsBoundEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := genCeiling(t)
		e := decideOr(t, c, append(genLayers(t), Layer{Kind: LayerProject, Request: genRequest(t)}))
		if len(c.Mounts) == 0 {
			return
		}
		for _, q := range queries {
			allowed := 0
			for _, m := range c.Mounts {
				if pathname.Within(q, m.HostPath) {
					allowed = max(allowed, mountAccess(m).grants())
				}
			}
			if pathname.Within(q, "/usr") || pathname.Within(q, "/etc") {
				allowed = max(allowed, Read.grants())
			}
			if got := e.Lookup(q).Access; got.grants() > allowed {
				t.Fatalf("%s: %s, the mounts %v allow %d", q, got, c.Mounts, allowed)
			}
		}
	})
}

// The order of rules, and of layers of different kinds, never matters.
func TestOrderFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := append(genLayers(t), Layer{Kind: LayerProject, Request: genRequest(t)})
		slices.SortStableFunc(layers, func(a, b Layer) int { return int(a.Kind) - int(b.Kind) })
		seen := map[LayerKind]bool{}
		layers = slices.DeleteFunc(layers, func(l Layer) bool { was := seen[l.Kind]; seen[l.Kind] = true; return was })
		a := decideOr(t, nil, layers)
		shuffled := rapid.Permutation(layers).Draw(t, "order")
		for i := range shuffled {
			shuffled[i].Request.Files = rapid.Permutation(shuffled[i].Request.Files).Draw(t, "files order")
		}
		b := decideOr(t, nil, shuffled)
		notWider(t, a, b)
		notWider(t, b, a)
		if !slices.Equal(a.Rules, b.Rules) {
			t.Fatalf("rules differ:\n%v\n%v", a.Rules, b.Rules)
		}
	})
}

// Another deny never grants.
func TestDenyIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := genLayers(t)
		a := decideOr(t, nil, layers)
		f := genFile(t)
		f.Access = Deny
		deny := Layer{Kind: genKind.Draw(t, "deny by"), Request: Request{Files: []FileRequest{f}}}
		notWider(t, a, decideOr(t, nil, append(slices.Clone(layers), deny)))
	})
}

// The precomputed matcher says what a plain reading of the rules says.
func TestLookupAgreesWithItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := decideOr(t, nil, append(genLayers(t), Layer{Kind: LayerProject, Request: genRequest(t)}))
		for _, q := range queries {
			if got, want := e.Lookup(q).Access, slowLookup(e.Rules, q); got != want {
				t.Fatalf("Lookup(%s) = %s, want %s by %v", q, got, want, e.Rules)
			}
		}
	})
}

// slowLookup is the definition, word by word.
func slowLookup(rules []Rule, q string) Access {
	var best *Rule
	reopen := -1
	for i, r := range rules {
		if r.Glob != "" || !pathname.Within(q, r.Path) {
			continue
		}
		if best == nil || depth(r.Path) > depth(best.Path) {
			best = &rules[i]
		}
		if r.Access != Deny && r.Source.Layer < LayerProject && r.Source.Layer != LayerCeiling {
			reopen = max(reopen, depth(r.Path))
		}
	}
	access := Unset
	if best != nil {
		access = best.Access
	}
	for _, r := range rules {
		if r.Glob == "" {
			continue
		}
		for p := q; p != "/"; p = path.Dir(p) {
			hit, err := doublestar.Match(r.Glob, p)
			if err != nil || !hit || r.Source.Layer == LayerDefault && depth(p) <= reopen {
				continue
			}
			if r.Access == Deny {
				return Deny
			}
			if access == Write {
				access = Read
			}
		}
	}
	return access
}
