package policyflags

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// parsed gives the flags of a line, and the command that they were read for.
func parsed(t *testing.T, line string) (*Flags, *cobra.Command) {
	t.Helper()
	f, cmd := &Flags{}, &cobra.Command{Use: "x"}
	f.Register(cmd.Flags())
	if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f, cmd
}

// TestPresetKeys: each flag is the key that means the same in a preset, and a place that
// is relative to this directory is made absolute.
func TestPresetKeys(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"", ""},
		{"--read a --read ~/b --read :home --write /c", "read=[" + filepath.Join(cwd, "a") + " ~/b :home] write=[/c]"},
		{"--deny **/*.pem --protect x --device /dev/kvm", "deny=[**/*.pem] protect=[x] devices=[/dev/kvm]"},
		{"--network open", "network=open"},
		{"--network filtered --allow-host a --host-port 1 --on-unknown ask", "network.mode=filtered network.allow_hosts=[a] network.host_ports=[1] network.on_unknown=ask"},
		{"--deny-host a --publish 1:2 --unix-socket /s", "network.deny_hosts=[a] network.publish=[1:2] network.unix_sockets=[/s]"},
		{"--display none --home full --nested userns --history off --secrets strict", "display=none home=full nested=userns history=off secrets=strict"},
		{"--agent-home shared --isolation kernel", "agent_home=shared isolation=kernel"},
		{"--env B=2 --env A=1 --env C", "environment.pass=[C] environment.set.A=1 environment.set.B=2"},
		{"--timeout 5m --memory 2GiB --pids 0", "resources.timeout=5m resources.memory=2GiB resources.pids=0"},
	} {
		f, cmd := parsed(t, tt.line)
		keys, err := f.PresetKeys(cmd)
		var got []string
		for _, k := range keys {
			value := k.Text
			switch {
			case k.List != nil:
				value = fmt.Sprint(k.List)
			case k.Count != nil:
				value = fmt.Sprint(*k.Count)
			}
			got = append(got, strings.Join(k.Path, ".")+"="+value)
		}
		if text := strings.Join(got, " "); err != nil || text != tt.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", tt.line, text, err, tt.want)
		}
	}
}

// TestNoFlagIsLost: each flag is a key of a preset or is refused there. One that went unsaid would take
// a demand away from every later run.
func TestNoFlagIsLost(t *testing.T) {
	values := map[string]string{"timeout": "5m", "memory": "1GiB", "host-port": "80", "publish": "1:2", "pids": "9",
		"accel": "tcg", "memory-mb": "512", "cpus": "1"}
	all := &cobra.Command{Use: "x"}
	(&Flags{}).Register(all.Flags())
	all.Flags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "persona" { // it is a key of its own
			return
		}
		value := values[flag.Name]
		if value == "" && flag.Value.Type() == "bool" {
			value = "true"
		} else if value == "" {
			value = "x"
		}
		f, cmd := parsed(t, "--"+flag.Name+"="+value)
		if keys, err := f.PresetKeys(cmd); err == nil && len(keys) == 0 {
			t.Errorf("--%s is neither a key nor refused", flag.Name)
		}
	})
}

// TestPresetKeysRefuse: what belongs to one run is no key, and a value is checked before
// it is written anywhere.
func TestPresetKeysRefuse(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"--preset x", "--preset belongs to one run"},
		{"--json", "--json belongs to one run"},
		{"--permissions x", "--permissions belongs to one run"},
		{"--backend none", "--backend belongs to one run"},
		{"--engine auto", "--engine belongs to one run"},
		{"--memory-mb 512", "--memory-mb belongs to one run"},
		{"--timeout soon", `--timeout "soon"`},
		{"--memory much", `--memory "much"`},
		{"--host-port x", "--host-port"},
		{"--publish x", "--publish"},
	} {
		f, cmd := parsed(t, tt.line)
		if keys, err := f.PresetKeys(cmd); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v", tt.line, keys, err)
		}
	}
}
