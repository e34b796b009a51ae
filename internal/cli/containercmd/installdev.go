package containercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/container"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// programs are what is built of the source tree and put inside.
var programs = []string{"carrel", "carrel-stage", "carrel-file", "carrel-shim"}

// buildTime bounds one build of the programs.
const buildTime = 30 * time.Minute

// guest is something that programs can be put into. Another backend adds its own by a
// list of these.
type guest struct {
	name, arch string
	install    func(ctx context.Context, programs []string) error
}

type installFlags struct {
	engine             string
	skipBuild, release bool
}

func installDevCommand(env *cmdenv.Env) *cobra.Command {
	f := &installFlags{}
	cmd := &cobra.Command{
		Use:   "install-dev [flags]",
		Short: "Put a Carrel that was built just now into images and containers",
		Long: `Builds Carrel of the source tree around the working directory, for the architecture of
each image. Puts it into /usr/local/bin of Carrel's images, by a thin layer under the same
name, and of its running containers that can be written. Go has to be in your PATH.

--skip-build takes what was built the last time. --release builds without debugging data.
` + status,
		Example: "  carrel install-dev\n  carrel install-dev --release\n  carrel install-dev --skip-build",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := mayChange(env, "install-dev"); err != nil {
				return err
			}
			return withEngine(cmd, env, f.engine, func(ctx context.Context, a *at) error { return a.installDev(ctx, f) })
		},
	}
	engineFlag(cmd, &f.engine)
	cmd.Flags().BoolVar(&f.skipBuild, "skip-build", false, "take what was built the last time")
	cmd.Flags().BoolVar(&f.release, "release", false, "build without debugging data")
	cmdline.OneOf(cmd, "skip-build", "release")
	return cmd
}

func (a *at) installDev(ctx context.Context, f *installFlags) error {
	dir, err := place(a.env)
	if err != nil {
		return err
	}
	guests, err := a.guests(ctx, dir)
	if err != nil {
		return err
	}
	if len(guests) == 0 {
		return errors.New("there is no image and no running container of Carrel's\nhint: carrel container build, or import, makes an image")
	}
	built, failed := map[string][]string{}, 0
	for _, g := range guests {
		if built[g.arch] == nil {
			if built[g.arch], err = a.programsFor(ctx, filepath.Join(dir, "dev-"+g.arch), g.arch, f); err != nil {
				return err
			}
		}
		err := g.install(ctx, built[g.arch])
		a.progress.flush()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, container.ErrEnded): // the next start takes the image
		case errors.Is(err, container.ErrReadOnly):
			fmt.Fprintf(a.env.Out, "%s stays as it is: %s\n", show.OneLine(g.name), show.OneLine(err.Error()))
		case err != nil:
			failed++
			fmt.Fprintf(a.env.Err, "carrel: %s stays as it is: %s\n", show.OneLine(g.name), show.OneLine(err.Error()))
		default:
			fmt.Fprintf(a.env.Out, "%s has it, for %s\n", show.OneLine(g.name), g.arch)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%s", show.Count(failed, "place does not have it", "places do not have it"))
	}
	return nil
}

// guests are Carrel's images that have a name, and its containers that run.
func (a *at) guests(ctx context.Context, dir string) ([]guest, error) {
	images, err := a.engine.Images(ctx)
	if err != nil {
		return nil, err
	}
	var list []guest
	for _, i := range images {
		if len(i.Names) == 0 || slices.Contains(i.Names, container.BaseImage) {
			continue
		}
		list = append(list, guest{"image " + i.Names[0], i.Arch, func(ctx context.Context, built []string) error {
			w, err := container.NewWorkplace(dir)
			if err != nil {
				return err
			}
			defer w.Close()
			return a.engine.Overlay(ctx, w, &i, built, a.progress)
		}})
	}
	ids, err := a.engine.Running(ctx)
	for _, id := range ids {
		list = append(list, guest{"container " + id[:12], runtime.GOARCH, func(ctx context.Context, built []string) error {
			return a.engine.CopyIn(ctx, id, built)
		}})
	}
	return list, err
}

// programsFor gives the programs for an architecture, built unless they are to be as they were.
func (a *at) programsFor(ctx context.Context, dir, arch string, f *installFlags) ([]string, error) {
	var list []string
	for _, name := range programs {
		list = append(list, filepath.Join(dir, name))
	}
	if f.skipBuild {
		for _, p := range list {
			if st, err := os.Stat(p); err != nil || !st.Mode().IsRegular() {
				return nil, fmt.Errorf("--skip-build: nothing was built for %s before\nhint: leave --skip-build out once", arch)
			}
		}
		return list, nil
	}
	source, err := sourceTree()
	if err != nil {
		return nil, err
	}
	tool, err := findGo(a.env, source)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	args := []string{"build", "-trimpath", "-o", dir + "/"}
	if f.release {
		args = append(args, "-ldflags=-s -w")
	}
	for _, name := range programs {
		args = append(args, "./cmd/"+name)
	}
	fmt.Fprintf(a.env.Err, "building for %s in %s\n", arch, show.OneLine(show.QuoteIf(source)))
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = source, a.progress, a.progress, 5*time.Second
	cmd.Env = append(slices.Clone(a.env.Environ), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off")
	if err := cmd.Run(); err != nil {
		a.progress.flush()
		return nil, fmt.Errorf("go build for %s: %w", arch, err)
	}
	return list, nil
}

// sourceTree is the directory of our module around the working directory.
func sourceTree() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && (strings.HasPrefix(string(text), "module carrel\n")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("there is no source tree of Carrel around the working directory\n" +
				"hint: change into a clone of it, or use --skip-build")
		}
	}
}

// findGo looks for go in the person's PATH, and not in the source tree.
func findGo(env *cmdenv.Env, source string) (string, error) {
	for _, dir := range append(filepath.SplitList(env.Getenv("PATH")), "/usr/local/go/bin") {
		at := filepath.Join(dir, "go")
		if !filepath.IsAbs(dir) || strings.HasPrefix(at, source+"/") {
			continue
		}
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	return "", errors.New("there is no go in your PATH, which builds Carrel\nhint: install Go, or use --skip-build")
}
