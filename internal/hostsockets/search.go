// Package hostsockets finds the sockets at which programs of the host listen and which a
// policy would show: a read-only mount does not stop connect(2), so they have to be masked.
// It also gives the mounts of those that are granted one by one.
package hostsockets

import (
	"carrel/internal/hostfacts"
	"carrel/internal/policy"
)

// Visible says whether a rule shows a path of the host; /tmp inside is another one.
func Visible(e *policy.Effective, path string) bool {
	d := e.Lookup(path)
	return (d.Access == policy.Read || d.Access == policy.Write) && (d.Rule.Path != e.Scope.Tmp || d.Rule.Source.Layer != policy.LayerDefault)
}

// Search says where sockets of the host are looked for, and which are granted.
type Search struct {
	Policy *policy.Effective
	Facts  *hostfacts.Facts
	Roots  []string // what is shown beyond the defaults
	Names  []string // of granted sockets, as they were written
	UID    int
	GID    int
}
