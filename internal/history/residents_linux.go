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

// occupied finds what an undo of a later step left alone where this one brings
// something back: in a directory that the step made, and that cannot go so. It is
// asked after residents, without which nobody knows of any such thing.
func (u *undo) occupied(roots []root, p *Plan, later []*Step) (out []Conflict) {
	if len(u.ignored) == 0 {
		return nil
	}
	carried := carriers(p.Step.Posts())
	for i := range p.actions {
		a := &p.actions[i]
		switch a.Verb {
		case put, empty, mkdir, symlink, mknod, link:
		default:
			continue
		}
		at := string(a.Path)
		now := u.log.located(at, later)
		if _, own := p.Step.PostOf(at); own || carried(at) != "" || !u.spared(now) {
			continue // what the step left there is looked at before, and what lies in what it moved goes with that
		}
		found, err := lookIn(roots, now)
		if err == nil && found.Kind != Absent && (a.Verb != mkdir || found.Kind != Dir) {
			out = append(out, Conflict{Path: at, Found: found, Why: "it is ignored by history.ignore, and in the place of what comes back"})
		}
	}
	return out
}

// around makes a plan that does without the places that are occupied, or gives what
// is there another name.
func (u *undo) around(p *Plan, occupied []Conflict, again func() *Plan) *Plan {
	switch {
	case len(occupied) == 0:
	case u.req.Mode == Skip:
		return again()
	case u.req.Mode == KeepBoth:
		var first []action
		for _, c := range occupied {
			dir := parentOf(c.Path)
			name := beside(c.Path[len(dir)+1:], 1)
			u.ignored[join(dir, name)] = true // so the directory stays for it as it did
			first = append(first, action{Verb: aside, Path: Bytes(c.Path), State: State{Kind: c.Found.Kind, ID: c.Found.ID, Target: Bytes(name)}})
		}
		p.actions = append(first, p.actions...)
	}
	return p
}
