package historycmd

import (
	"fmt"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/history"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

// storeCommands are those about what is kept, below `carrel history`.
func storeCommands(env *cmdenv.Env) []*cobra.Command {
	return []*cobra.Command{verifyCommand(env), exportCommand(env), usageCommand(env), collectCommand(env)}
}

func verifyCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Check everything that the history keeps",
		Long: `Checks every journal and every file that is kept in it: that it is there and what
it should be, and that nothing lies there without a use. Nothing is changed.
Contents have no checksums: a file of the right length passes.

Exit status:
  0    all is well
  1    something is wrong, and listed
  125  carrel refused or went wrong`,
		Example: `  carrel history verify
  carrel history verify --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error { return verifyHistory(env, f) },
	}
	f.register(cmd)
	return cmd
}

// verifiedJSON is what a verification found.
type verifiedJSON struct {
	OK       bool        `json:"ok"`
	Segments int         `json:"segments"`
	Steps    int         `json:"steps"`
	Objects  int         `json:"objects"`
	Running  int         `json:"running"`
	Faults   []faultJSON `json:"faults"`
}

type faultJSON struct {
	Code string   `json:"code"`
	At   api.Text `json:"at"`
	Step uint64   `json:"step,omitempty"`
	Path api.Text `json:"path,omitempty"`
	Why  string   `json:"why"`
}

func verifyHistory(env *cmdenv.Env, f *historyFlags) error {
	if err := op.IsDirectory(f.project); err != nil {
		return err
	}
	req, err := historyop.Request(env.Caller(), f.project)
	if err != nil {
		return err
	}
	h, err := projecthistory.Find(req)
	if err != nil {
		return err
	}
	defer h.Close()
	historyop.TellElsewhere(env.Caller(), h)
	v, err := h.Verify()
	if err != nil {
		return err
	}
	for i := range v.Faults {
		x := &v.Faults[i]
		unnamed, err := h.Unnamed([]string{x.Path})
		if err != nil {
			return err
		}
		if unnamed[x.Path] {
			x.Path = ""
		}
	}
	if len(v.Faults) > 0 {
		env.Status = 1
	}
	if f.json {
		j := verifiedJSON{OK: len(v.Faults) == 0, Segments: v.Segments, Steps: v.Steps, Objects: v.Objects, Running: v.Running, Faults: []faultJSON{}}
		for _, x := range v.Faults {
			j.Faults = append(j.Faults, faultJSON{x.Code, api.Text(x.At), x.Step, api.Text(x.Path), x.Why})
		}
		return show.JSON(env.Out, j)
	}
	for _, x := range v.Faults {
		fmt.Fprintln(env.Out, show.OneLine(faultText(h, x)))
	}
	fmt.Fprintf(env.Out, "%s in %s, %s kept: ", show.Count(v.Steps, "step", "steps"), show.Count(v.Segments, "journal", "journals"), show.Count(v.Objects, "file", "files"))
	if v.Running > 0 {
		fmt.Fprintf(env.Out, "%s going on and not compared, ", show.Count(v.Running, "run is", "runs are"))
	}
	fmt.Fprintln(env.Out, show.Count(len(v.Faults), "fault", "faults"))
	return nil
}

func faultText(h *projecthistory.History, x history.Fault) string {
	line := x.Code + ": " + x.At
	if x.Step != 0 {
		line += fmt.Sprintf(" (step %d", x.Step)
		if x.Path != "" {
			line += ", " + stepview.Path(h.Project, x.Path)
		}
		line += ")"
	}
	return line + ": " + x.Why
}

func usageCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "du [flags]",
		Short: "Show how much each step keeps",
		Long: `Shows for each step how many bytes it alone keeps with its undos, and
how much of the disk is free without it; how much the history takes of what it
may take; and where it is. Files that the project still holds by another name
cost nothing.
` + cmdline.PlainStatus,
		Example: `  carrel history du
  carrel history du --json`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error { return printUsage(env, f) },
	}
	f.register(cmd)
	return cmd
}

// usageJSON says where the bytes of a history are.
type usageJSON struct {
	Dir          api.Text        `json:"dir"`
	OtherDisk    bool            `json:"other_file_system"` // than the project's: nothing can be linked or cloned
	Steps        []stepUsageJSON `json:"steps"`
	Unreferenced stepview.Share  `json:"unreferenced"`
	Journals     int64           `json:"journals_disk_bytes"`
	Total        stepview.Share  `json:"total"`
	Limits       limitsJSON      `json:"limits"`
}

type stepUsageJSON struct {
	Step  uint64   `json:"step"`
	Undos []uint64 `json:"undos,omitempty"`
	stepview.Share
}

type limitsJSON struct {
	MaxBytes     int64 `json:"max_bytes"`
	MaxSteps     int64 `json:"max_steps"`
	MaxStepBytes int64 `json:"max_step_bytes"`
	MaxFileBytes int64 `json:"max_file_bytes"`
}

func printUsage(env *cmdenv.Env, f *historyFlags) error {
	h, err := historyop.Open(env.Caller(), f.of())
	if err != nil {
		return err
	}
	defer h.Close()
	req, err := historyop.Request(env.Caller(), f.project)
	if err != nil {
		return err
	}
	u, err := h.Usage(req)
	if err != nil {
		return err
	}
	j := usageJSON{
		Dir: api.Text(h.Dir), OtherDisk: h.OtherDisk,
		Steps: []stepUsageJSON{}, Unreferenced: stepview.ShareOf(u.Unreferenced), Journals: u.Journals, Total: stepview.ShareOf(u.All),
		Limits: limitsJSON{u.Limits.Bytes, u.Limits.Steps, u.Limits.StepBytes, u.Limits.FileBytes},
	}
	j.Total.Disk = u.Disk()
	t := &show.Table{}
	t.Row("STEP", "BYTES", "ON DISK", "COMMAND")
	for _, s := range u.Steps {
		one := stepUsageJSON{Step: s.Number(), Share: stepview.ShareOf(s.Share)}
		for _, undo := range s.Steps[1:] {
			one.Undos = append(one.Undos, undo.Number)
		}
		j.Steps = append(j.Steps, one)
		t.Row(strconv.FormatUint(one.Step, 10), show.Size(s.Bytes), show.Size(s.Disk), show.Shorten(stepview.CommandOf(stepview.StepOf(h.Log, s.Steps[0])), show.ColumnMax))
	}
	if f.json {
		return show.JSON(env.Out, j)
	}
	if len(j.Steps) > 0 {
		t.Print(env.Out, "")
	}
	if n := u.Unreferenced; n.Objects > 0 {
		fmt.Fprintf(env.Out, "%s in %s that nothing refers to; `carrel history gc` removes them\n", show.Size(n.Disk), show.Count(n.Objects, "file", "files"))
	}
	fmt.Fprintf(env.Out, "%s on disk in all, %s of it journals%s\n", show.Size(u.Disk()), show.Size(u.Journals), ofLimit(u.Limits.Bytes))
	fmt.Fprintf(env.Out, "kept in %s\n", show.OneLine(show.QuoteIf(h.Dir)))
	if h.OtherDisk {
		fmt.Fprintln(env.Out, "that is another file system than the project's, so each file that is kept is copied; history.dir names a place on the project's")
	}
	return nil
}

func ofLimit(limit int64) string {
	if limit == 0 {
		return ""
	}
	return "; it may take " + show.Size(limit)
}

func collectCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	dry := false
	cmd := &cobra.Command{
		Use:   "gc [flags]",
		Short: "Remove what the history does not need",
		Long: `Removes files of the history that nothing refers to, as a crash leaves them. A
history that takes more than history.max_bytes or has more than history.max_steps
loses its oldest steps, which then can no longer be undone; that also happens by
itself when a run ends. The newest step always stays.
` + cmdline.PlainStatus,
		Example: `  carrel history gc --dry-run
  carrel history gc`,
		Args: cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error { return collectGarbage(env, f, dry) },
	}
	f.register(cmd)
	cmd.Flags().BoolVarP(&dry, "dry-run", "d", false, "say what would be removed, and remove nothing")
	return cmd
}

func collectGarbage(env *cmdenv.Env, f *historyFlags, dry bool) error {
	r, err := historyop.Collect(env.Caller(), f.of(), dry)
	if r != nil {
		if e := tellRemoval(env, f, r); e != nil {
			return e
		}
	}
	return err
}

func tellRemoval(env *cmdenv.Env, f *historyFlags, r *historyop.Removed) error {
	if f.json {
		return show.JSON(env.Out, r)
	}
	would := ""
	if r.DryRun {
		would = "would be "
	}
	if len(r.Steps) > 0 {
		fmt.Fprintf(env.Out, "%sdiscarded  %s\n", would, stepList(r.Steps))
	}
	for _, at := range r.Left {
		fmt.Fprintf(env.Out, "left alone  %s\n", show.OneLine(string(at)))
	}
	fmt.Fprintf(env.Out, "%s, %s of the disk %sfreed; %s kept\n", show.Count(r.Freed.Files, "file", "files"), show.Size(r.Freed.Disk), would, show.Size(r.Kept))
	if r.Over > 0 {
		fmt.Fprintf(env.Out, "that is %s more than history.max_bytes: the newest step stays whatever it takes, and beside it others keep half\n", show.Size(r.Over))
	}
	return nil
}

// stepList names steps.
func stepList(steps []uint64) string {
	words := make([]string, 0, stepview.MaxShown+1)
	for i, n := range steps {
		if i == stepview.MaxShown {
			words = append(words, fmt.Sprintf("and %d more", len(steps)-i))
			break
		}
		words = append(words, strconv.FormatUint(n, 10))
	}
	if len(steps) == 1 {
		return "step " + words[0]
	}
	return "steps " + strings.Join(words, ", ")
}
