package hostview

// InspectSystem is the part of a view that a policy may ask for by a name: the
// system directories with the links at the root, what they point to, and, where
// names can be resolved, the files for that. It has no rule and no secret.
func InspectSystem(o Options, names bool) (*View, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	in := newInspector(o)
	in.system()
	if names {
		in.names()
	}
	in.out.finish()
	in.out.view.Rules = nil
	return in.out.view, nil
}

// Links are the links on the way to absolute places, each once.
func Links(places []string) []Symlink {
	h := newHost("")
	var out []Symlink
	seen := make(map[string]bool)
	for _, p := range places {
		for _, l := range h.walk(p).hops {
			if !seen[l.Path] {
				seen[l.Path] = true
				out = append(out, l)
			}
		}
	}
	return out
}
