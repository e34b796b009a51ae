package containercmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/container"
	"carrel/internal/safefile"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

type buildFlags struct {
	engine, file, context, name string
	builtin, noCache, offline   bool
}

func buildCommand(env *cmdenv.Env) *cobra.Command {
	f := &buildFlags{}
	cmd := &cobra.Command{
		Use:   "build [flags] [AGENT]",
		Short: "Build the image for an agent",
		Long: `Builds localhost/carrel-sandbox:AGENT from a Dockerfile: that of --file, else
Dockerfile.sandbox in your configuration directory (~/.config/carrel), else the
built-in one. Without AGENT the image is localhost/carrel-sandbox:latest.

What COPY finds is a directory of its own: that of --context, else Dockerfile.sandbox.d
beside your Dockerfile.sandbox, else an empty one. A project is never sent to the engine
unless --context names it.

When it is built, its shell is started without network to see whether the agent and the
usual tools are there.
` + status,
		Example: `  carrel container build claude
  carrel container build --builtin codex
  carrel container build --file Dockerfile --context . --name localhost/mine:1`,
		Args: cmdline.AtMostOne("AGENT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := mayChange(env, "container build"); err != nil {
				return err
			}
			agent := ""
			if len(args) == 1 {
				agent = args[0]
			}
			return withEngine(cmd, env, f.engine, func(ctx context.Context, a *at) error { return a.build(ctx, agent, f) })
		},
	}
	engineFlag(cmd, &f.engine)
	cmd.Flags().StringVar(&f.file, "file", "", "the Dockerfile")
	cmd.Flags().StringVar(&f.context, "context", "", "the directory that COPY and ADD see")
	cmd.Flags().StringVar(&f.name, "name", "", "the image's name, localhost/...")
	cmd.Flags().BoolVar(&f.builtin, "builtin", false, "the built-in Dockerfile, also where you have one of your own")
	cmd.Flags().BoolVar(&f.noCache, "no-cache", false, "build every step anew")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "give the steps no network")
	cmdline.OneOf(cmd, "file", "builtin")
	cmdline.OneOf(cmd, "context", "builtin")
	cmdline.OneOf(cmd, "name", "builtin")
	cmdline.NotEmpty(cmd, "file", "context", "name")
	return cmd
}

func (a *at) build(ctx context.Context, name string, f *buildFlags) error {
	agent, err := agentNamed(name)
	if err != nil {
		return err
	}
	dir, err := place(a.env)
	if err != nil {
		return err
	}
	w, err := container.NewWorkplace(dir)
	if err != nil {
		return err
	}
	defer w.Close()
	like := container.Build{NoCache: f.noCache, Offline: f.offline, Progress: a.progress}
	builds, err := a.builds(w, agent.Name, f, like)
	if err != nil {
		return err
	}
	last := ""
	for _, b := range builds {
		fmt.Fprintf(a.env.Err, "building %s\n", show.OneLine(b.Name))
		if err := a.engine.Build(ctx, b); err != nil {
			return err
		}
		last = b.Name
	}
	a.progress.flush()
	found, err := a.look(ctx, last, agent)
	if err != nil {
		return err
	}
	return a.tell(found, false)
}

// builds says what has to be built, and from which Dockerfile.
func (a *at) builds(w *container.Workplace, agent string, f *buildFlags, like container.Build) ([]container.Build, error) {
	file, context := f.file, f.context
	if own := userFile(a.env, container.UserDockerfile); own != "" && file == "" && !f.builtin {
		switch st, err := os.Stat(own); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case !st.Mode().IsRegular():
			return nil, fmt.Errorf("%s is no regular file", own)
		default:
			file = own
			if st, err := os.Stat(own + ".d"); context == "" && err == nil && st.IsDir() {
				context = own + ".d"
			}
		}
	}
	if file == "" {
		return w.Builtin(agent, like)
	}
	b := like
	b.Agent, b.Context, b.Name = agent, w.Context, container.ImageOf(agent)
	var err error
	if b.File, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	if context != "" {
		if b.Context, err = filepath.Abs(context); err != nil {
			return nil, err
		}
	}
	if f.name != "" {
		b.Name = f.name
	}
	return []container.Build{b}, checkName(b.Name, true)
}

// userFile is a file of the person's configuration directory, "" where there is none. A file of
// that name in the working directory is a project's.
func userFile(env *cmdenv.Env, name string) string {
	file := config.UserFile(env.ConfigOptions())
	if file == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(file), name)
}

func initCommand(env *cmdenv.Env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init-dockerfile [flags] [AGENT]",
		Short: "Write the built-in Dockerfile of an agent where you can change it",
		Long: `Writes Dockerfile.sandbox into your configuration directory (~/.config/carrel): the
built-in one of AGENT, or that of no agent. carrel container build builds it from then on.
` + status,
		Example: "  carrel container init-dockerfile claude\n  carrel container init-dockerfile --force codex",
		Args:    cmdline.AtMostOne("AGENT"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := mayChange(env, "container init-dockerfile"); err != nil {
				return err
			}
			agent := ""
			if len(args) == 1 {
				agent = args[0]
			}
			text, err := container.Dockerfile(agent)
			if err != nil {
				return err
			}
			file := userFile(env, container.UserDockerfile)
			if file == "" {
				return errors.New("there is no place for your configuration: neither XDG_CONFIG_HOME nor HOME is an absolute path")
			}
			if _, err := os.Lstat(file); err == nil && !force {
				return fmt.Errorf("%s is there already\nhint: --force replaces it", file)
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := safefile.Write(file, []byte(text), safefile.Options{}); err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "wrote %s; carrel container build builds it\n", show.OneLine(show.QuoteIf(file)))
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace the one that is there")
	return cmd
}
