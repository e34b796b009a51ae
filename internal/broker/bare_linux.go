package broker

// unheld says whether nothing native keeps the metadata of what lies at a path,
// which is in no root, from the caller's change.
func (w *worker) unheld(path string) bool {
	if !w.b.config.Bare {
		return false
	}
	for _, f := range w.b.config.Free {
		if path == f || len(path) > len(f) && path[:len(f)] == f && path[len(f)] == '/' {
			return false
		}
	}
	return true
}
