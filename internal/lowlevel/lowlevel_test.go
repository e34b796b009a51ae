package lowlevel

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/sandbox/policyfile"
)

// TestRules: each rule of a policy asks for its place and access, and names where it stands.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule        policyfile.Rule
		place       string // "" for no grant
		glob        bool
		access      policy.Access
		optional    bool
		tmp, system bool
	}{
		{policyfile.Rule{Path: "/a", Access: policyfile.Read}, "/a", false, policy.Read, false, false, false},
		{policyfile.Rule{Path: "/a", Access: policyfile.Write, Missing: policyfile.Skip}, "/a", false, policy.Write, true, false, false},
		{policyfile.Rule{Path: policyfile.Cwd, Access: policyfile.Write}, ":project", false, policy.Write, false, false, false},
		{policyfile.Rule{Path: ":cwd/x", Access: policyfile.Deny}, ":project/x", false, policy.Deny, false, false, false},
		{policyfile.Rule{Path: ":cwdx", Access: policyfile.Read}, ":cwdx", false, policy.Read, false, false, false},
		{policyfile.Rule{Glob: ":cwd/*.pem", Access: policyfile.Deny}, ":project/*.pem", true, policy.Deny, false, false, false},
		{policyfile.Rule{Glob: "/a/*", Access: policyfile.Protect}, "/a/*", true, policy.Read, false, false, false},
		{policyfile.Rule{Path: policyfile.System, Access: policyfile.Read}, ":system", false, policy.Read, false, false, true},
		{policyfile.Rule{Path: ":system/usr", Access: policyfile.Read}, ":system/usr", false, policy.Read, false, false, true},
		{policyfile.Rule{Path: ":systems", Access: policyfile.Read}, ":systems", false, policy.Read, false, false, false},
		{policyfile.Rule{Path: policyfile.Tmp, Access: policyfile.Write}, "", false, policy.Write, false, true, false},
	} {
		r := Request(&policyfile.Policy{Files: []policyfile.Rule{{Path: "/first"}, c.rule}}, "p.json", nil, nil)
		var want []policy.FileRequest
		if c.place != "" {
			want = append(want, policy.FileRequest{Place: c.place, Glob: c.glob, Access: c.access, Optional: c.optional,
				Source: policy.Source{Layer: policy.LayerCommandLine, Text: "p.json: files[1]"}})
		}
		if got := r.Flags.Files[1:]; len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%+v asks for %+v, want %+v", c.rule, got, want)
		}
		if r.Exact == nil || r.Exact.Tmp != c.tmp || r.Exact.System != c.system {
			t.Errorf("%+v: %+v", c.rule, r.Exact)
		}
	}
}

// TestZeroPolicy: what a policy does not say is off, and says so itself: nothing is left to
// the defaults of other layers.
func TestZeroPolicy(t *testing.T) {
	f := Request(&policyfile.Policy{}, "p", nil, nil).Flags
	got := map[string]string{
		"network": string(f.Network.V), "nested": string(f.Nested.V), "history": string(f.History.V),
		"home": string(f.Home.V), "display": string(f.Display.V), "sound": string(f.Sound.V),
		"notify": string(f.Notify.V), "links": string(f.OpenURLs.V), "unknown hosts": string(f.OnUnknown.V),
	}
	want := map[string]string{
		"network": string(policy.NetClosed), "nested": string(policy.NestedNone), "history": string(policy.HistoryOff),
		"home": string(policy.HomeNone), "display": string(policy.DisplayNone), "sound": string(policy.SwitchOff),
		"notify": string(policy.SwitchOff), "links": string(policy.LinksNone), "unknown hosts": string(policy.UnknownDeny),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	if f.ProgramsAllow != nil {
		t.Error("programs are limited, and no list is given")
	}
	if f.Files != nil || len(f.EnvPass)+len(f.EnvSet)+len(f.HostPorts)+len(f.Publish)+len(f.UnixSockets)+len(f.Devices) != 0 {
		t.Errorf("something is granted: %+v", f)
	}
}

// TestValues: what a policy says arrives as it was said.
func TestValues(t *testing.T) {
	p := &policyfile.Policy{
		Cwd: "/w", Environment: policyfile.Environment{Pass: []string{"A", "B"}, Set: map[string]string{"C": "1"}},
		Network: policyfile.Network{Mode: policyfile.Filtered, AllowHosts: []string{"a.example"}, DenyHosts: []string{"b.example"},
			HostPorts: []uint16{80}, Publish: []policyfile.Publish{{Inside: 1, Host: 2}}},
		Limits: policyfile.Limits{Memory: 3, Pids: 4, Timeout: time.Second}, History: true, Nested: "userns", Programs: []string{},
	}
	r := Request(p, "p", []string{"x"}, []string{"E=1"})
	f := r.Flags
	switch {
	case r.Cwd != "/w" || !reflect.DeepEqual(r.Argv, []string{"x"}) || !reflect.DeepEqual(r.Environ, []string{"E=1"}):
		t.Errorf("%q %q %q", r.Cwd, r.Argv, r.Environ)
	case len(f.EnvPass) != 2 || f.EnvPass[1].V != "B" || f.EnvSet["C"].V != "1":
		t.Errorf("environment: %+v, %+v", f.EnvPass, f.EnvSet)
	case f.EnvPass[1].Source.Text != "p: environment.pass[1]":
		t.Errorf("source: %+v", f.EnvPass[1])
	case f.Network.V != policy.NetFiltered || f.HostPorts[0].V != 80:
		t.Errorf("network: %+v", f)
	case f.AllowHosts[0].V != "a.example" || f.DenyHosts[0].V != "b.example":
		t.Errorf("network: %+v", f)
	case f.Publish[0].V != policy.Publish{Inside: 1, Host: 2}:
		t.Errorf("publish: %+v", f.Publish)
	case f.Memory.V != 3 || f.Pids.V != 4 || f.Timeout.V != time.Second:
		t.Errorf("limits: %+v, %+v, %+v", f.Memory, f.Pids, f.Timeout)
	case f.History.V != policy.HistoryOn || f.Nested.V != policy.NestedUserns:
		t.Errorf("history %v, nested %v", f.History.V, f.Nested.V)
	case f.ProgramsAllow == nil:
		t.Error("an empty list of programs does not limit them")
	}
}

// TestRefused: a refusal stands in the result by its fields, another error by its text.
func TestRefused(t *testing.T) {
	d := &api.Denial{Code: api.CodeNotHeld, Message: "not here"}
	r := Refused(errors.Join(errors.New("first"), d))
	if r.Exit != api.ExitOurs || len(r.Denials) != 1 || r.Denials[0].Code != api.CodeNotHeld {
		t.Errorf("%+v", r.Result)
	}
	line, err := Refused(errors.New("bad \xff")).JSON()
	var got struct {
		Exit    int
		Denials []any
		Error   any
	}
	if err == nil {
		err = json.Unmarshal(line, &got)
	}
	whole := got.Exit == api.ExitOurs && got.Denials != nil && len(got.Denials) == 0 && got.Error != nil
	if err != nil || !whole || !strings.HasSuffix(string(line), "}\n") {
		t.Errorf("%s, %v", line, err)
	}
}
