package interceptor

import (
	"carrel/internal/broker"
	"carrel/internal/broker/judged"

	"golang.org/x/sys/unix"
)

// replaceVetted carries out a rename over a file that is judged by its content. What was read is
// what is put there, in a file of our own: a descriptor of the old one changes nothing.
func (a *act) replaceVetted(ch *broker.Change, v broker.Verdict) error {
	after, st, err := judged.ReadAt(ch.Dir, ch.Name, v.Most)
	if err != nil {
		return err
	}
	before, _, err := judged.ReadAt(ch.ToDir, ch.ToName, v.Most)
	if err != nil && err != unix.ENOENT {
		return err
	}
	if err := v.Vet(before, after); err != nil {
		v.Allowed, v.Vet, v.Rule = false, nil, v.Rule+": "+err.Error()
		return a.refuse(ch, v)
	}
	ch.Copied = true
	return a.carryOut(ch, func() error {
		return judged.Replace(judged.Copy{Dir: ch.Dir, Name: ch.Name, ToDir: ch.ToDir, ToName: ch.ToName, New: ch.New, Data: after, Like: st})
	})
}
