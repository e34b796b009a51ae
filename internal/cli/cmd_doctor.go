package cli

import (
	"fmt"
	"io"
	"strings"

	"carrel/internal/doctor"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	var asJSON, apparmor bool
	cmd := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Try what this machine can hold, and say what to do about the rest",
		Long: `Tries each thing that walls are made of, as this user, and says what works, what
does not, what follows from it, and what to type. Nothing is changed.

--print-apparmor prints the profile that lets this program make user namespaces
where AppArmor keeps them from programs without one (Ubuntu 23.10 and later).

Exit status:
  0    carrel run can work here
  125  it cannot`,
		Example: `  carrel doctor
  carrel doctor --json
  carrel doctor --print-apparmor | sudo tee /etc/apparmor.d/carrel`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			m := doctor.This(a.getenv, workspace.StatePath(a.getenv))
			if apparmor {
				return a.printProfile(m.Self)
			}
			return a.examine(doctor.Examine(m), asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.Flags().BoolVar(&apparmor, "print-apparmor", false, "print an AppArmor profile for this program and do nothing else")
	oneOf(cmd, "json", "print-apparmor")
	return explainFlagErrors(cmd)
}

func (a *app) printProfile(self string) error {
	profile, err := doctor.Profile(self)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, profile)
	return err
}

func (a *app) examine(r doctor.Report, asJSON bool) error {
	if asJSON {
		if err := printJSON(a.out, r); err != nil {
			return err
		}
	} else {
		printReport(a.out, r)
	}
	if !r.Ready {
		return fmt.Errorf("carrel run cannot work here: %s", strings.Join(r.Lacking(), ", "))
	}
	return nil
}

// printReport lists the checks, and below each that is not ok what follows
// from it and what to type.
func printReport(w io.Writer, r doctor.Report) {
	t := &table{}
	for _, c := range r.Checks {
		t.row(string(c.Status), c.Name, c.Found)
	}
	var lines strings.Builder
	t.print(&lines, "")
	i := 0
	for line := range strings.Lines(lines.String()) {
		fmt.Fprint(w, line)
		if c := r.Checks[i]; c.Status != doctor.OK {
			printAdvice(w, c)
		}
		i++
	}
	if r.Ready {
		fmt.Fprintln(w, "\ncarrel run can work here")
	}
}

func printAdvice(w io.Writer, c doctor.Check) {
	if c.Means != "" {
		fmt.Fprintln(w, indented("           ", "so: "+c.Means))
	}
	for i, line := range strings.Split(c.Fix, "\n") {
		switch {
		case line == "":
		case i == 0:
			fmt.Fprintln(w, indented("           ", "do: "+line))
		default:
			fmt.Fprintln(w, indented("               ", line))
		}
	}
}
