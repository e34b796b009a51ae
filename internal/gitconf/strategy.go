package gitconf

import (
	"fmt"
	"slices"
	"strings"
)

// strategies are those that git merges with itself (git-merge(1)). It runs git-merge-NAME
// for any other, which may be a path: "x/y" is git-merge-x/y in the working tree.
var strategies = []string{"", "ort", "recursive", "resolve", "octopus", "ours", "subtree"}

// VetStrategy judges the name of a strategy that "git rebase --continue" will merge with.
func VetStrategy(text string) error {
	if name := strings.TrimSpace(text); !slices.Contains(strategies, name) {
		return fmt.Errorf("git would run git-merge-%s", name)
	}
	return nil
}

// VetSequencer judges the options of a cherry-pick or revert that "--continue" goes on with
// (sequencer/opts, in the form of a configuration).
func VetSequencer(text []byte) error {
	entries, err := ParseStrict(text)
	if err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; e.Name() == "options.strategy" {
			if err := VetStrategy(e.Value); err != nil {
				return err
			}
		}
	}
	return nil
}
