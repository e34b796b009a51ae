package cli

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/op"
)

// TestCommandsAreOperations: each command is of an operation, and each command of an operation is
// there. What help does not list is another name of one, or an agent's.
func TestCommandsAreOperations(t *testing.T) {
	root := newRoot(&cmdenv.Env{}, nil)
	named := op.Commands()
	for at := append(root.Commands()[:0:0], root); len(at) > 0; at = at[1:] {
		for _, c := range at[0].Commands() {
			if c.Hidden {
				continue
			}
			at = append(at, c)
			name := strings.TrimPrefix(c.CommandPath(), "carrel ")
			i := slices.Index(named, name)
			if i < 0 && !c.HasSubCommands() && c.Runnable() {
				t.Errorf("carrel %s is of no operation", name)
			}
			if i >= 0 {
				named = slices.Delete(named, i, i+1)
			}
		}
	}
	if len(named) > 0 {
		t.Errorf("operations have commands that are not there: %q", named)
	}
}

// TestTaskWords: an agent's name with --task is a task for it; all other words are as they were.
func TestTaskWords(t *testing.T) {
	for line, want := range map[string]string{
		"claude --task fix":                         "task new fix --or-open --attach --agent=claude",
		"claude --task=fix":                         "task new fix --or-open --attach --agent=claude",
		"claude --task fix --network closed":        "task new fix --or-open --attach --agent=claude --network closed",
		"claude --task fix --":                      "task new fix --or-open --attach --agent=claude",
		"codex --task fix --base main -- exec x -y": "task new fix --or-open --attach --agent=codex --base main -- codex exec x -y",
		"claude --task fix -- -p x -- y":            "task new fix --or-open --attach --agent=claude -- claude -p x -- y",
		"claude --task":                             "", "claude": "", "claude -p x --task fix": "", "run --task fix": "", "task new fix": "", "claude --tasks fix": "",
	} {
		if got := strings.Join(taskWords(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
