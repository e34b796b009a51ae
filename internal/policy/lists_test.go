package policy

import "testing"

func values(texts ...string) []Value[string] {
	out := []Value[string]{}
	for _, s := range texts {
		out = append(out, *val(s, s))
	}
	return out
}

func TestPrograms(t *testing.T) {
	programs := func(k LayerKind, p ...string) Layer {
		return asks(k, func(r *Request) { r.ProgramsAllow = values(p...) })
	}
	tests := []struct {
		name   string
		layers []Layer
		want   string
		warned bool
	}{
		{"no limit", nil, "no limit", false},
		{"none allowed", []Layer{programs(LayerUser)}, "none", false},
		{"the stronger list wins", []Layer{programs(LayerUser, "a"), programs(LayerCommandLine, "b")}, "b", false},
		{"project sets a limit", []Layer{programs(LayerProject, "a")}, "a", false},
		{"project cuts down", []Layer{programs(LayerUser, "a", "b"), programs(LayerProject, "b")}, "b", false},
		{"project cannot add", []Layer{programs(LayerUser, "a"), programs(LayerProject, "a", "c")}, "a", true},
		{"a path is narrower than its name", []Layer{programs(LayerUser, "npm"), programs(LayerProject, "/usr/bin/npm")}, "/usr/bin/npm", false},
		{"a name is wider than a path", []Layer{programs(LayerUser, "/usr/bin/npm"), programs(LayerProject, "npm")}, "/usr/bin/npm", true},
	}
	for _, tt := range tests {
		e := mustDecide(t, nil, tt.layers...)
		if got := reasonOf(e, DimPrograms).Value; got != tt.want || (len(e.Warnings) > 0) != tt.warned {
			t.Errorf("%s: %s, warnings %v; want %s", tt.name, got, e.Warnings, tt.want)
		}
	}
	for _, bad := range []string{"", "..", "a/b", "/a/../b"} {
		if _, err := Decide(testScope(), nil, []Layer{programs(LayerUser, bad)}); err == nil {
			t.Errorf("program %q: want an error", bad)
		}
	}
}

func TestProjectListsAreIgnored(t *testing.T) {
	e := mustDecide(t, nil, asks(LayerProject, func(r *Request) {
		r.Devices = values("/dev/kvm")
		r.EnvPass = values("AWS_KEY")
		r.EnvSet = map[string]Value[string]{"LD_PRELOAD": *val("/evil.so", "set")}
		r.AllowHosts = values("evil.example")
		r.Files = []FileRequest{rule("/data", Read), rule("/data2", Write)}
	}))
	if len(e.Devices)+len(e.Env.Pass)+len(e.Env.Set)+len(e.Hosts)+len(e.Rules) != 0 {
		t.Errorf("%+v: the project widened something", e)
	}
	for _, what := range []string{"/dev/kvm", "AWS_KEY", "LD_PRELOAD", "evil.example", "/data ", "/data2"} {
		wantWarning(t, e, "ignored", what)
	}
}

func TestEnvironment(t *testing.T) {
	e := mustDecide(t, nil,
		asks(LayerDefault, func(r *Request) {
			r.EnvPass, r.EnvDrop = values("LC_*", "TERM", "EDITOR"), values("*SECRET*", "EDITOR")
			r.EnvSet = map[string]Value[string]{"CI": *val("0", "d"), "PAGER": *val("less", "d")}
		}),
		asks(LayerUser, func(r *Request) {
			r.EnvPass = values("MY_SECRET", "CI")
			r.EnvSet = map[string]Value[string]{"TERM": *val("dumb", "u")}
		}),
		asks(LayerCommandLine, func(r *Request) { r.EnvDrop = values("LC_TIME") }),
		asks(LayerProject, func(r *Request) { r.EnvDrop = values("PAGER") }))
	for name, want := range map[string]struct {
		value string
		pass  bool
	}{
		"LC_ALL":    {"out", true},
		"LC_TIME":   {"", false},
		"TERM":      {"dumb", true},
		"EDITOR":    {"", false},
		"MY_SECRET": {"out", true},
		"A_SECRET":  {"", false},
		"CI":        {"out", true},
		"PAGER":     {"", false},
		"OTHER":     {"", false},
	} {
		value, pass, _ := e.Env.Lookup(name, "out")
		if value != want.value || pass != want.pass {
			t.Errorf("%s: %q %v, want %q %v", name, value, pass, want.value, want.pass)
		}
	}
	for _, bad := range []string{"", "A=B", "A\x00"} {
		if _, err := Decide(testScope(), nil, []Layer{asks(LayerUser, func(r *Request) { r.EnvPass = values(bad) })}); err == nil {
			t.Errorf("variable %q: want an error", bad)
		}
	}
}
