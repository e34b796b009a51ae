// Package target offers the names of workspaces, and of what runs in them, to a shell that
// completes a line. It also says whether this program runs behind walls.
//
// Which workspace an argument names is found by package op.
package target

import (
	"os"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/inside"
	"carrel/internal/named"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Inside says whether this process is behind walls of ours.
func Inside(env *cmdenv.Env) bool {
	_, err := os.Stat(inside.Socket)
	return env.Caller().Inside() && err == nil
}

// CompleteWorkspace names the running workspaces.
func CompleteWorkspace(env *cmdenv.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		entries, _ := env.Caller().Running()
		var names []string
		for _, e := range entries {
			names = append(names, e.Called()+"\t"+show.OneLine(show.Shorten(strings.Join(e.Argv, " "), show.ColumnMax)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteDesk names the workspaces that stay.
func CompleteDesk(env *cmdenv.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := named.List(env.Caller().State())
		var names []string
		for _, d := range list {
			names = append(names, d.Name+"\t"+show.OneLine(show.Shorten(d.Purpose, show.ColumnMax)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteApp names workspaces first and their apps then.
func CompleteApp(env *cmdenv.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return CompleteDesk(env)(cmd, args, word)
		}
		d, _ := env.Caller().Desk(cmd.Context(), args[0])
		var names []string
		for _, one := range d.Apps {
			names = append(names, one.ID+"\t"+show.OneLine(one.Name))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
