package workspace

import "carrel/internal/hostsockets"

// sockets are those of programs of the host, and the ones that are granted.
func (p *Prepared) sockets() *hostsockets.Search {
	return &hostsockets.Search{Policy: p.Policy, Facts: p.facts, Roots: p.grantedRoots(), Names: p.socketNames, UID: p.uid, GID: p.gid}
}

// visible says whether a rule shows a path of the host.
func (p *Prepared) visible(at string) bool { return hostsockets.Visible(p.Policy, at) }
