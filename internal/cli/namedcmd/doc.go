// Package namedcmd holds the commands about workspaces as a whole: start, list, ps, status,
// stop, pause, resume and control for those that run; apps, wait, kill, logs, events, manifest,
// artifacts, cleanup and revoke for one with a name, and for what it has left.
//
// A command asks the supervisor of a workspace that runs, and package named about one that
// has stopped. It starts a workspace through package session, and connect, for programs
// inside, reaches a host through the proxy of the workspace around it.
package namedcmd

import (
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/taskcmd"
)

// Commands are the commands of this package, and those about tasks, which are workspaces with a
// branch of their own.
func Commands() []cmdenv.Command {
	return append([]cmdenv.Command{
		{Name: "start", Make: startCommand},
		{Name: "list", Make: listCommand},
		{Name: "status", Make: statusCommand},
		{Name: "apps", Make: appsCommand},
		{Name: "wait", Make: waitCommand},
		{Name: "kill", Make: killCommand},
		{Name: "logs", Make: logsCommand},
		{Name: "events", Make: eventsCommand},
		{Name: "control", Make: controlCommand},
		{Name: "manifest", Make: manifestCommand},
		{Name: "artifacts", Make: artifactsCommand},
		{Name: "cleanup", Make: cleanupCommand},
		{Name: "rm", Make: rmCommand},
		{Name: "revoke", Make: revokeCommand},
		{Name: "ps", Make: psCommand},
		{Name: "pause", Make: pauseCommand},
		{Name: "resume", Make: resumeCommand},
		{Name: "stop", Make: stopCommand},
		{Name: "connect", Make: connectCommand},
	}, taskcmd.Commands()...)
}
