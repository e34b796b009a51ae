package history

// spared says whether some step left something at a path that no undo takes away,
// as it is ignored.
func (u *undo) spared(path string) bool {
	if u.ignored == nil {
		u.ignored = make(map[string]bool)
		for _, st := range u.log.known {
			for at, left := range st.spares().left {
				u.ignored[at] = u.ignored[at] || left
			}
		}
	}
	return u.ignored[path]
}

// allSpared says whether nothing else than that lies in a directory.
func (u *undo) allSpared(dir string) bool {
	names, err := namesIn(u.roots, dir)
	for _, n := range names {
		at := join(dir, n)
		if u.spared(at) {
			continue
		}
		if found, err := lookIn(u.roots, at); err != nil || found.Kind != Dir || !u.allSpared(at) {
			return false
		}
	}
	return err == nil && len(names) > 0
}
