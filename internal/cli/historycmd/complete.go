package historycmd

import (
	"fmt"
	"io"
	"slices"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/historyop"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

// mostWords bounds what a shell is offered.
const mostWords = 100

// completeStep names the steps, newest first, with their commands. A completion has no
// place for an error: without a history there are no words.
func completeStep(env *cmdenv.Env, f *historyFlags) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		const how = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		quiet := *env
		quiet.Err = io.Discard
		h, err := historyop.Open(quiet.Caller(), f.of())
		if err != nil {
			return nil, how
		}
		defer h.Close()
		var words []string
		for _, s := range slices.Backward(h.Log.Changes()) {
			if len(words) == mostWords {
				break
			}
			if s.Net() {
				words = append(words, fmt.Sprintf("%d\t%.60s", s.Number, show.OneLine(stepview.CommandOf(stepview.StepOf(h.Log, s)))))
			}
		}
		return words, how
	}
}

// stepFlags gives flags that name a step its words.
func stepFlags(env *cmdenv.Env, cmd *cobra.Command, f *historyFlags, names ...string) {
	for _, n := range names {
		cmdline.CompleteFlag(cmd, n, completeStep(env, f))
	}
}
