package policy

import "slices"

// Canonical returns the layers and the ceiling with every path of the machine
// replaced by what resolve makes of it, so that a symlink cannot lead out of
// what is decided. resolve gets an absolute clean path and returns the one
// without symlinks (of the nearest part that exists, where the path does not).
//
// A grant moves to the resolved path. A deny stays where it was written and
// holds at the resolved path too. Globs are kept: they match names, and the
// caller looks up resolved paths. Places that cannot be resolved by their
// letters are kept as well, for Decide to report.
func Canonical(scope Scope, ceiling *Ceiling, layers []Layer, resolve func(string) string) (*Ceiling, []Layer) {
	out := make([]Layer, len(layers))
	for i, l := range layers {
		l.Request.Files = canonicalFiles(scope, l.Request.Files, resolve)
		l.Request.UnixSockets = canonicalSockets(atHome(scope, l.Request.UnixSockets), resolve)
		l.Ceiling = canonicalCeiling(l.Ceiling, resolve)
		out[i] = l
	}
	return canonicalCeiling(ceiling, resolve), out
}

func canonicalFiles(scope Scope, files []FileRequest, resolve func(string) string) []FileRequest {
	out := make([]FileRequest, 0, len(files))
	for _, r := range files {
		places, err := Resolve(scope, r)
		if err != nil || r.Glob {
			out = append(out, r)
			continue
		}
		for _, p := range places {
			target := resolve(p)
			if p != scope.Tmp { // the private directory is not the host's
				r.Place = target
			} else {
				r.Place = p
			}
			out = append(out, r)
			if r.Access == Deny && target != p {
				r.Place = p
				out = append(out, r)
			}
		}
	}
	return out
}

// canonicalSockets keeps an empty list one that is there.
func canonicalSockets(list []Value[string], resolve func(string) string) []Value[string] {
	out := slices.Clone(list)
	for i := range out {
		if isCleanAbs(out[i].V) {
			out[i].V = resolve(out[i].V)
		}
	}
	return out
}

func canonicalCeiling(c *Ceiling, resolve func(string) string) *Ceiling {
	if c == nil {
		return nil
	}
	out := *c
	out.UnixSockets = canonicalSockets(c.UnixSockets, resolve)
	out.Mounts = make([]Mount, len(c.Mounts))
	for i, m := range c.Mounts {
		if isCleanAbs(m.HostPath) {
			m.HostPath = resolve(m.HostPath)
		}
		out.Mounts[i] = m
	}
	out.Also = make([]*Ceiling, len(c.Also))
	for i, also := range c.Also {
		out.Also[i] = canonicalCeiling(also, resolve)
	}
	return &out
}
