package hostsockets

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

// Binds grants single sockets of the host, each at its own path. What is
// bound is the socket that was looked at: another one in its place is refused.
func (s *Search) Binds() (binds, links []sandbox.Mount, err error) {
	for _, v := range s.Policy.UnixSockets {
		real, _ := s.Facts.Resolve(v.V)
		if why := s.bad(real); why != "" {
			return nil, nil, &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: v.V, Rule: "network.unix_sockets", Source: v.Source.String(),
				Message: fmt.Sprintf("%s: %q %s", v.Source.Text, v.V, why), Hint: "name one socket file of your own or root's, by its path"}
		}
		if slices.ContainsFunc(binds, func(m sandbox.Mount) bool { return m.Target == real }) {
			continue
		}
		reason := "socket granted by " + v.Source.String()
		binds = append(binds, sandbox.Mount{Kind: sandbox.MountBind, Target: real, Source: real, ReadOnly: true, Reason: reason})
		for _, name := range s.Names {
			// Directories on the way are links inside as they are outside.
			at := filepath.Join(s.Facts.Canonical(filepath.Dir(name)), filepath.Base(name))
			if s.Facts.Canonical(name) == real && at != real {
				links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: at, Source: real, Optional: true, Reason: reason})
			}
		}
	}
	return binds, links, nil
}

// bad says why a socket is not granted, "" for one that is.
func (s *Search) bad(real string) string {
	st, err := os.Lstat(real)
	switch {
	case err != nil:
		return "does not exist or cannot be seen"
	case st.Mode().Type() != fs.ModeSocket:
		return "is no socket"
	}
	if own, ok := st.Sys().(*syscall.Stat_t); !ok || own.Uid != 0 && int(own.Uid) != s.UID {
		return "is another user's"
	}
	return ""
}

// Granted says whether a socket is not to be masked.
func (s *Search) Granted(real string) bool {
	for _, v := range s.Policy.UnixSockets {
		if at, _ := s.Facts.Resolve(v.V); at == real {
			return true
		}
	}
	return false
}
