package broker

import "golang.org/x/sys/unix"

func umask(w *worker, c *Call) (int64, error) {
	w.b.umasks.Changing(c.TID, int(c.Args[0]))
	return 0, errNotMine
}

// withUmask runs a creation under the caller's umask. The mode is not computed:
// a default ACL makes the kernel leave the umask out.
//
// The umask stays for the next creation, unless it takes the owner's permissions away: what
// the thread makes for the history and the records is for the owner alone by its mode.
func (w *worker) withUmask(do func() error) error {
	mask := w.b.umasks.Of(w.call.TID)
	w.setUmask(mask)
	if mask&unix.S_IRWXU != 0 {
		defer w.setUmask(w.ownUmask)
	}
	return do()
}

func (w *worker) setUmask(mask int) {
	if mask != w.umask {
		unix.Umask(mask)
		w.umask = mask
	}
}
