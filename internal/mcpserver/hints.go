package mcpserver

import (
	"regexp"
	"strings"
	"sync"
)

// commandTools are the tools that do what commands of the command line do, for hints that
// were written for people at a terminal. What is not here a person does.
var commandTools = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"apps": "app_list", "list": "workspace_list", "ps": "workspace_list", "stop": "workspace_stop", "start": "workspace_start",
		"status": "workspace_status", "manifest": "workspace_status with include manifest",
		"artifacts": "workspace_status with include artifacts", "explain": "workspace_status with include policy",
		"cleanup": "workspace_cleanup_stale", "launch": "app_launch", "logs": "app_log", "wait": "app_wait", "kill": "app_kill",
		"exec": "Bash", "run": "Bash", "terminal read": "terminal_read", "terminal start": "app_launch with wait terminal",
		"terminal send": "terminal_input", "history": "get_undo_history", "undo": "undo", "redo": "redo", "diff": "diff", "show": "diff",
		"events": "events", "approvals": "approvals", "windows": "windows", "screenshot": "screenshot", "doctor": "workspace_doctor",
		"profile list": "profile_read with action list", "profile show": "profile_read with action get",
		"profile check": "profile_read with action check", "profile template": "profile_read with action template",
	}
})

var (
	quotedCommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`carrel ([a-z]+)( [a-z]+)?[^`]*`") })
	plainFlag     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--([a-z][a-z-]*)`) })
)

// flagParameters are the parameters that mean what flags of another name mean.
var flagParameters = map[string]string{"keep-both": "conflicts: keep_both", "skip-conflicts": "conflicts: skip"}

// toolWords says with tools and parameters what was written with commands and flags.
func (t *Tool) toolWords(text string) string {
	text = quotedCommand().ReplaceAllStringFunc(text, func(command string) string {
		m := quotedCommand().FindStringSubmatch(command)
		for _, name := range []string{m[1] + m[2], m[1]} {
			if tool, ok := commandTools()[name]; ok {
				return tool
			}
		}
		return command
	})
	return plainFlag().ReplaceAllStringFunc(text, func(flag string) string {
		name := strings.TrimPrefix(flag, "--")
		parameter, ok := flagParameters[name]
		if !ok {
			parameter = strings.ReplaceAll(name, "-", "_")
		}
		what, _, _ := strings.Cut(parameter, ":")
		if t.In == nil || t.In.Properties[what] == nil {
			return flag
		}
		return parameter
	})
}

// hint is one in words of tools. What only the command line has is a person's.
func (t *Tool) hint(text string) string {
	text = t.toolWords(text)
	if plainFlag().MatchString(text) || strings.Contains(text, "`carrel ") {
		return "for the person, at a terminal: " + text
	}
	return text
}
