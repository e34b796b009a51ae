// Package tools is what front ends do in a workspace that stays, for the agents that
// they serve: run a command and hear what it says ([Run]), a shell command with a time
// limit and a kept log ([Bash]), and file tools ([Files]).
//
// All of it goes through the supervisor's socket as requests of any program of the same
// user do. So it happens behind the workspace's walls, under its control, and as apps
// of it: what one changes is one step of the history, and [Result] names it.
//
// What comes back was said by programs inside. It is bounded, and only data.
package tools
