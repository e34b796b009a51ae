// Package decisioncmd holds the commands about what programs inside wanted and what was decided:
// approvals, approve and deny for what waits, allow for what holds in one project, denials and
// links for what has been; net for connections and the hosts of a workspace that runs, and audit
// for its log.
//
// A command reads logs through packages workspace, named and audit, or asks the supervisor
// of a workspace. The supervisor decides whether a person is at the terminal; the check
// here only saves that person from typing for nothing.
package decisioncmd

import "carrel/internal/cli/cmdenv"

// Commands are the commands of this package.
func Commands() []cmdenv.Command {
	return []cmdenv.Command{
		{Name: "allow", Make: allowCommand},
		{Name: "approvals", Make: approvalsCommand},
		{Name: "approve", Make: approveCommand},
		{Name: "deny", Make: denyCommand},
		{Name: "audit", Make: auditCommand},
		{Name: "denials", Make: denialsCommand},
		{Name: "links", Make: linksCommand},
		{Name: "net", Make: netCommand},
	}
}
