package containercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/container"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func pullCommand(env *cmdenv.Env) *cobra.Command {
	var engine string
	cmd := &cobra.Command{
		Use:   "pull [flags] [IMAGE]",
		Short: "Fetch an image from its registry",
		Long: `Fetches IMAGE, or the one of container.image, from its registry. A run never does that:
it uses what is there. Such an image has no label of Carrel's, so prune leaves it.
` + status,
		Example: "  carrel container pull docker.io/library/debian:bookworm-slim\n  carrel container pull",
		Args:    cmdline.AtMostOne("IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := mayChange(env, "container pull"); err != nil {
				return err
			}
			return withEngine(cmd, env, engine, func(ctx context.Context, a *at) error {
				name := ""
				switch set := a.settings.ContainerImage; {
				case len(args) == 1:
					name = args[0]
				case set != nil:
					name = set.V
				default:
					return errors.New("no image is named\nhint: write it, or set `container.image`")
				}
				if err := checkName(name, false); err != nil {
					return err
				}
				if strings.HasPrefix(name, "localhost/") {
					return fmt.Errorf("%s is on this machine alone\nhint: carrel container build makes those of Carrel", name)
				}
				if err := a.engine.Pull(ctx, name, a.progress); err != nil {
					return err
				}
				return a.lookAndTell(ctx, name, "", false)
			})
		},
	}
	engineFlag(cmd, &engine)
	return cmd
}

func (a *at) lookAndTell(ctx context.Context, image, name string, asJSON bool) error {
	agent, err := agentNamed(name)
	if err != nil {
		return err
	}
	a.progress.flush()
	f, err := a.look(ctx, image, agent)
	if err != nil {
		return err
	}
	return a.tell(f, asJSON)
}

func importCommand(env *cmdenv.Env) *cobra.Command {
	var engine, agent string
	cmd := &cobra.Command{
		Use:   "import [flags] PATH [NAME]",
		Short: "Make an image of a root directory or of a tar archive of one",
		Long: `Makes an image of PATH: a directory with a system in it, as debootstrap makes one, or a
tar archive of it, as it is or compressed. - reads the archive from standard input. NAME
is localhost/carrel-sandbox: with the name of PATH where it is not said.

Of a directory, everything belongs to root in the image; links are not followed; devices,
sockets and FIFOs are left out.
` + status,
		Example: `  carrel container import rootfs.tar.gz
  carrel container import ./rootfs localhost/debian:mine
  mmdebstrap bookworm - | carrel container import - localhost/debian:12`,
		Args: cobra.MatchAll(cobra.MinimumNArgs(1), cmdline.MaximumArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := mayChange(env, "container import"); err != nil {
				return err
			}
			name := importName(args[0])
			if len(args) == 2 {
				name = args[1]
			}
			if err := checkName(name, true); err != nil {
				return err
			}
			if _, err := agentNamed(agent); err != nil {
				return err
			}
			return withEngine(cmd, env, engine, func(ctx context.Context, a *at) error {
				if err := a.load(ctx, args[0], name, agent); err != nil {
					return err
				}
				return a.lookAndTell(ctx, name, agent, false)
			})
		},
	}
	engineFlag(cmd, &engine)
	cmd.Flags().StringVar(&agent, "agent", "", "the agent that it is for")
	return cmd
}

var notInTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^a-z0-9_.-]+`) })

// importName is the name of an image that was given none.
func importName(path string) string {
	base := strings.ToLower(filepath.Base(path))
	for _, end := range []string{".gz", ".xz", ".zst", ".bz2", ".tgz", ".tar"} {
		base = strings.TrimSuffix(base, end)
	}
	if base = strings.Trim(notInTag().ReplaceAllString(base, "-"), "-."); base == "" {
		base = "imported"
	}
	return container.ImageOf(show.Shorten(base, 100))
}

// load gives the engine the archive, or the directory as one.
func (a *at) load(ctx context.Context, path, name, agent string) error {
	if path == "-" {
		return a.engine.Import(ctx, a.env.In, name, agent, a.progress)
	}
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return fmt.Errorf("%w", cmdline.Cause(err))
	case st.Mode().IsRegular():
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return a.engine.Import(ctx, f, name, agent, a.progress)
	case !st.IsDir():
		return fmt.Errorf("%q is neither a directory nor a file", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	r, w := io.Pipe()
	type end struct {
		skipped container.Skipped
		err     error
	}
	done := make(chan end, 1)
	go func() {
		skipped, err := container.Archive(root, w)
		w.CloseWithError(err)
		done <- end{skipped, err}
	}()
	err = a.engine.Import(ctx, r, name, agent, a.progress)
	r.Close()
	archived := <-done
	if archived.err != nil && !errors.Is(archived.err, io.ErrClosedPipe) {
		return fmt.Errorf("reading %q: %w", path, archived.err)
	}
	if n := int(archived.skipped); n > 0 && err == nil {
		fmt.Fprintf(a.env.Err, "carrel: %s left out, of devices, sockets and FIFOs\n", show.Count(n, "file was", "files were"))
	}
	return err
}

func checkCommand(env *cmdenv.Env) *cobra.Command {
	var engine, agent string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [flags] IMAGE",
		Short: "Look for agents and tools in an image",
		Long: `Starts the image's own shell, without network and rights, and asks it for the usual
tools and all known agents. With --agent it fails where that one is missing.
` + status,
		Example: "  carrel container check localhost/carrel-sandbox:claude\n  carrel container check --agent codex --json localhost/mine:1",
		Args:    cmdline.OneArg("IMAGE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := underNoCeiling(env, "container check"); err != nil {
				return err
			}
			if err := checkName(args[0], false); err != nil {
				return err
			}
			return withEngine(cmd, env, engine, func(ctx context.Context, a *at) error {
				return a.lookAndTell(ctx, args[0], agent, asJSON)
			})
		},
	}
	engineFlag(cmd, &engine)
	cmd.Flags().StringVar(&agent, "agent", "", "the agent that has to be there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// imageJSON is one image of a list.
type imageJSON struct {
	ID      string    `json:"id"`
	Names   []string  `json:"names"`
	Agent   string    `json:"agent,omitempty"`
	Created time.Time `json:"created"`
	Size    int64     `json:"size_bytes"`
	Arch    string    `json:"architecture"`
	Base    string    `json:"base,omitempty"`
}

func listCommand(env *cmdenv.Env) *cobra.Command {
	var engine string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list [flags]",
		Short:   "List the images that Carrel made",
		Long:    "Lists the images that carry Carrel's label and the name that it gave them, the newest first.\n" + status,
		Example: "  carrel container list\n  carrel container list --json",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := underNoCeiling(env, "container list"); err != nil {
				return err
			}
			return withEngine(cmd, env, engine, func(ctx context.Context, a *at) error { return a.list(ctx, asJSON) })
		},
	}
	engineFlag(cmd, &engine)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func (a *at) list(ctx context.Context, asJSON bool) error {
	list, err := a.engine.Images(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		out := []imageJSON{}
		for _, i := range list {
			out = append(out, imageJSON{i.ID, show.NotNil(i.Names), i.Agent, i.Created, i.Size, i.Arch, i.Base})
		}
		return show.JSON(a.env.Out, out)
	}
	if len(list) == 0 {
		fmt.Fprintln(a.env.Out, "there is no image of Carrel's; carrel container build makes one")
		return nil
	}
	t := &show.Table{}
	t.Row("IMAGE", "ID", "AGENT", "SIZE", "CREATED")
	for _, i := range list {
		t.Row(show.Dash(strings.Join(i.Names, " ")), i.ID[:12], show.Dash(i.Agent), show.Size(i.Size), i.Created.Local().Format(show.Stamp))
	}
	t.Print(a.env.Out, "")
	return nil
}

// prunedJSON is one of those that were removed, or were not.
type prunedJSON struct {
	Kind  string   `json:"kind"` // image, container
	ID    string   `json:"id"`
	Names []string `json:"names"`
	Size  int64    `json:"size_bytes"`
	Kept  string   `json:"kept,omitempty"` // why it is still there
}

func pruneCommand(env *cmdenv.Env) *cobra.Command {
	var engine string
	var all, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "prune [flags]",
		Short: "Remove images and ended containers that Carrel made and nothing uses",
		Long: `Removes older builds of Carrel's images, and containers of Carrel's that have ended and
were left behind. --all removes all its images. What another image or a container uses
stays, and is listed with the reason.

It goes by label and id: an image that you have built from one of Carrel's, or given a
name of yours, stays.
` + status,
		Example: "  carrel container prune --dry-run\n  carrel container prune --all",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mayChange(env, "container prune"); err != nil {
				return err
			}
			return withEngine(cmd, env, engine, func(ctx context.Context, a *at) error { return a.prune(ctx, all, dryRun, asJSON) })
		},
	}
	engineFlag(cmd, &engine)
	cmd.Flags().BoolVar(&all, "all", false, "all images of Carrel's")
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "d", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func (a *at) prune(ctx context.Context, all, dry, asJSON bool) error {
	containers, err := a.engine.Leftovers(ctx, dry)
	if err != nil {
		return err
	}
	images, err := a.engine.Prune(ctx, all, dry)
	if err != nil {
		return err
	}
	out := []prunedJSON{}
	for _, p := range containers {
		out = append(out, prunedJSON{"container", p.ID, []string{}, 0, p.Kept})
	}
	for _, p := range images {
		out = append(out, prunedJSON{"image", p.ID, show.NotNil(p.Names), p.Size, p.Kept})
	}
	if asJSON {
		return show.JSON(a.env.Out, out)
	}
	if len(out) == 0 {
		fmt.Fprintln(a.env.Out, "there is nothing to remove")
	}
	for _, p := range out {
		word, why := "removed", ""
		switch {
		case p.Kept != "":
			word, why = "kept", ": "+p.Kept
		case dry:
			word = "would remove"
		}
		fmt.Fprintf(a.env.Out, "%s %s %s %s%s\n", word, p.Kind, p.ID[:12], show.OneLine(strings.Join(p.Names, " ")), show.OneLine(why))
	}
	return nil
}
