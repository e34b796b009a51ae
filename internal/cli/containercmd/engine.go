package containercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/container"
	"carrel/internal/show"
	"carrel/internal/statedir"

	"github.com/spf13/cobra"
)

// at is what the commands work with.
type at struct {
	env      *cmdenv.Env
	engine   *container.Engine
	settings config.Settings
	progress *lines
}

// engineFlag adds --engine.
func engineFlag(cmd *cobra.Command, word *string) {
	cmd.Flags().StringVar(word, "engine", "", "auto, podman or docker; container.engine where it is not said")
	_ = cmd.RegisterFlagCompletionFunc("engine", cobra.FixedCompletions(config.ContainerEngines,
		cobra.ShellCompDirectiveNoFileComp)) // it is there
}

// open finds the engine and has it say what it is.
func open(ctx context.Context, env *cmdenv.Env, word string) (*at, error) {
	loaded, err := config.Load(env.ConfigOptions())
	if err != nil {
		return nil, err
	}
	if set := loaded.Settings.ContainerEngine; word == "" && set != nil {
		word = set.V
	}
	if word != "" && word != container.Auto && word != container.Podman && word != container.Docker {
		return nil, fmt.Errorf("--engine %q is none of %s", word, strings.Join(container.Engines, ", "))
	}
	a := &at{env: env, settings: loaded.Settings, progress: &lines{to: env.Err}}
	if a.engine, err = container.Find(container.Search{Engine: word, Getenv: env.Getenv}); err != nil {
		return nil, err
	}
	facts, err := a.engine.Examine(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range facts.Warnings() {
		fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(w))
	}
	return a, nil
}

// mayChange refuses a process that an agent has started, or one that is held to a ceiling.
func mayChange(env *cmdenv.Env, op string) error {
	if why := env.Caller().ByAgent(); why != nil {
		why.Operation, why.Message = op, "only a person or their script may change images: "+why.Subject
		why.Hint = "type `carrel " + op + "` yourself, in a terminal of your own outside the workspace"
		return why
	}
	return underNoCeiling(env, op)
}

// underNoCeiling refuses a session that is held to one: it is not told of the user's images.
func underNoCeiling(env *cmdenv.Env, op string) error {
	u, err := env.Caller().Session()
	if err != nil || !u.Session.Restricted() {
		return err
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: op, Rule: "ceiling", Source: u.Hash(),
		Message: "ceiling: " + op + " is about images of the user, and the ceiling that holds here is not",
		Hint:    "run it without a ceiling"}
}

// interruptible is a context that ends with ^C and TERM, so that an engine takes away what it
// has begun.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// place is where builds have their directories.
func place(env *cmdenv.Env) (string, error) {
	state := statedir.Path(env.Getenv)
	if state == "" {
		return "", statedir.ErrNone
	}
	return filepath.Join(state, "images"), nil
}

// agentNamed checks the name of an agent, "" for none.
func agentNamed(name string) (agents.Agent, error) {
	if name == "" {
		return agents.Agent{}, nil
	}
	a, ok := agents.ByCommand(name)
	if !ok {
		return a, fmt.Errorf("no agent is called %q\nhint: there are Dockerfiles for %s; --file takes one of your own",
			name, strings.Join(container.Agents(), ", "))
	}
	return a, nil
}

// checkName refuses what is no name of an image, and with mine also one that a registry may have.
func checkName(name string, mine bool) error {
	if why := config.BadImage(name); why != "" {
		return fmt.Errorf("%q: %s", name, why)
	}
	if mine && !strings.HasPrefix(name, "localhost/") {
		return fmt.Errorf("%q may be the name of a registry's image\nhint: write localhost/%s", name, name)
	}
	return nil
}

// tools are looked for in every image, beside the agent.
var tools = []string{"bash", "git", "node", "python3", "rg", "devbox", "nix", "carrel"}

// found is what an image has of what commands need.
type found struct {
	Image   string            `json:"image"`
	ID      string            `json:"id"`
	Arch    string            `json:"architecture"`
	Agent   string            `json:"agent,omitempty"`
	Agents  []string          `json:"agents"` // those that it has
	Program map[string]string `json:"programs"`
	Missing []string          `json:"missing"`
}

// look starts the image's shell to see what is in it.
func (a *at) look(ctx context.Context, image string, agent agents.Agent) (*found, error) {
	about, err := a.engine.Inspect(ctx, image)
	if err != nil {
		return nil, err
	}
	names := append([]string{}, tools...)
	for _, known := range agents.Known() {
		names = append(names, known.Executables...)
	}
	have, err := a.engine.Probe(ctx, about.ID, names)
	if err != nil {
		return nil, err
	}
	f := &found{Image: image, ID: about.ID, Arch: about.Arch, Agent: agent.Name, Agents: []string{}, Program: have, Missing: []string{}}
	for _, known := range agents.Known() {
		has := false
		for _, e := range known.Executables {
			has = has || have[e] != ""
		}
		if has {
			f.Agents = append(f.Agents, known.Name)
		}
		if !has && known.Name == agent.Name {
			f.Missing = append(f.Missing, agent.Name)
		}
	}
	for _, name := range []string{"bash", "git"} {
		if have[name] == "" {
			f.Missing = append(f.Missing, name)
		}
	}
	return f, nil
}

// tell says what was found, and is an error where the agent is missing.
func (a *at) tell(f *found, asJSON bool) error {
	if asJSON {
		if err := show.JSON(a.env.Out, f); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.env.Out, "%s is %s, for %s\n", show.OneLine(f.Image), f.ID[:12], f.Arch)
		for _, name := range append(append([]string{}, f.Agents...), tools...) {
			if at := f.Program[name]; at != "" {
				fmt.Fprintf(a.env.Out, "  %s: %s\n", name, show.OneLine(at))
			}
		}
		for _, name := range f.Missing {
			fmt.Fprintf(a.env.Out, "  %s: not there\n", name)
		}
	}
	if f.Agent != "" && len(f.Missing) > 0 && f.Missing[0] == f.Agent {
		return fmt.Errorf("the image %s has no %s in its PATH\n"+
			"hint: install it in your Dockerfile, or build the one of `carrel container init-dockerfile %s`",
			f.Image, f.Agent, f.Agent)
	}
	return nil
}

// stopped says that a command was ended by the person, and not by the engine.
func stopped(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return errors.New("stopped; the engine keeps the layers that were done")
	}
	return err
}

// withEngine runs a command with the engine found and ^C understood.
func withEngine(cmd *cobra.Command, env *cmdenv.Env, word string, do func(context.Context, *at) error) error {
	ctx, cancel := interruptible(cmd)
	defer cancel()
	a, err := open(ctx, env, word)
	if err == nil {
		err = do(ctx, a)
		a.progress.flush()
	}
	return stopped(ctx, err)
}

// status ends the help of each command.
const status = cmdline.PlainStatus
