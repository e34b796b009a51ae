package policyflags

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestRequest: each flag is a value of the command line's layer, with its own name as the
// source.
func TestRequest(t *testing.T) {
	f, cmd := parsed(t, "--persona agent --backend process --network filtered --display none --home full --nested userns --history off "+
		"--secrets strict --agent-home shared --device /dev/kvm --env A=1=2 --env B --read r --write w --deny d --protect p "+
		"--allow-host a --deny-host b --unix-socket /s --on-unknown ask --host-port 80 --publish 81:82 --timeout 5m --memory 2GiB --pids 7")
	r, err := f.Request(cmd)
	if err != nil {
		t.Fatal(err)
	}
	source := func(flag string) policy.Source {
		return policy.Source{Layer: policy.LayerCommandLine, Text: "--" + flag}
	}
	file := func(place string, access policy.Access, glob bool, flag string) policy.FileRequest {
		return policy.FileRequest{Place: place, Access: access, Glob: glob, Source: source(flag)}
	}
	text := func(v, flag string) []policy.Value[string] {
		return []policy.Value[string]{{V: v, Source: source(flag)}}
	}
	want := policy.Request{
		Persona: value(policy.Agent, source("persona")), Backend: value(policy.BackendProcess, source("backend")),
		Network: value(policy.NetFiltered, source("network")), Display: value(policy.DisplayNone, source("display")),
		Home: value(policy.HomeFull, source("home")), Nested: value(policy.Nesting("userns"), source("nested")),
		History: value(policy.HistoryOff, source("history")), Secrets: value(policy.SecretsMode("strict"), source("secrets")),
		AgentHome: value(policy.AgentHomeShared, source("agent-home")), OnUnknown: value(policy.OnUnknown("ask"), source("on-unknown")),
		Timeout: value(5*time.Minute, source("timeout")), Memory: value(int64(2<<30), source("memory")), Pids: value(int64(7), source("pids")),
		Files: []policy.FileRequest{file("r", policy.Read, false, "read"), file("w", policy.Write, false, "write"),
			file("d", policy.Deny, true, "deny"), file("p", policy.Read, true, "protect")},
		Devices: text("/dev/kvm", "device"), EnvPass: text("B", "env"), AllowHosts: text("a", "allow-host"), DenyHosts: text("b", "deny-host"),
		UnixSockets: text("/s", "unix-socket"), EnvSet: map[string]policy.Value[string]{"A": {V: "1=2", Source: source("env")}},
		HostPorts: []policy.Value[uint16]{{V: 80, Source: source("host-port")}},
		Publish:   []policy.Value[policy.Publish]{{V: policy.Publish{Inside: 81, Host: 82}, Source: source("publish")}},
	}
	got, expected := reflect.ValueOf(r), reflect.ValueOf(want)
	for i := range got.NumField() {
		if !reflect.DeepEqual(got.Field(i).Interface(), expected.Field(i).Interface()) {
			t.Errorf("%s: %+v, want %+v", got.Type().Field(i).Name, got.Field(i), expected.Field(i))
		}
	}
	f, cmd = parsed(t, "")
	if r, err := f.Request(cmd); err != nil || !reflect.DeepEqual(r, policy.Request{}) {
		t.Errorf("no flag asks for %+v, %v", r, err)
	}
}

func value[T any](v T, source policy.Source) *policy.Value[T] {
	return &policy.Value[T]{V: v, Source: source}
}

// TestFlagsStandUnderHeadings: help shows each flag in one group, and groups name no flag
// that is not there.
func TestFlagsStandUnderHeadings(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f := &Flags{}
	f.Register(fs)
	f.RegisterNoPrompts(fs)
	f.RegisterReview(fs)
	listed := map[string]int{}
	for _, names := range flagGroups {
		for _, name := range strings.Fields(names) {
			listed[name]++
		}
	}
	fs.VisitAll(func(one *pflag.Flag) {
		if listed[one.Name] != 1 || len(one.Annotations[cmdline.FlagGroup]) != 1 {
			t.Errorf("--%s stands in %d groups: %v", one.Name, listed[one.Name], one.Annotations)
		}
		delete(listed, one.Name)
	})
	if len(listed) > 0 {
		t.Errorf("no flags: %v", listed)
	}
}

// TestCompletionOfPresets: built-in presets and the user's own are offered, and a user's
// configuration with a mistake takes only the user's own away.
func TestCompletionOfPresets(t *testing.T) {
	offered := func(text string) []string {
		env := environ(t, text)
		list, directive := CompletePreset(env)(&cobra.Command{}, nil, "")
		if directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("files are offered: %d", directive)
		}
		return list
	}
	builtin, own := offered(""), offered("presets:\n  shop:\n    description: the shop\n    network: local\n  bare:\n    network: local\n")
	if want := slices.Concat(builtin, []string{"shop\tthe shop", "bare"}); len(builtin) == 0 || !slices.Equal(own, want) {
		t.Errorf("%q, %q", builtin, own)
	}
	if wrong := offered("presets: [\n"); !slices.Equal(wrong, builtin) {
		t.Errorf("%q", wrong)
	}
	hosts, _ := CompleteHost(nil, nil, "")
	for _, word := range hosts {
		name, title, _ := strings.Cut(word, "\t")
		if name, isPreset := strings.CutPrefix(name, "preset:"); !isPreset || name == "" || title == "" {
			t.Errorf("%q is offered as a host", word)
		}
	}
}

// environ makes a user with text as configuration.
func environ(t *testing.T, text string) *cmdenv.Env {
	t.Helper()
	p := clitest.New(t, nil)
	p.Write(".config/carrel/config.yaml", text)
	return &cmdenv.Env{Environ: p.Environ}
}
