package broker

import "golang.org/x/sys/unix"

// letGo has the kernel run a call that is not the broker's. With Config.Bare that
// is no answer to a change of metadata, which nothing native would refuse.
func (w *worker) letGo(c *Call) {
	if w.b.config.Bare && w.b.anybody[c.Nr] {
		w.trap.Answer(c.ID, 0, unix.EPERM)
		return
	}
	w.trap.Continue(c.ID)
}

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
