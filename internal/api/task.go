package api

import "time"

// Codes of refusals that are about tasks.
const (
	CodeNoTask     = "no-task"     // there is no task of that name, or not for this caller
	CodeNoLayer    = "no-layer"    // there is no such layer of the project
	CodeNotRunning = "not-running" // the task's workspace does not run
	CodeUnsaved    = "unsaved"     // work would be lost, or is in the way: it is in no commit, or in no other branch
	CodeConflict   = "conflict"    // the two branches do not fit together by themselves
	CodeCheck      = "check"       // the command that was to check the work failed
)

// States of a task.
const (
	TaskWorking = "working" // its agent is at it
	TaskWaiting = "waiting" // for a person: a question, an approval
	TaskDone    = "done"    // its agent says so, or has ended well
	TaskFailed  = "failed"  // its agent has ended with another status than 0
	TaskRunning = "running" // its workspace runs, and no agent in it says how it is
	TaskPaused  = "paused"  // or under another control than active
	TaskStopped = "stopped" // its workspace does not run
)

// Task is one piece of work with a branch, a worktree and a workspace of its own.
type Task struct {
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Branch    string    `json:"branch"`
	Into      string    `json:"into,omitempty"` // the branch that it is merged into
	Base      string    `json:"base"`           // the commit that it began at
	Head      string    `json:"head,omitempty"` // the commit that it is at
	Commits   int       `json:"commits"`        // that Into does not have
	Path      Text      `json:"path"`           // of its worktree
	Workspace string    `json:"workspace"`
	Agent     string    `json:"agent,omitempty"`
	App       string    `json:"app,omitempty"` // the terminal that the agent works in
	Exit      *int      `json:"exit,omitempty"`
	Pending   int       `json:"pending"` // approvals that wait
	Parent    string    `json:"parent,omitempty"`
	Created   time.Time `json:"created"`

	Diff *TaskDiff `json:"diff,omitempty"` // where it was asked for
}

// TaskDiff is how much a task has changed since it parted from the branch that it goes into.
type TaskDiff struct {
	Files   int  `json:"files"`
	Added   int  `json:"added"` // lines
	Removed int  `json:"removed"`
	Unsaved bool `json:"unsaved"` // some of it is in no commit
}
