package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryCommandHelps: every command says how it ends, shows an example, and
// refuses what it does not take.
func TestEveryCommandHelps(t *testing.T) {
	a := &app{}
	queue := a.root().Commands()
	for len(queue) > 0 {
		cmd := queue[0]
		queue = append(queue[1:], cmd.Commands()...)
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			if cmd.Short == "" || cmd.Example == "" {
				t.Error("no summary or no example")
			}
			if !strings.Contains(cmd.Long, "Exit status:") && cmd.Name() != "version" {
				t.Error("its help does not say how it ends")
			}
		})
	}
}

// TestCompletionWords: words that a shell offers are words that are taken.
func TestCompletionWords(t *testing.T) {
	a := &app{}
	for _, flag := range []string{"persona", "network", "display", "home", "nested", "history"} {
		cmd := a.explainCommand()
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
