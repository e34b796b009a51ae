package reviewcmd

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/reviewop"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

func listCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the layers of this project",
		Long: `Lists the layers of the project, the newest first: its command runs, has ended, was ended
as the layer was full, or was cut short by a crash. Of the last the changes are there still.
` + cmdline.PlainStatus,
		Example: "  carrel review list\n  carrel review list --json",
		Args:    cmdline.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			r, err := reviews(env)
			if err != nil {
				return err
			}
			list, err := r.List()
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, list)
			}
			printLayers(env.Out, list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func printLayers(out io.Writer, list []reviewop.Layer) {
	if len(list) == 0 {
		fmt.Fprintln(out, "there is no layer to review")
		return
	}
	t := &show.Table{}
	t.Row("LAYER", "STATE", "BEGUN", "SIZE", "COMMAND")
	for _, l := range list {
		state := l.State
		if state == reviewop.StateEnded && l.Exit != 0 {
			state += fmt.Sprintf(" (%d)", l.Exit)
		}
		t.Row(l.ID, state, l.Begun, show.Size(l.Bytes), show.Shorten(show.Words(l.Command), show.ColumnMax))
	}
	t.Print(out, "")
}

func diffCommand(env *cmdenv.Env) *cobra.Command {
	var stat, asJSON bool
	cmd := &cobra.Command{
		Use:   "diff [ID] [PATH...] [flags]",
		Short: "Show what a layer changes",
		Long: `Compares a layer, the newest without ID, with the project as it is now. A path that
others have changed since the layer began is marked as a conflict. Contents are shown by
lines up to 4 MiB.
` + cmdline.PlainStatus,
		Example: "  carrel review diff\n  carrel review diff 1f2e3d src\n  carrel review diff --stat",
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := reviews(env)
			if err != nil {
				return err
			}
			id, paths := split(args)
			d, err := r.Diff(id, paths)
			if err != nil {
				return err
			}
			defer d.Close()
			if asJSON {
				return show.JSON(env.Out, map[string]any{"id": d.ID, "changes": d.Changes})
			}
			printDiff(env, d, stat)
			return nil
		},
		ValidArgsFunction: completeLayer(env),
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "name the paths, and how each is changed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the paths as JSON")
	return cmd
}

// split takes the id of a layer off the arguments. What is no id is a path in the newest.
func split(args []string) (id string, paths []string) {
	if len(args) > 0 && reviewop.IsID(args[0]) {
		return args[0], args[1:]
	}
	return "", args
}

// maxShown is up to which size a file is shown by lines, in bytes.
const maxShown = 4 << 20

func printDiff(env *cmdenv.Env, d *reviewop.Difference, stat bool) {
	if len(d.Changes) == 0 {
		fmt.Fprintln(env.Out, "the layer changes nothing")
		return
	}
	t := &show.Table{}
	for i := range d.Changes {
		c := &d.Changes[i]
		if !stat {
			printChange(env, d, i)
			continue
		}
		t.Row(c.What, show.QuoteIf(here(env, c)), remark(d, i))
	}
	if stat {
		t.Print(env.Out, "")
	}
}

// remark says what is to be said of a change beside its path.
func remark(d *reviewop.Difference, i int) string {
	c := &d.Changes[i]
	parts := []string{d.Detail(i)}
	if parts[0] == "" && c.Kind != "file" {
		parts[0] = c.Kind
	}
	if c.Refused != "" {
		parts = append(parts, "CANNOT BE APPLIED: "+c.Refused)
	}
	if c.Conflict != "" {
		parts = append(parts, "CONFLICT: "+c.Conflict)
	}
	if parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "; ")
}

// here is the path of a change as seen from the caller's directory, if it lies below.
func here(env *cmdenv.Env, c *reviewop.Change) string {
	if cwd, err := env.Caller().Abs("."); err == nil {
		if rel, err := filepath.Rel(cwd, string(c.Path)); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return string(c.Path)
}

func printChange(env *cmdenv.Env, d *reviewop.Difference, i int) {
	c := &d.Changes[i]
	name := here(env, c)
	if text := remark(d, i); text != "" || c.Kind != "file" {
		fmt.Fprintf(env.Out, "%s: %s %s\n", show.OneLine(name), c.What, show.OneLine(text))
	}
	if c.Kind != "file" || c.What == "mode" || c.What == "time" || c.What == "linked" {
		return
	}
	was, now, err := d.Contents(i, maxShown)
	switch {
	case err != nil:
		fmt.Fprintf(env.Out, "%s: %s, and is not shown: %s\n", show.OneLine(name), c.What, show.OneLine(err.Error()))
	case bytes.IndexByte(was, 0) >= 0 || bytes.IndexByte(now, 0) >= 0:
		fmt.Fprintf(env.Out, "%s: binary file %s: %d bytes, were %d\n", show.OneLine(name), c.What, len(now), len(was))
	default:
		stepview.PaintDiff(env.Out, stepview.FileDiff(name, was, now), env.Paint(env.Out).On())
	}
}
