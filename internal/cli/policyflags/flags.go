// Package policyflags reads the flags that say what a command may do, as carrel run,
// start, explain and preset add take them: files, network, display, environment, limits.
//
// Each flag becomes a value of the command line's layer that names the flag as its
// source. The package checks the form of sizes, times and ports. Whether a value is
// allowed is decided later, with all other layers. The same flags can be kept as keys of
// a preset, and the package offers their words to a shell that completes a line.
package policyflags

import (
	"fmt"
	"strings"
	"time"

	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/policy"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags are the flags of run, shell and explain. Each becomes a value of the
// command-line layer with its own name as the source.
type Flags struct {
	Persona, Preset, Permissions, Engine, Image, Size string
	Write                                             []string
	JSON, NoPrompts                                   bool
	VM                                                config.VM

	network, display, home, nested, timeout, memory string
	history, backend, isolation, agentHome, secrets string
	read, deny, protect, env, device                []string
	pids                                            int64
	review                                          bool
	net                                             networkFlags
}

// Register adds the flags to a command.
func (f *Flags) Register(fs *pflag.FlagSet) {
	fs.StringVar(&f.Persona, "persona", "", "who drives the keystrokes: human or agent")
	fs.StringVar(&f.Preset, "preset", "", "start from a preset (see carrel preset list)")
	fs.StringArrayVar(&f.read, "read", nil, "show a file or directory, read-only")
	fs.StringArrayVar(&f.Write, "write", nil, "show a file or directory and let it be changed")
	fs.StringArrayVar(&f.deny, "deny", nil, "hide what matches the glob: no reading, no writing")
	fs.StringArrayVar(&f.protect, "protect", nil, "keep what matches the glob from being changed")
	fs.StringVar(&f.network, "network", "", "closed, local (a localhost of its own), api (what an agent cannot do without), filtered (listed hosts too) or open")
	f.net.register(fs)
	fs.StringVar(&f.display, "display", "", "none, virtual or host")
	fs.StringVar(&f.Size, "size", "", "size of the virtual display in pixels, for example 1280x800")
	fs.StringArrayVar(&f.env, "env", nil, "pass NAME from outside, or set NAME=VALUE")
	fs.StringVar(&f.home, "home", "", "what of home is visible: toolchains, full (read-only) or none")
	fs.StringVar(&f.nested, "nested", "", "sandboxes inside: none, userns (browsers) or full (bubblewrap)")
	fs.StringArrayVar(&f.device, "device", nil, "make a device node visible, for example /dev/kvm")
	fs.StringVar(&f.agentHome, "agent-home", "", "a known agent's own places: private (default), a copy for each project, or shared, with its transcripts and history yours")
	fs.StringVar(&f.timeout, "timeout", "", "end the command after this time, with status 124 (30s, 5m)")
	fs.StringVar(&f.memory, "memory", "", "limit memory, for example 2GiB")
	fs.Int64Var(&f.pids, "pids", 0, "limit the number of processes")
	fs.StringVar(&f.history, "history", "", "on (default): every change of the project is decided and recorded; off: plain writable "+
		"mounts; draft: as --review")
	fs.StringVar(&f.secrets, "secrets", "", "masked (default): secrets of the project are hidden by mounts; strict: each open for reading is looked at as well")
	fs.StringVar(&f.backend, "backend", "", "process (default): behind walls; container: behind walls, with the system of --image; "+
		"gvisor: under another kernel; vm, lima: in a virtual machine; none: as you, WITHOUT WALLS, with the project's history")
	fs.StringVar(&f.isolation, "isolation", "",
		"the least that the backend has to give: process, kernel (a kernel of its own) or vm (a virtual machine)")
	fs.StringVar(&f.Image, "image", "", "the container's image, for --backend container")
	fs.StringVar(&f.Engine, "engine", "", "what makes the walls: auto (default), namespaces, bubblewrap or landlock")
	for _, flag := range f.VM.Flags() {
		fs.Var(flag, flag.Name, flag.Usage)
	}
	fs.BoolVar(&f.JSON, "json", false, "print the result as JSON on standard error when the command has ended")
	fs.StringVar(&f.Permissions, "permissions", "", "ceiling file: the most that may be granted")
	groupFlags(fs)
}

// flagGroups are the headings of help, and the flags under each.
var flagGroups = map[string]string{
	cmdline.FlagsCommon:  "read write deny review network allow-host publish env timeout no-prompts json",
	cmdline.FlagsFiles:   "protect home secrets history device",
	cmdline.FlagsNetwork: "deny-host on-unknown host-port unix-socket",
	cmdline.FlagsLimits:  "memory pids display size",
	cmdline.FlagsMachine: "accel memory-mb cpus qemu-binary kernel-path initrd-path",
	cmdline.FlagsPolicy:  "preset permissions persona agent-home backend isolation image engine nested",
}

// groupFlags puts those that a command has under their headings.
func groupFlags(fs *pflag.FlagSet) {
	for title, names := range flagGroups {
		for _, name := range strings.Fields(names) {
			if f := fs.Lookup(name); f != nil {
				f.Annotations = map[string][]string{cmdline.FlagGroup: {title}}
			}
		}
	}
}

// RegisterNoPrompts is for the commands that may start an agent.
func (f *Flags) RegisterNoPrompts(fs *pflag.FlagSet) {
	fs.BoolVar(&f.NoPrompts, "no-prompts", false, "start the agent with its own permission questions off, this time; agents.prompts_off in your configuration: always")
	groupFlags(fs)
}

// RegisterReview is for the commands that start a run.
func (f *Flags) RegisterReview(fs *pflag.FlagSet) {
	fs.BoolVar(&f.review, "review", false, "change a layer over the project and not the project: carrel review shows it, applies it "+
		"or forgets it")
	groupFlags(fs)
}

// Request gives the command line's layer. Values are checked by the decision,
// which knows the source of each; sizes and times are checked here.
func (f *Flags) Request(cmd *cobra.Command) (policy.Request, error) {
	var r policy.Request
	f.Files(&r)
	r.Persona = choice[policy.Persona](f.Persona, "--persona")
	r.Backend = choice[policy.Backend](f.backend, "--backend")
	r.Isolation = choice[policy.Isolation](f.isolation, "--isolation")
	r.Network = choice[policy.NetworkMode](f.network, "--network")
	r.Display = choice[policy.DisplayMode](f.display, "--display")
	r.Home = choice[policy.HomeMode](f.home, "--home")
	r.Nested = choice[policy.Nesting](f.nested, "--nested")
	r.History = choice[policy.HistoryMode](f.history, "--history")
	if f.review {
		if r.History != nil && r.History.V != policy.HistoryDraft {
			return r, fmt.Errorf("--review and --history %s are two ways; take one", f.history)
		}
		r.History = &policy.Value[policy.HistoryMode]{V: policy.HistoryDraft, Source: flagSource("--review")}
	}
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

// Files adds what the flags say about files and directories.
func (f *Flags) Files(r *policy.Request) {
	add := func(places []string, flag string, access policy.Access, glob bool) {
		for _, p := range places {
			r.Files = append(r.Files, policy.FileRequest{Place: p, Glob: glob, Access: access, Source: flagSource(flag)})
		}
	}
	add(f.read, "--read", policy.Read, false)
	add(f.Write, "--write", policy.Write, false)
	add(f.deny, "--deny", policy.Deny, true)
	add(f.protect, "--protect", policy.Read, true)
}

func (f *Flags) limits(cmd *cobra.Command, r *policy.Request) error {
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
