package historycmd

import (
	"fmt"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/histories"
	"carrel/internal/op/historyop"
	"carrel/internal/projecthistory"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func duCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, exact bool
	cmd := &cobra.Command{
		Use:   "du [flags]",
		Short: "Show how much the histories of all projects take",
		Long: `Shows for each project how many steps of its history are kept, and how much of the disk
they take. Shows when the project was used last, by a run with history or an undo.
"gone" is a project whose directory is not there any more. The last line has the sum
and the limits.

The numbers are estimates that runs keep up to date, except with --exact. Where all
histories together reach history.max_total_bytes, the oldest steps of the projects
at the end of the list go first. ` + "`carrel history du`" + ` shows each step of one project.
` + cmdline.PlainStatus,
		Example: `  carrel du
  carrel du --exact
  carrel du --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printTotals(env, asJSON, exact) },
	}
	cmd.Flags().BoolVar(&exact, "exact", false, "look at every file that is kept, and correct the estimates")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// duJSON is what the histories of all projects take.
type duJSON struct {
	Projects []projectUsageJSON `json:"projects"`
	Total    int64              `json:"total_disk_bytes"`
	Limits   totalLimitsJSON    `json:"limits"`
}

type totalLimitsJSON struct {
	MaxBytes      int64 `json:"max_bytes"`
	MaxTotalBytes int64 `json:"max_total_bytes"`
}

type projectUsageJSON struct {
	ID       string    `json:"id"`
	Project  api.Text  `json:"project,omitempty"`
	Gone     bool      `json:"gone"`
	Dir      api.Text  `json:"dir"`
	Steps    int64     `json:"steps"`
	Disk     int64     `json:"disk_bytes"`
	Exact    bool      `json:"exact"`
	LastUsed time.Time `json:"last_used"`
	Counted  bool      `json:"counted"`
}

func printTotals(env *cmdenv.Env, asJSON, exact bool) error {
	req, err := historyop.Request(env.Caller(), "")
	if err != nil {
		return err
	}
	u, err := projecthistory.UsageOfAll(req, exact)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, duOf(u))
	}
	t := &show.Table{}
	t.Row("STEPS", "KEPT", "LAST USED", "STATE", "PROJECT")
	for _, p := range u.Projects {
		t.Row(strconv.FormatInt(p.Steps, 10), show.Size(p.Bytes), p.Used.Local().Format(show.Stamp), projectState(p), projectName(p))
	}
	if len(u.Projects) > 0 {
		t.Print(env.Out, "")
	}
	about := "about "
	if exact {
		about = ""
	}
	fmt.Fprintf(env.Out, "%s%s on disk in all; %s\n", about, show.Size(u.Total), limitsText(u))
	return nil
}

func duOf(u *histories.Usage) duJSON {
	j := duJSON{Projects: []projectUsageJSON{}, Total: u.Total, Limits: totalLimitsJSON{u.Each, u.Altogether}}
	for _, p := range u.Projects {
		j.Projects = append(j.Projects, projectUsageJSON{
			ID: p.ID, Project: api.Text(p.Path), Gone: p.Gone, Dir: api.Text(p.Dir),
			Steps: p.Steps, Disk: p.Bytes, Exact: p.Exact, LastUsed: p.Used, Counted: p.Counted,
		})
	}
	return j
}

// projectState says what is unusual about a project's history.
func projectState(p histories.Project) string {
	switch {
	case !p.Counted:
		return "elsewhere"
	case p.Gone:
		return "gone"
	}
	return show.Dash("")
}

// projectName is the path of a project where it is known, and the place of a history that
// is not where histories are kept now.
func projectName(p histories.Project) string {
	name := show.QuoteIf(p.Path)
	if p.Path == "" {
		name = "unknown, kept in " + show.QuoteIf(p.Dir)
	} else if !p.Counted {
		name += ", kept in " + show.QuoteIf(p.Dir)
	}
	return name
}

func limitsText(u *histories.Usage) string {
	words := func(n int64) string {
		if n == 0 {
			return "what they need"
		}
		return show.Size(n)
	}
	return fmt.Sprintf("all projects together may take %s, one of them %s", words(u.Altogether), words(u.Each))
}
