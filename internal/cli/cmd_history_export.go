package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"carrel/internal/history"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type exportFlags struct {
	historyFlags
	output string
}

func (a *app) exportCommand() *cobra.Command {
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
		Args: oneArg("a step"),
		RunE: func(_ *cobra.Command, args []string) error { return a.export(f, args[0]) },
	}
	cmd.Flags().StringVar(&f.project, "project", "", "the project that holds this directory")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "the file to write; standard output without it")
	notEmpty(cmd, "project", "output")
	return explainFlagErrors(cmd)
}

func (a *app) export(f *exportFlags, name string) error {
	h, s, err := a.openStep(f.project, name)
	if err != nil {
		return err
	}
	defer h.Close()
	var missing []history.Unexported
	err = a.writeTo(f.output, func(to io.Writer) error {
		missing, err = h.Export(s.Number, to)
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
		fmt.Fprintf(a.err, "carrel: not in the tar: %s/%s: %s\n", side, oneLine(shown(h, m.Path)), oneLine(m.Why))
		a.status = 1
	}
	return nil
}

var errTerminal = errors.New("a tar is nothing for a terminal\nhint: -o FILE writes it to a file, `| tar -t` lists it")

// writeTo writes to a file that is there as a whole or not at all, or to standard
// output where there is no name.
func (a *app) writeTo(name string, write func(io.Writer) error) error {
	if name == "" {
		if out, ok := a.out.(*os.File); ok && term.IsTerminal(int(out.Fd())) {
			return errTerminal
		}
		return write(a.out)
	}
	// A link to a file is replaced like a file: in a project it may be a command's,
	// and lead to one that is none of the project's.
	if st, err := os.Stat(name); err == nil && !st.Mode().IsRegular() { // a pipe, a device
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("-o %q: %w; want the name of a file", name, pathError(err))
		}
		if st, err := f.Stat(); err != nil || st.Mode().IsRegular() {
			f.Close()
			return errors.Join(fmt.Errorf("-o %q: somebody else has put another file there meanwhile", name), err)
		}
		if term.IsTerminal(int(f.Fd())) {
			f.Close()
			return errTerminal
		}
		return errors.Join(write(f), f.Close())
	}
	temp := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d", filepath.Base(name), os.Getpid()))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("-o %q: making a file there: %w", name, pathError(err))
	}
	err = errors.Join(write(f), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		_ = os.Remove(temp)
	}
	return err
}
