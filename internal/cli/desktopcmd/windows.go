package desktopcmd

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func windowsCommand(env *cmdenv.Env) *cobra.Command {
	q := &api.Windows{}
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "windows NAME [flags]",
		Short: "List the windows on a workspace's desktop, or wait for one",
		Long: `Lists windows, the topmost first; with conditions those that fit. TITLE and CLASS are
regular expressions that may match anywhere. With --wait it waits until one is there,
with --gone until none is any more.
` + desktopHelp,
		Example: `  carrel desktop windows dev
  carrel desktop windows dev --title 'Save.*' --wait --timeout 20s
  carrel desktop windows dev --app editor --json`,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Wait = q.Wait || q.Gone
			q.Millis = millis(timeout)
			_, data, err := seeDesktop(cmd.Context(), env, args[0], &api.Desktop{Windows: q})
			if err != nil {
				return err
			}
			list := []api.Window{}
			if err := json.Unmarshal(data, &list); err != nil {
				return fmt.Errorf("the list of windows: %w", err)
			}
			if asJSON {
				return show.JSON(env.Out, list)
			}
			if len(list) == 0 {
				fmt.Fprintln(env.Out, "no windows")
				return nil
			}
			t := &show.Table{}
			t.Row("ID", "APP", "CLASS", "AREA", "STATE", "TITLE")
			for _, w := range list {
				t.Row(w.ID, show.OneLine(w.App), show.OneLine(w.Class), areaText(w.Area), windowState(&w), show.OneLine(show.Shorten(w.Title, show.ColumnMax)))
			}
			t.Print(env.Out, "")
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().StringVar(&q.Title, "title", "", "whose title matches")
	cmd.Flags().StringVar(&q.Class, "class", "", "whose class matches")
	cmd.Flags().StringVar(&q.App, "app", "", "of this app, by its id or name")
	cmd.Flags().StringVar(&q.Window, "window", "", "the one with this id")
	cmd.Flags().IntVar(&q.PID, "pid", 0, "of this process, as it counts itself")
	cmd.Flags().BoolVar(&q.All, "all", false, "menus and tooltips too, and what is hidden")
	cmd.Flags().BoolVar(&q.Wait, "wait", false, "wait until one is there")
	cmd.Flags().BoolVar(&q.Gone, "gone", false, "wait until none is there")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "wait at most so long (default 30s)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	cmdline.NotEmpty(cmd, "title", "class", "app", "window")
	return cmd
}

func windowState(w *api.Window) string {
	var words []string
	for _, s := range []struct {
		on   bool
		word string
	}{{w.Active, "active"}, {w.Minimised, "minimised"}, {w.Maximised, "maximised"}, {w.Fullscreen, "fullscreen"}, {w.Hidden, "hidden"}, {w.Urgent, "urgent"}, {w.Modal, "modal"}, {w.Override, "menu"}} {
		if s.on {
			words = append(words, s.word)
		}
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}

func windowCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "window NAME ID ACTION [X Y | WIDTHxHEIGHT]",
		Short: "Focus, raise, move, resize, minimise, show or close a window",
		Long: `ACTION is focus, raise, minimise, show, close, kill, move with X and Y, or resize with
WIDTHxHEIGHT. With close the program is asked, and may ask back; with kill its connection
is cut. ID is one of carrel desktop windows.
` + desktopHelp,
		Example: `  carrel desktop window dev 0x600007 focus
  carrel desktop window dev 0x600007 move 100 50
  carrel desktop window dev 0x600007 resize 800x600
  carrel desktop window dev 0x600007 close`,
		Args: func(cmd *cobra.Command, args []string) error {
			want := 3
			if len(args) > 2 {
				want += map[string]int{api.WindowMove: 2, api.WindowResize: 1}[args[2]]
			}
			if len(args) == want {
				return nil
			}
			return fmt.Errorf("%q takes a workspace, a window, an action and its numbers, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w := &api.WindowChange{Window: args[1], Do: args[2]}
			switch args[2] {
			case api.WindowMove:
				to, err := placeOf(args[3], args[4])
				if err != nil {
					return err
				}
				w.To = *to
			case api.WindowResize:
				width, height, err := sizeOf("the size", args[3])
				if err != nil {
					return err
				}
				w.To = [2]int{width, height}
			}
			_, _, err := doDesktop(cmd.Context(), env, args[0], &api.Desktop{Window: w})
			return err
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	return cmd
}
