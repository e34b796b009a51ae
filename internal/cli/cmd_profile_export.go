package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"carrel/internal/profile"

	"github.com/spf13/cobra"
)

// exportedJSON is what profile export --json prints; without an output the
// profile itself is in it.
type exportedJSON struct {
	Name     string `json:"name"`
	Output   text   `json:"output,omitempty"`
	Replaced bool   `json:"replaced"`
	Yaml     *text  `json:"yaml,omitempty"`
}

func (a *app) profileExportCommand() *cobra.Command {
	var output string
	var replace, asJSON bool
	cmd := &cobra.Command{
		Use:   "export [flags] NAME",
		Short: "Print a profile, or write it into a file",
		Long: `Prints a profile as it stands, with the values of its variables, or writes it into
a file that only you can read; a directory gets NAME.yaml. A file that exists is
replaced with --replace only.
` + plainStatusHelp,
		Example: `  carrel profile export dev >dev.yaml
  carrel profile export dev --output ~/backup/
  carrel profile export dev --output dev.yaml --replace`,
		Args:              oneArg("the name of a profile"),
		ValidArgsFunction: firstArg(a.completeProfile),
		RunE: func(_ *cobra.Command, args []string) error {
			if replace && output == "" {
				return errors.New("--replace says what becomes of a file that is there, and no --output is given")
			}
			return a.explainRefusal(asJSON, a.exportProfile(args[0], output, replace, asJSON))
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write into this file, or into NAME.yaml in this directory")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a file that is there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	notEmpty(cmd, "output")
	return cmd
}

func (a *app) exportProfile(name, output string, replace, asJSON bool) error {
	data, err := profile.Text(a.profileDir(), name)
	if err != nil {
		return noProfile(err)
	}
	if output == "" {
		if asJSON {
			yaml := text(data)
			return printJSON(a.out, exportedJSON{Name: name, Yaml: &yaml})
		}
		_, err := a.out.Write(data)
		return err
	}
	if st, err := os.Stat(output); err == nil && st.IsDir() {
		output = filepath.Join(output, name+".yaml")
	}
	replaced, err := writeExport(output, data, replace)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(a.out, exportedJSON{Name: name, Output: text(output), Replaced: replaced})
	}
	fmt.Fprintf(a.out, "profile %s is in %s\n", name, oneLine(quoteIf(output)))
	return nil
}

// writeExport makes a new file. One that is there is renamed over, so that what
// it was a link to, or had open, stays what it is.
func writeExport(output string, data []byte, replace bool) (replaced bool, err error) {
	st, err := os.Lstat(output)
	at := output
	switch {
	case err == nil && !replace:
		return false, fmt.Errorf("%q exists\nhint: --replace takes its place", output)
	case err == nil && st.IsDir():
		return false, fmt.Errorf("%q is a directory", output)
	case err == nil:
		replaced, at = true, filepath.Join(filepath.Dir(output), fmt.Sprintf(".%s.%d", filepath.Base(output), os.Getpid()))
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("looking at %q: %w", output, pathError(err))
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false, fmt.Errorf("making %q: %w", at, pathError(err))
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil && replaced {
		err = os.Rename(at, output)
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("writing %q: %w", output, err), os.Remove(at))
	}
	return replaced, nil
}
