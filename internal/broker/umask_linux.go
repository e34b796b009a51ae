package broker

func umask(w *worker, c *Call) (int64, error) {
	w.b.umasks.Changing(c.TID, int(c.Args[0]))
	return 0, errNotMine
}

// withUmask runs a creation under the caller's umask.
func (w *worker) withUmask(do func() error) error {
	return w.fs.Under(w.b.umasks.Of(w.call.TID), do)
}
