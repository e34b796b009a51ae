package namedcmd

import (
	"os"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/supervisor"
)

// TestRunningWorkspaces: what runs is listed, and found by the beginning of its id.
func TestRunningWorkspaces(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("list").OK("no workspace has been started\n")
	p.Run("list --json").OK("[]")
	p.Workspace("ab12", nil)
	p.Run("ps").OK("ab12", "sleep 60")
	var list []api.WorkspaceStatus
	p.Run("ps --json").OK().JSON(&list)
	found := false
	for _, one := range list {
		found = found || one.ID == "ab12"
	}
	if !found {
		t.Errorf("%+v", list)
	}
	p.Run("list").OK("no workspace has been started\n") // what has no name does not stay
}

// TestStopWorkspace: the workspace that is named is asked to end, and no other.
func TestStopWorkspace(t *testing.T) {
	p := clitest.New(t, Commands())
	other := p.Workspace("ff00", nil)
	end := make(chan struct{})
	p.Workspace("ab12", func(c *supervisor.Config) { c.Stop = func() { close(end) } })
	go p.Run("stop ab1")
	select {
	case <-end:
	case <-time.After(10 * time.Second):
		t.Error("it was not asked to end")
	}
	select {
	case <-other.Stops:
		t.Error("another one was asked to end")
	default:
	}
}

// TestPauseWithoutFreezer: what cannot be paused is refused, and nothing is told as done.
func TestPauseWithoutFreezer(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Workspace("ab12", nil)
	if r := p.Run("pause ab12").Fails(api.ExitOurs); r.Out != "" {
		t.Errorf("%q", r.Out)
	}
}

// TestCleanUpNothing: where nothing was left, it says so; as JSON it is a list.
func TestCleanUpNothing(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("cleanup").OK("nothing is left\n")
	p.Run("cleanup --json").OK("[]")
	if tree := p.Tree(); tree != "" {
		t.Errorf("it has written\n%s", tree)
	}
}

func TestNamedRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Refusals(map[string]string{
		"control":                            "takes a workspace and a mode, got []",
		"control a b c":                      `takes a workspace and a mode, got ["a" "b" "c"]`,
		"control a --ask":                    "--ask needs a mode to ask for",
		"control absent":                     "absent",
		"pause":                              "a workspace",
		"pause absent":                       "absent",
		"pause a --reason x":                 "--reason is for --project",
		"pause --project ''":                 `--project "": want a directory`,
		"resume --reason x a":                "--reason",
		"stop":                               "needs a workspace",
		"stop absent":                        "absent",
		"stop a b":                           "a workspace",
		"status":                             "a workspace",
		"status absent":                      "absent",
		"manifest absent":                    "absent",
		"artifacts absent":                   "absent",
		"rm":                                 "a workspace",
		"cleanup a b":                        "a workspace",
		"revoke":                             "a workspace",
		"revoke absent":                      "absent",
		"start --dry-run A/b":                "A/b",
		"start --dry-run dev --network wide": "wide",
		"start --dry-run dev --permissions ../no": "there is no ceiling file",
		"ps extra":   "extra",
		"list extra": "extra",
	})
	if strings.Contains(p.Tree(), "absent") {
		t.Errorf("%s", p.Tree())
	}
	if _, err := os.Stat(p.State + "/named"); err == nil {
		t.Error("a workspace that is refused has a directory")
	}
}
