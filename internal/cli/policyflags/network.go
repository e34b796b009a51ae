package policyflags

import (
	"fmt"

	"carrel/internal/agents"
	"carrel/internal/config"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// networkFlags are the flags of run, shell and explain that say which hosts,
// ports and sockets are reached.
type networkFlags struct {
	allow, deny, hostPorts, publish, sockets []string
	unknown                                  string
}

func (f *networkFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.allow, "allow-host", nil, "reach this host: NAME, *.NAME, **.NAME, address or range, each with :PORT[,PORT]; preset:NAME. Means --network filtered")
	fs.StringArrayVar(&f.deny, "deny-host", nil, "never reach this host, whatever else is allowed")
	fs.StringArrayVar(&f.hostPorts, "host-port", nil, "reach this port of the host's localhost inside, at the same port")
	fs.StringArrayVar(&f.publish, "publish", nil, "reach a port inside from the host's localhost: INSIDE[:HOST]")
	fs.StringArrayVar(&f.sockets, "unix-socket", nil, "show one Unix socket of the host, for example \"$SSH_AUTH_SOCK\"")
	fs.StringVar(&f.unknown, "on-unknown", "", "what becomes of hosts that no rule names: deny (default) or ask")
}

// request fills in the command line's layer. Hosts and sockets are checked by
// the decision, ports here.
func (f *networkFlags) request(r *policy.Request) error {
	texts := func(list []string, flag string) (out []policy.Value[string]) {
		for _, s := range list {
			out = append(out, policy.Value[string]{V: s, Source: flagSource(flag)})
		}
		return out
	}
	r.AllowHosts = texts(f.allow, "--allow-host")
	r.DenyHosts = texts(f.deny, "--deny-host")
	r.UnixSockets = texts(f.sockets, "--unix-socket")
	r.OnUnknown = choice[policy.OnUnknown](f.unknown, "--on-unknown")
	for _, s := range f.hostPorts {
		p, err := config.ParsePort(s)
		if err != nil {
			return fmt.Errorf("--host-port %w", err)
		}
		r.HostPorts = append(r.HostPorts, policy.Value[uint16]{V: p, Source: flagSource("--host-port")})
	}
	for _, s := range f.publish {
		p, err := config.ParsePublish(s)
		if err != nil {
			return fmt.Errorf("--publish %w", err)
		}
		r.Publish = append(r.Publish, policy.Value[policy.Publish]{V: p, Source: flagSource("--publish")})
	}
	return nil
}

// presetKeys are the same as keys of a preset.
func (f *networkFlags) presetKeys(mode string) []config.PresetKey {
	var keys []config.PresetKey
	list := func(values []string, key string) {
		if len(values) > 0 {
			keys = append(keys, config.PresetKey{Path: []string{"network", key}, List: values})
		}
	}
	list(f.allow, "allow_hosts")
	list(f.deny, "deny_hosts")
	list(f.hostPorts, "host_ports")
	list(f.publish, "publish")
	list(f.sockets, "unix_sockets")
	if f.unknown != "" {
		keys = append(keys, config.PresetKey{Path: []string{"network", "on_unknown"}, Text: f.unknown})
	}
	switch {
	case mode != "" && len(keys) == 0:
		return []config.PresetKey{{Path: []string{"network"}, Text: mode}}
	case mode != "":
		return append([]config.PresetKey{{Path: []string{"network", "mode"}, Text: mode}}, keys...)
	}
	return keys
}

// CompleteHost offers the presets; of hosts there are too many.
func CompleteHost(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, p := range agents.HostPresets() {
		words = append(words, "preset:"+p.Name+"\t"+p.Title)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
