package mcpserver

import "slices"

// Tools is the table of all tools, in the order in which they are listed.
func Tools() []Tool {
	return slices.Concat(fileTools(), workspaceTools(), desktopTools(), profileTools(), controlTools())
}

func fileTools() []Tool {
	return []Tool{
		define(Tool{Name: "Bash", Set: "files", About: "Run a shell command in the workspace. Each call is a new shell in the project's directory, or cwd: it keeps no directory and no variables of the call before. Its changes are one step of the history. Of a long output the beginning and the end are shown; app_log has all.", Open: true}, bash),
		define(Tool{Name: "read_file", Set: "files", About: "Read a file, or limit lines of it from line offset on, each after its number. Pictures come as such.", Idempotent: true}, readFile),
		define(Tool{Name: "write_file", Set: "files", About: "Write a whole file, with the directories to it. One step. expect, the SHA-256 that read_file told, or absent, keeps others' changes safe.", Idempotent: true}, writeFile),
		define(Tool{Name: "edit_file", Set: "files", About: "Replace old_string, which has to be there once unless replace_all, by new_string; or several edits alone, all or none. One step."}, editFile),
		define(Tool{Name: "list_directory", Set: "files", About: "What is in a directory.", Idempotent: true}, listDirectory),
		define(Tool{Name: "glob", Set: "files", About: "Files by a pattern of their path, the newest first; ** stands for any directories. What Git ignores is left out unless gitignore is false.", Idempotent: true}, globFiles),
		define(Tool{Name: "grep", Set: "files", About: "Lines that a regular expression (RE2) matches: output_mode files_with_matches, content or count. What Git ignores is left out unless gitignore is false.", Idempotent: true}, grepFiles),
		define(Tool{Name: "get_session_status", Set: "files", About: "The workspace of this server, how many steps can be undone, what waits for a person.", Idempotent: true, Brief: true}, sessionStatus),
		define(Tool{Name: "get_working_directory", Set: "files", About: "The project's directory, to which relative paths are.", Idempotent: true, Brief: true}, workingDirectory),
		define(Tool{Name: "undo", Set: "files", About: "Take back the newest step or steps of the project: exactly what each changed, also those of others. redo brings it back."}, undo),
		define(Tool{Name: "undo_preview", Set: "files", About: "Say what undo would restore and remove, and what is in its way.", Idempotent: true}, undoPreview),
		define(Tool{Name: "redo", Set: "files", About: "Bring back what the last undo took away."}, redo),
		define(Tool{Name: "diff", Set: "files", About: "What a step, or a range of steps, changed in files.", Idempotent: true}, diff),
		define(Tool{Name: "get_undo_history", Set: "files", About: "The steps of the project's history, the newest first.", Idempotent: true}, undoHistory),
		define(Tool{Name: "discard_undo_history", Set: "files", About: "Show what discarding history would remove. Discarding itself is a person's.", Idempotent: true}, discardHistory),
	}
}

func workspaceTools() []Tool {
	return []Tool{
		define(Tool{Name: "workspace_start", Set: "workspace", About: "Start a workspace that stays until it is stopped, with a hidden desktop unless display is none.", Idempotent: true, Open: true, starts: true}, startWorkspace),
		define(Tool{Name: "workspace_list", Set: "workspace", About: "The workspaces that run, and those that have stopped and left something to look at.", Idempotent: true, Brief: true}, listWorkspaces),
		define(Tool{Name: "workspace_status", Set: "workspace", About: "How a workspace is: control, policy, apps, what it keeps.", Idempotent: true, Brief: true}, workspaceStatus),
		define(Tool{Name: "workspace_stop", Set: "workspace", About: "End a workspace and all that runs in it. Works under every control.", Idempotent: true, Brief: true}, stopWorkspace),
		define(Tool{Name: "workspace_cleanup_stale", Set: "workspace", About: "Remove what stopped workspaces have left.", Idempotent: true}, cleanupWorkspaces),
		define(Tool{Name: "workspace_doctor", Set: "workspace", About: "What this machine can hold and what is missing, with the way to get it.", Idempotent: true}, doctor),
		define(Tool{Name: "app_launch", Set: "workspace", About: "Start a program that goes on by itself; wait for its window or its end if asked.", Open: true}, launchApp),
		define(Tool{Name: "app_list", Set: "workspace", About: "What was started in a workspace.", Idempotent: true, Brief: true}, listApps),
		define(Tool{Name: "app_wait", Set: "workspace", About: "Wait for the end of an app.", Idempotent: true}, waitApp),
		define(Tool{Name: "app_kill", Set: "workspace", About: "End an app and all that it has started.", Idempotent: true, Brief: true}, killApp),
		define(Tool{Name: "app_log", Set: "workspace", About: "What an app has written.", Idempotent: true}, readLog),
		define(Tool{Name: "terminal_read", Set: "workspace", About: "The screen of a terminal as text.", Idempotent: true}, readTerminal),
		define(Tool{Name: "terminal_input", Set: "workspace", About: "Type text and keys into a terminal.", Open: true}, typeTerminal),
		define(Tool{Name: "events", Set: "workspace", About: "What has happened in a workspace.", Idempotent: true}, readEvents),
	}
}

func desktopTools() []Tool {
	return []Tool{
		define(Tool{Name: "observe", Set: "desktop", About: "The hidden desktop at a glance: windows, pointer, and a picture or events if asked."}, observe),
		define(Tool{Name: "screenshot", Set: "desktop", About: "A picture of the hidden desktop, a window or an area."}, takeScreenshot),
		define(Tool{Name: "windows", Set: "desktop", About: "List windows, or wait until one appears or is gone."}, listWindows),
		define(Tool{Name: "window", Set: "desktop", About: "Focus, raise, move, resize, minimise, show or close a window."}, changeWindow),
		define(Tool{Name: "input", Set: "desktop", About: "Mouse and keyboard: several inputs in one call, in order.", Open: true}, doInput),
		define(Tool{Name: "computer", Set: "desktop", About: "One action of the computer-use tool, in the pixels of its pictures.", Open: true}, useComputer),
		define(Tool{Name: "clipboard_get", Set: "desktop", About: "What was copied on the hidden desktop."}, getClipboard),
		define(Tool{Name: "clipboard_set", Set: "desktop", About: "Copy text on the hidden desktop.", Idempotent: true}, setClipboard),
		define(Tool{Name: "a11y_tree", Set: "desktop", About: "What programs tell of their windows as text, with a reference for each element; or what fits of it."}, readTree),
		define(Tool{Name: "a11y_act", Set: "desktop", About: "Invoke, set, focus or scroll to an element by its reference.", Open: true}, doElement),
	}
}

func profileTools() []Tool {
	return []Tool{
		define(Tool{Name: "profile_read", Set: "profiles", About: "Saved workspaces: list, get, check, a template, validate, path.", Idempotent: true}, readProfile),
		define(Tool{Name: "profile_write", Set: "profiles", About: "Save or delete a profile.", Idempotent: true}, writeProfile),
		define(Tool{Name: "profile_export", Set: "profiles", About: "A profile as text, or written into a file of the project.", Idempotent: true}, exportProfile),
	}
}

func controlTools() []Tool {
	return []Tool{
		define(Tool{Name: "mcp_session_brief", Set: "control", About: "What there is and what to do next: ceiling, control, workspaces, profiles, recommended calls. Ask it first.", Idempotent: true, Brief: true}, sessionBrief),
		define(Tool{Name: "mcp_task_plan", Set: "control", About: "Ordered calls for an intent (app testing, a browser task, observing, cleanup), with what is missing, what stands against them, and what a person has to agree to.", Idempotent: true}, taskPlan),
		define(Tool{Name: "mcp_permissions", Set: "control", About: "The ceiling that holds for this server: its dimensions, its hash, and advice on it.", Idempotent: true, Brief: true}, showPermissions),
		define(Tool{Name: "mcp_action_catalog", Set: "control", About: "What each tool does to the world, and what its parameters change about that.", Idempotent: true, Brief: true}, actionCatalog),
		define(Tool{Name: "mcp_control_update", Set: "control", About: "Restrict a workspace to looking, or pause it. Back to active only a person brings it: with confirmed_user_request they are asked.", Idempotent: true, Brief: true}, updateControl),
		define(Tool{Name: "project_pause", Set: "control", About: "Pause the whole project: every workspace of it stands still, other servers' too, and nothing is started. Only a person ends that.", Idempotent: true, Brief: true}, pauseProject),
		define(Tool{Name: "approvals", Set: "control", About: "What waits for a person's word; deny one.", Idempotent: true, Brief: true}, approvals),
	}
}
