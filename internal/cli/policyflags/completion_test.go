package policyflags

import (
	"strings"
	"testing"

	"carrel/internal/cli/cmdenv"

	"github.com/spf13/cobra"
)

// TestCompletionWords: words that a shell offers are words that are taken.
func TestCompletionWords(t *testing.T) {
	for _, flag := range []string{"persona", "network", "display", "home", "nested", "history"} {
		cmd := &cobra.Command{Use: "x"}
		(&Flags{}).Register(cmd.Flags())
		RegisterCompletions(&cmdenv.Env{}, cmd)
		words, ok := cmd.GetFlagCompletionFunc(flag)
		if !ok {
			t.Errorf("--%s offers no words", flag)
			continue
		}
		list, directive := words(cmd, nil, "")
		if len(list) == 0 || directive != cobra.ShellCompDirectiveNoFileComp {
			t.Errorf("--%s offers %q, directive %d", flag, list, directive)
		}
		for _, w := range list {
			if !strings.Contains(cmd.Flags().Lookup(flag).Usage, w) {
				t.Errorf("--%s offers %q, its help does not name that", flag, w)
			}
		}
	}
}
