// Package task knows the tasks of a repository, on which several agents work side by side. Each
// has a branch task/NAME, a linked worktree of git and a workspace of its own. A [Store] keeps
// one record for each, and a [Git] does what has to be done outside of all walls.
//
// Outside, git is only asked for what names commits, branches and worktrees: it reads no file of
// a working tree, so it runs no filter, no hook and no merge driver. A working tree is filled,
// compared and merged inside walls, by package taskop.
//
// Records lie in the state directory, which no workspace sees. The repository itself is the
// project's authors' and its agents': what git says of it is bounded and parsed, and names in it
// are never options.
package task
