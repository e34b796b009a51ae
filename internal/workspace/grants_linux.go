package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/sandbox"
)

// socketBinds grants single sockets of the host, each at its own path. What is
// bound is the socket that was looked at: another one in its place is refused.
func (p *Prepared) socketBinds() (binds, links []sandbox.Mount, err error) {
	for _, v := range p.Policy.UnixSockets {
		real, _ := p.facts.Resolve(v.V)
		if why := p.badSocket(real); why != "" {
			return nil, nil, &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: v.V, Rule: "network.unix_sockets", Source: v.Source.String(),
				Message: fmt.Sprintf("%s: %q %s", v.Source.Text, v.V, why), Hint: "name one socket file of your own or root's, by its path"}
		}
		reason := "socket granted by " + v.Source.String()
		if !slices.ContainsFunc(binds, func(m sandbox.Mount) bool { return m.Target == real }) {
			binds = append(binds, sandbox.Mount{Kind: sandbox.MountBind, Target: real, Source: real, ReadOnly: true, Reason: reason})
		}
		for _, name := range p.socketNames {
			// Directories on the way are links inside as they are outside.
			at := filepath.Join(p.facts.Canonical(filepath.Dir(name)), filepath.Base(name))
			if p.facts.Canonical(name) == real && at != real {
				links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: at, Source: real, Optional: true, Reason: reason})
			}
		}
	}
	return binds, links, nil
}

// badSocket says why a socket is not granted, "" for one that is.
func (p *Prepared) badSocket(real string) string {
	st, err := os.Lstat(real)
	switch {
	case err != nil:
		return "does not exist or cannot be seen"
	case st.Mode().Type() != fs.ModeSocket:
		return "is no socket"
	}
	if own, ok := st.Sys().(*syscall.Stat_t); !ok || own.Uid != 0 && int(own.Uid) != p.uid {
		return "is another user's"
	}
	return ""
}

// grantedSocket says whether a socket is not to be masked.
func (p *Prepared) grantedSocket(real string) bool {
	for _, v := range p.Policy.UnixSockets {
		if granted, _ := p.facts.Resolve(v.V); granted == real {
			return true
		}
	}
	return false
}
