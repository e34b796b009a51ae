package policy

import (
	"strings"
	"testing"
)

func mounts(list ...string) *Ceiling {
	c := &Ceiling{}
	for i, m := range list {
		p, mode, _ := strings.Cut(m, " ")
		c.Mounts = append(c.Mounts, Mount{HostPath: p, Write: mode == "rw", Source: Source{Layer: LayerCeiling, File: "/c", Line: i + 1}})
	}
	return c
}

func TestMountCeiling(t *testing.T) {
	def := layer(LayerDefault, rule(":system", Read), rule(":tmp", Write), rule(":project", Write), rule("~", Read), glob(".env", Deny))
	tests := []struct {
		name    string
		ceiling *Ceiling
		layer   Layer
		want    map[string]Access
	}{
		{"the project alone", mounts("/w rw"), layer(LayerUser), map[string]Access{"/w/a": Write, "/home/u/x": Unset, "/usr/bin": Read, "/tmp/a": Write}},
		{"read-only", mounts("/w ro"), layer(LayerUser), map[string]Access{"/w/a": Read}},
		{"a read-only part", mounts("/w rw", "/w/vendor ro"), layer(LayerUser), map[string]Access{"/w/a": Write, "/w/vendor/a": Read}},
		{"only a part", mounts("/w/src rw"), layer(LayerUser), map[string]Access{"/w/a": Unset, "/w/src/a": Write}},
		{"what the mounts hold but nobody asks for", mounts("/data rw", "/w rw"), layer(LayerUser), map[string]Access{"/data": Unset}},
		{"never re-opens a deny", mounts("/w rw", "/w/x/y rw"), layer(LayerUser, rule("/w/x", Deny)), map[string]Access{"/w/x/y": Deny, "/w/a": Write}},
		{"never re-opens a default glob", mounts("/w/.env rw"), layer(LayerUser, glob("zz", Deny)), map[string]Access{"/w/.env": Deny}},
		{"contradicting mounts mean the narrower", mounts("/w rw", "/w ro"), layer(LayerUser), map[string]Access{"/w/a": Read}},
		{"a mount may widen a system directory's bound", mounts("/usr/local rw", "/w rw"), layer(LayerUser, rule("/usr/local", Write)), map[string]Access{"/usr/local/a": Write, "/usr/bin": Read}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustDecide(t, tt.ceiling, def, tt.layer)
			for p, want := range tt.want {
				wantAccess(t, e, p, want)
			}
		})
	}
}

func TestMountCeilingRefuses(t *testing.T) {
	for _, tt := range []struct {
		ceiling *Ceiling
		req     FileRequest
		refused bool
	}{
		{mounts("/w rw"), rule("/data", Read), true},
		{mounts("/w ro"), rule("/w/a", Write), true},
		{mounts("/w ro"), rule("/w/a", Read), false},
		{mounts("/w rw"), rule("/w/a", Write), false},
		{mounts("/w rw"), rule("/", Read), true},
		{mounts("/w rw"), rule("/usr/lib", Read), false},
		{mounts("/w rw"), rule("/usr/lib", Write), true},
		{mounts("/w rw"), rule("/tmp/host", Read), true}, // a host path, not the private /tmp
		{mounts("/w rw"), rule("/data", Deny), false},
		{mounts("/wide rw"), rule("/w", Read), true},
	} {
		_, err := Decide(testScope(), tt.ceiling, []Layer{layer(LayerProfile, tt.req)})
		if (len(Refusals(err)) == 1) != tt.refused {
			t.Errorf("%v of %s: error %v, want refused %v", tt.req.Access, tt.req.Place, err, tt.refused)
		}
	}
}

func TestCeilingNarrowsHomeFull(t *testing.T) {
	home := func(k LayerKind) Layer { return asks(k, func(r *Request) { r.Home = val(HomeFull, "home") }) }
	e := mustDecide(t, mounts("/w rw"), home(LayerDefault))
	wantAccess(t, e, "/home/u/x", Unset)
	if _, err := Decide(testScope(), mounts("/w rw"), []Layer{home(LayerCommandLine)}); len(Refusals(err)) != 1 {
		t.Errorf("--home full outside the mounts: error %v, want a refusal", err)
	}
}

func TestCanonical(t *testing.T) {
	resolve := func(p string) string { return strings.Replace(p, "/w/link", "/outside", 1) }
	ceiling, layers := Canonical(testScope(), mounts("/w/link/m rw"), []Layer{
		layer(LayerUser, rule("/w/link/a", Write), rule("link/b", Deny), glob("link/*.key", Deny), rule(":tmp", Write)),
	}, resolve)
	if ceiling.Mounts[0].HostPath != "/outside/m" {
		t.Errorf("mount %q, want /outside/m", ceiling.Mounts[0].HostPath)
	}
	e := mustDecide(t, nil, append(layers, layer(LayerDefault, rule("/", Read)))...)
	for p, want := range map[string]Access{"/outside/a": Write, "/w/link/a": Read, "/outside/b": Deny, "/w/link/b": Deny, "/w/link/x.key": Deny, "/tmp": Write} {
		wantAccess(t, e, p, want)
	}
	_, layers = Canonical(testScope(), nil, []Layer{layer(LayerUser, rule("/w/link", Write))}, resolve)
	if _, err := Decide(testScope(), mounts("/w rw"), layers); len(Refusals(err)) != 1 {
		t.Errorf("a link out of the ceiling's mount: error %v, want a refusal", err)
	}
}
