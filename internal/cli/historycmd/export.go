package historycmd

import (
	"errors"
	"fmt"
	"io"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/history"
	"carrel/internal/op/historyop"
	"carrel/internal/outfile"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

type exportFlags struct {
	historyFlags
	output string
}

func exportCommand(env *cmdenv.Env) *cobra.Command {
	f := &exportFlags{}
	cmd := &cobra.Command{
		Use:   "export STEP [flags]",
		Short: "Write what a step found and what it left as a tar",
		Long: `Writes a tar with every path that a step touched: before/PATH as the step found
it, after/PATH as it left it, with modes, times, links and attributes. PATH starts
at the project; of other places it is the whole path, below outside/. What is no
longer kept is listed. A file that is there already is replaced, by a whole one.

Exit status:
  0    done, and nothing is missing
  1    done, but for what is listed
  125  carrel refused or went wrong`,
		Example: `  carrel history export 12 -o step-12.tar
  carrel history export 12 | tar -t
  carrel history export 12 | tar -x --xattrs -C /tmp/step-12`,
		Args: cmdline.OneArg("a step"),

		ValidArgsFunction: cmdline.FirstArg(completeStep(env, &f.historyFlags)),
		RunE:              func(_ *cobra.Command, args []string) error { return exportStep(env, f, args[0]) },
	}
	cmd.Flags().StringVar(&f.project, "project", "", "the project that holds this directory")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "the file to write; standard output without it")
	cmdline.NotEmpty(cmd, "project", "output")
	return cmd
}

func exportStep(env *cmdenv.Env, f *exportFlags, name string) error {
	c := env.Caller()
	h, err := historyop.Open(c, f.of())
	if err != nil {
		return err
	}
	defer h.Close()
	s, err := historyop.Numbered(h, name)
	if err != nil {
		return err
	}
	historyop.SoFar(c, h, s)
	var missing []history.Unexported
	left := 0
	err = writeTo(env, f.output, func(to io.Writer) error {
		missing, left, err = h.Export(s.Number, to)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range missing {
		side := "after"
		if m.Before {
			side = "before"
		}
		fmt.Fprintf(env.Err, "carrel: not in the tar: %s/%s: %s\n", side, show.OneLine(stepview.Path(h.Project, m.Path)), show.OneLine(m.Why))
		env.Status = 1
	}
	if l := api.NewLeftOut(left); l != nil {
		fmt.Fprintf(env.Err, "carrel: not in the tar: %s: %s\n", show.Count(l.Paths, "path", "paths"), l.Why)
		env.Status = 1
	}
	return nil
}

var errTerminal = errors.New("a tar is nothing for a terminal\nhint: -o FILE writes it to a file, `| tar -t` lists it")

// writeTo writes to a file that is there as a whole or not at all, or to standard
// output where there is no name.
func writeTo(env *cmdenv.Env, name string, write func(io.Writer) error) error {
	if name == "" {
		if show.IsTerminal(env.Out) {
			return errTerminal
		}
		return write(env.Out)
	}
	return outfile.Whole(name, errTerminal, write)
}
