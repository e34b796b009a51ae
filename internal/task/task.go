package task

import (
	"fmt"
	"strings"
	"time"

	"carrel/internal/api"
)

// BranchPrefix is before the name of a task in that of its branch.
const BranchPrefix = "task/"

// maxName bounds the name of a task in bytes: that of its workspace may hold that of the
// repository, too.
const maxName = 40

// Tree is the linked worktree of a task.
type Tree struct {
	Repository api.Text `json:"repository"`     // its main working tree, or its git directory where that is bare
	Common     api.Text `json:"common"`         // its git directory
	Path       api.Text `json:"path"`           // of the worktree
	Base       string   `json:"base"`           // the commit that the branch began at
	Into       string   `json:"into,omitempty"` // the branch it began on, which it is merged into; "" for none
}

// Task is one piece of work.
type Task struct {
	Name      string     `json:"name"`
	Tree      Tree       `json:"tree"`      // the workspace's project
	Workspace string     `json:"workspace"` // its name
	Words     []api.Text `json:"words"`     // of the command line that starts the workspace
	Agent     string     `json:"agent,omitempty"`
	Argv      []api.Text `json:"argv,omitempty"` // what works on it, in a terminal; none: a person does
	App       string     `json:"app,omitempty"`  // the id of that terminal
	Prompt    string     `json:"prompt,omitempty"`
	Parent    string     `json:"parent,omitempty"` // the workspace of the agent that asked for it; "" for a person's
	Created   time.Time  `json:"created"`
}

// Branch is the name of its branch.
func (t *Task) Branch() string { return BranchPrefix + t.Name }

// CheckName says why a name cannot be a task's. It has to be part of a branch's name
// (git-check-ref-format(1)), of a workspace's and of a path.
func CheckName(name string) error {
	good := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	if name == "" || len(name) > maxName || strings.Trim(name[:1], "._-") == "" || strings.IndexFunc(name,
		func(r rune) bool { return !good(r) }) >= 0 ||
		strings.Contains(name, "..") || strings.HasSuffix(name, ".") || strings.HasSuffix(name, ".lock") {
		return fmt.Errorf("%.60q cannot be the name of a task: "+
			"letters and digits, ._- inside, at most %d of them, no \"..\" and no \".lock\" at the end", name, maxName)
	}
	return nil
}
