package history

// residents finds what lies in directories that the step made and an undo would
// remove, though neither the step nor one of the later ones put it there.
func (u *undo) residents(roots []root, p *Plan, posts *found, later []*Step) (out []Conflict) {
	before := make([]func(string) string, len(later)) // newest first
	for i, e := range later {
		before[i] = carriers(e.Posts())
	}
	for _, a := range p.actions {
		if a.Verb != rmdir {
			continue
		}
		dir := u.log.located(string(a.Path), later)
		names, err := namesIn(roots, dir)
		if err != nil {
			continue
		}
		for _, n := range names {
			now := join(dir, n)
			at := asLeftBy(now, later, before)
			if parentOf(at) != string(a.Path) || posts.at(at).Kind != Absent || u.spared(now) {
				continue // it goes with a later step, or with this one
			}
			found, _ := lookIn(roots, now)
			out = append(out, Conflict{Path: at, Found: found, Why: "it is in a directory that the step made, and not the step's"})
		}
	}
	return out
}

// asLeftBy gives what a path was called before some steps, newest first; "" for what
// one of them has made.
func asLeftBy(path string, later []*Step, before []func(string) string) string {
	for i, e := range later {
		if post, ok := e.PostOf(path); ok && post.State.Kind != Absent {
			path = string(post.Origin)
		} else {
			path = before[i](path)
		}
		if path == "" {
			return ""
		}
	}
	return path
}
