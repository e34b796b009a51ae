package cli

import (
	"fmt"
	"strings"
	"time"

	"carrel/internal/config"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runFlags are the flags of run, shell and explain. Each becomes a value of the
// command-line layer with its own name as the source.
type runFlags struct {
	persona, preset, network, display, home, nested string
	timeout, memory, permissions, history, engine   string
	size, backend, agentHome, secrets               string
	read, write, deny, protect, env, device         []string
	pids                                            int64
	json, noPrompts                                 bool
	net                                             networkFlags
}

func (f *runFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.persona, "persona", "", "who drives the keystrokes: human or agent")
	fs.StringVar(&f.preset, "preset", "", "start from a preset (see carrel preset list)")
	fs.StringArrayVar(&f.read, "read", nil, "show a file or directory, read-only")
	fs.StringArrayVar(&f.write, "write", nil, "show a file or directory and let it be changed")
	fs.StringArrayVar(&f.deny, "deny", nil, "hide what matches the glob: no reading, no writing")
	fs.StringArrayVar(&f.protect, "protect", nil, "keep what matches the glob from being changed")
	fs.StringVar(&f.network, "network", "", "closed, local (a localhost of its own), api (what an agent cannot do without), filtered (listed hosts too) or open")
	f.net.register(fs)
	fs.StringVar(&f.display, "display", "", "none, virtual or host")
	fs.StringVar(&f.size, "size", "", "size of the virtual display in pixels, for example 1280x800")
	fs.StringArrayVar(&f.env, "env", nil, "pass NAME from outside, or set NAME=VALUE")
	fs.StringVar(&f.home, "home", "", "what of home is visible: toolchains, full (read-only) or none")
	fs.StringVar(&f.nested, "nested", "", "sandboxes inside: none, userns (browsers) or full (bubblewrap)")
	fs.StringArrayVar(&f.device, "device", nil, "make a device node visible, for example /dev/kvm")
	fs.StringVar(&f.agentHome, "agent-home", "", "a known agent's own places: private (default), a copy for each project, or shared, with its transcripts and history yours")
	fs.StringVar(&f.timeout, "timeout", "", "end the command after this time, with status 124 (30s, 5m)")
	fs.StringVar(&f.memory, "memory", "", "limit memory, for example 2GiB")
	fs.Int64Var(&f.pids, "pids", 0, "limit the number of processes")
	fs.StringVar(&f.history, "history", "", "on (default): every change of the project is decided and recorded; off: plain writable mounts")
	fs.StringVar(&f.secrets, "secrets", "", "masked (default): secrets of the project are hidden by mounts; strict: each open for reading is looked at as well")
	fs.StringVar(&f.backend, "backend", "", "process (default): behind walls; none: as you, WITHOUT WALLS, with the project's history")
	fs.StringVar(&f.engine, "engine", "", "what makes the walls: auto (default), namespaces, bubblewrap or landlock")
	fs.BoolVar(&f.json, "json", false, "print the result as JSON on standard error when the command has ended")
	fs.StringVar(&f.permissions, "permissions", "", "ceiling file: the most that may be granted")
}

// registerNoPrompts is for the commands that may start an agent.
func (f *runFlags) registerNoPrompts(fs *pflag.FlagSet) {
	fs.BoolVar(&f.noPrompts, "no-prompts", false, "start the agent with its own permission questions off, this time; agents.prompts_off in your configuration: always")
}

// request gives the command line's layer. Values are checked by the decision,
// which knows the source of each; sizes and times are checked here.
func (f *runFlags) request(cmd *cobra.Command) (policy.Request, error) {
	var r policy.Request
	f.files(&r)
	r.Persona = choice[policy.Persona](f.persona, "--persona")
	r.Backend = choice[policy.Backend](f.backend, "--backend")
	r.Network = choice[policy.NetworkMode](f.network, "--network")
	r.Display = choice[policy.DisplayMode](f.display, "--display")
	r.Home = choice[policy.HomeMode](f.home, "--home")
	r.Nested = choice[policy.Nesting](f.nested, "--nested")
	r.History = choice[policy.HistoryMode](f.history, "--history")
	r.Secrets = choice[policy.SecretsMode](f.secrets, "--secrets")
	r.AgentHome = choice[policy.AgentHomeMode](f.agentHome, "--agent-home")
	for _, d := range f.device {
		r.Devices = append(r.Devices, policy.Value[string]{V: d, Source: flagSource("--device")})
	}
	for _, e := range f.env {
		name, value, set := strings.Cut(e, "=")
		if !set {
			r.EnvPass = append(r.EnvPass, policy.Value[string]{V: name, Source: flagSource("--env")})
			continue
		}
		if r.EnvSet == nil {
			r.EnvSet = make(map[string]policy.Value[string])
		}
		r.EnvSet[name] = policy.Value[string]{V: value, Source: flagSource("--env")}
	}
	if err := f.net.request(&r); err != nil {
		return r, err
	}
	return r, f.limits(cmd, &r)
}

func (f *runFlags) files(r *policy.Request) {
	add := func(places []string, flag string, access policy.Access, glob bool) {
		for _, p := range places {
			r.Files = append(r.Files, policy.FileRequest{Place: p, Glob: glob, Access: access, Source: flagSource(flag)})
		}
	}
	add(f.read, "--read", policy.Read, false)
	add(f.write, "--write", policy.Write, false)
	add(f.deny, "--deny", policy.Deny, true)
	add(f.protect, "--protect", policy.Read, true)
}

func (f *runFlags) limits(cmd *cobra.Command, r *policy.Request) error {
	if f.timeout != "" {
		d, err := config.ParseDuration(f.timeout)
		if err != nil {
			return fmt.Errorf("--timeout %q: %w", f.timeout, err)
		}
		r.Timeout = &policy.Value[time.Duration]{V: d, Source: flagSource("--timeout")}
	}
	if f.memory != "" {
		n, err := config.ParseSize(f.memory)
		if err != nil {
			return fmt.Errorf("--memory %q: %w", f.memory, err)
		}
		r.Memory = &policy.Value[int64]{V: n, Source: flagSource("--memory")}
	}
	if cmd.Flags().Changed("pids") {
		r.Pids = &policy.Value[int64]{V: f.pids, Source: flagSource("--pids")}
	}
	return nil
}

func choice[T ~string](v, flag string) *policy.Value[T] {
	if v == "" {
		return nil
	}
	return &policy.Value[T]{V: T(v), Source: flagSource(flag)}
}

func flagSource(name string) policy.Source {
	return policy.Source{Layer: policy.LayerCommandLine, Text: name}
}
