//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/test/fakemodel"
)

// claudeHere prepares the real program for one conversation.
func (w *world) claudeHere(turns ...fakemodel.Turn) *fakemodel.Server {
	w.t.Helper()
	m := w.model(turns)
	w.setenv("ANTHROPIC_BASE_URL", m.URL)
	w.setenv("ANTHROPIC_API_KEY", "key-for-the-model-0123456789")
	w.setenv("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
	w.setenv("DISABLE_TELEMETRY", "1")
	return m
}

// TestExplainTellsVariables: the answer names each variable that an agent gets from
// outside, and no value.
func TestExplainTellsVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.claudeHere()
	for _, form := range []string{"", "--json", "--plan"} {
		r := w.carrel(slices.DeleteFunc([]string{"explain", form, "--", "claude"}, func(word string) bool { return word == "" })...)
		if r.code != 0 || strings.Contains(r.out, "key-for-the-model") ||
			!strings.Contains(r.out, "ANTHROPIC_API_KEY") || !strings.Contains(r.out, "ANTHROPIC_BASE_URL") {
			t.Errorf("explain %s: %s", form, r)
		}
	}
}

// TestStepOfEachToolCall: each tool call of Claude Code is a step without anything
// installed, once also where the hooks are installed, and the user's settings and hooks
// stay in force.
func TestStepOfEachToolCall(t *testing.T) {
	t.Parallel()
	for _, installed := range []bool{false, true} {
		t.Run(fmt.Sprintf("installed %v", installed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.installAgents()
			w.litter = true
			mine := `{"env":{"FROM_SETTINGS":"yes"},
				"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"echo mine >> ~/.claude/mine"}]}]}}`
			settings := w.write(w.home+"/.claude/settings.json", mine)
			if installed {
				if r := w.carrel("hooks", "install", "claude"); r.code != 0 {
					t.Fatal(r)
				}
				mine = w.read(settings)
			}
			bash := func(command string) fakemodel.Turn {
				return fakemodel.Turn{Tool: "Bash", Input: map[string]any{"command": command, "description": "work"}}
			}
			m := w.claudeHere(
				fakemodel.Turn{Tool: "Write", Input: map[string]any{"file_path": w.project + "/a", "content": "a"}},
				bash("echo b >b; wc -l <~/.claude/mine; echo settings: $FROM_SETTINGS"), fakemodel.Turn{Text: "done"})
			r := w.carrel("claude", "--no-prompts", "--", "-p", "do it")
			if all := strings.Join(m.Results(), "\n"); r.code != 0 || !strings.Contains(all, "2\nsettings: yes") {
				t.Errorf("%s\n%q", r, m.Results())
			}
			w.checkSteps("claude")
			if r := w.carrel("undo"); r.code != 0 || exists(w.project+"/b") || !exists(w.project+"/a") {
				t.Errorf("one tool call is not undone alone: %s", r)
			}
			if got := w.read(settings); got != mine {
				t.Errorf("the settings on the host: %s", got)
			}
		})
	}
}

// TestNoPromptsAsksNothingTwice: Claude Code without questions asks at its first start in
// a project whether the directory is trusted, and at the second nothing.
func TestNoPromptsAsksNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.litter = true
	w.claudeHere()
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"theme":"dark",
		"customApiKeyResponses":{"approved":["the-model-0123456789"],"rejected":[]}}`)
	for i := range 2 {
		tm := w.openTerminal(w.command(w.bin, "claude", "--no-prompts", "--"))
		tm.resize(100, 30)
		if i == 0 {
			tm.expect(`(?i)trust`)
			waitABit()
			tm.send("\r")
		}
		tm.expect(`(?i)bypass.{0,20}permissions.{0,20}on`)
		if all := tm.all(); strings.Contains(all, "exit") && strings.Contains(all, "accept") {
			t.Errorf("start %d asks whether the mode is meant: %q", i+1, cut(all))
		}
		quit(tm)
	}
}

// TestTrustedOutsideIsNotAsked: a project that is trusted outside is not asked about at the
// first start in its private copy.
func TestTrustedOutsideIsNotAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.installAgents()
	w.litter = true
	w.claudeHere()
	w.write(w.home+"/.claude.json", `{"hasCompletedOnboarding":true,"theme":"dark",
		"projects":{"`+w.project+`":{"hasTrustDialogAccepted":true}},
		"customApiKeyResponses":{"approved":["the-model-0123456789"],"rejected":[]}}`)
	tm := w.openTerminal(w.command(w.bin, "claude", "--no-prompts", "--"))
	tm.resize(100, 30)
	tm.expect(`(?i)bypass.{0,20}permissions.{0,20}on`)
	if all := tm.all(); strings.Contains(strings.ToLower(all), "trust this folder") {
		t.Errorf("asked: %q", cut(all))
	}
	quit(tm)
}
