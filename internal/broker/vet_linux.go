package broker

import (
	"carrel/internal/broker/judged"

	"golang.org/x/sys/unix"
)

// replaceVetted carries out a rename over a file whose content matters. What
// was read is what is put there, in a file of our own: whoever still has the
// old one open, mapped or linked under another name changes nothing by it.
func (w *deciding) replaceVetted(ch *Change, v Verdict) error {
	after, st, err := judged.ReadAt(ch.Dir, ch.Name, v.Most)
	if err != nil {
		return err
	}
	before, _, err := judged.ReadAt(ch.ToDir, ch.ToName, v.Most)
	if err != nil && err != unix.ENOENT {
		return err
	}
	if err := v.Vet(before, after); err != nil {
		v.Rule += ": " + err.Error()
		return w.refuse(ch, v)
	}
	if !w.trap.Valid(w.call.ID) {
		return errAnswered
	}
	ch.Wait, ch.TID, ch.Copied = w.wait, w.call.TID, true
	if err := w.b.config.Recorder.Before(ch); err != nil {
		return errno(err)
	}
	err = judged.Replace(judged.Copy{Dir: ch.Dir, Name: ch.Name, ToDir: ch.ToDir, ToName: ch.ToName, New: ch.New, Data: after, Like: st})
	w.b.config.Recorder.After(ch, err)
	return err
}
