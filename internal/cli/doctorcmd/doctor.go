package doctorcmd

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/doctor"
	"carrel/internal/op"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func doctorCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, fresh, apparmor bool
	var path string
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Try what this machine can hold, and say what to do about the rest",
		Long: `Tries each thing that walls are made of, as this user. Says what works, what does
not, what follows from it, and what to do. Lines with $ are commands: run
them in the shell that you start carrel from. doctor keeps its answers, and
changes nothing else.

What worked is not tried again until the machine is booted, or carrel, a mount, a
setting or a filter has changed; what was refused is tried each time. --fresh
tries everything.

Where your configuration names backend lima, or limactl is in PATH, it also says
which parts of that backend are missing here.

--print-apparmor prints the profile that lets a program make user namespaces
where AppArmor keeps them from programs without one (Ubuntu 23.10 and later):
this program, or the one of --path.

Exit status:
  0    carrel run can work here, with walls of its own
  125  it cannot; another engine may hold some policies: carrel explain says which`,
		Example: `  carrel doctor
  carrel doctor --fresh --json
  carrel doctor --print-apparmor --path /usr/local/bin/carrel \
    | sudo tee /etc/apparmor.d/carrel
  sudo apparmor_parser -r /etc/apparmor.d/carrel`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("path") && !apparmor {
				return fmt.Errorf("--path says for which program a profile is\nhint: add --print-apparmor")
			}
			if apparmor {
				return printProfile(env, path)
			}
			r, lacking := op.Examine(env.Caller(), fresh)
			if !asJSON {
				printReport(env.Out, r, env.Paint(env.Out))
			} else if err := show.JSON(env.Out, r); err != nil {
				return err
			}
			return lacking
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "try everything, also what has worked before")
	cmd.Flags().BoolVar(&apparmor, "print-apparmor", false, "print an AppArmor profile for this program and do nothing else")
	cmd.Flags().StringVar(&path, "path", "", "with --print-apparmor: the program that the profile is for")
	cmdline.OneOf(cmd, "json", "print-apparmor")
	cmdline.OneOf(cmd, "fresh", "print-apparmor")
	return cmd
}

// printProfile prints the profile for the program at path, or for this one.
func printProfile(env *cmdenv.Env, path string) error {
	self := doctor.This(env.Getenv, "", "").Self
	if path != "" {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("--path %q is not an absolute path", path)
		}
		self = doctor.Canonical(path)
	}
	profile, err := doctor.Profile(self)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Out, profile)
	return err
}

// printReport lists the checks, and below each that is not ok what follows
// from it and what to do.
func printReport(w io.Writer, r doctor.Report, paint show.Paint) {
	t := &show.Table{}
	for _, c := range r.Checks {
		t.Row(string(c.Status), c.Name, c.Found)
	}
	var lines strings.Builder
	t.Print(&lines, "")
	i := 0
	for line := range strings.Lines(lines.String()) {
		c := r.Checks[i]
		status := string(c.Status)
		colour := paint.Red
		switch c.Status {
		case doctor.OK:
			colour = paint.Green
		case doctor.Weak:
			colour = paint.Yellow
		}
		fmt.Fprint(w, colour(status)+strings.TrimPrefix(line, status))
		if c.Status != doctor.OK {
			printAdvice(w, c)
		}
		i++
	}
	if r.Kept > 0 {
		fmt.Fprintf(w, "\n%d answers are of an earlier time, and nothing has changed since; --fresh asks again\n", r.Kept)
	}
	if !r.Ready {
		return
	}
	how := ""
	for _, id := range []string{"history", "memory"} {
		if c := r.Check(id); c != nil && c.Status != doctor.OK {
			how = ", with --history off"
		}
	}
	fmt.Fprintf(w, "\ncarrel run can work here%s\n", how)
}

func printAdvice(w io.Writer, c doctor.Check) {
	const margin = "           "
	if c.Means != "" {
		fmt.Fprintln(w, show.Indented(margin, "so: "+c.Means))
	}
	if c.Fix != "" {
		fmt.Fprintln(w, show.Indented(margin, "do: "+c.Fix))
	}
	for _, line := range c.Commands {
		fmt.Fprintln(w, margin+"  $ "+show.OneLine(line))
	}
}
