package history

import "testing"

// TestPowerLostInADiscard: what is not discarded keeps all that it needs.
func TestPowerLostInADiscard(t *testing.T) {
	one := memory(t)
	for _, all := range []bool{false, true} {
		p := newPower(t, one, one)
		p.step(func(t fataler, d *desk) { d.write(t, "a", "first"); d.remove(t, "od\xffd\n") })
		p.step(func(t fataler, d *desk) { d.removeAll(t, "dir"); d.write(t, "a", "second") })
		p.desk.close(t)
		p.step(func(t fataler, d *desk) { d.rename(t, "a", "b"); d.write(t, "l1", "third") })
		p.desk.close(t)
		p.all()
		from := p.now()
		discard := func() {
			if _, err := p.store.Discard([]uint64{1}, false, false); err != nil {
				t.Fatal(err)
			}
			if all {
				if _, err := p.store.Discard(nil, true, false); err != nil {
					t.Fatal(err)
				}
			}
		}
		discard()
		p.losses(from, func(at int, when string, l *loss) {
			p.restore(l)
			p.reopen(when, true)
			p.checkDiscarded(all, when)
			p.store.Close()
		})
	}
}

// checkDiscarded looks whether a step is there with all that it kept, or not at
// all, before and after the discard is made again.
func (p *power) checkDiscarded(all bool, when string) {
	p.t.Helper()
	for range 2 {
		p.checkVerified(1<<30, when)
		l, err := p.store.Read()
		if err != nil || len(l.Damaged) > 0 || !all && (l.Step(2) == nil || l.Step(3) == nil) {
			p.t.Fatalf("%s: %v %v", when, err, l)
		}
		if n, err := p.store.NextNumber(); err != nil || n <= 3 {
			p.t.Fatalf("%s: the next number is %d %v", when, n, err)
		}
		if _, err := p.store.Collect(false); err != nil {
			p.t.Fatalf("%s: gc: %v", when, err)
		}
	}
	l, err := p.store.Read()
	if err != nil {
		p.t.Fatalf("%s: %v", when, err)
	}
	var steps []uint64
	for _, s := range l.Changes() {
		steps = append(steps, s.Number)
	}
	if len(steps) == 0 {
		return
	}
	if _, err = p.store.Undo(l, Request{Steps: steps, Roots: []string{p.root}}); err != nil {
		p.t.Fatalf("%s: undo of %v: %v", when, steps, err)
	}
	if got, want := snapshot(p.t, p.root), p.marks[3-len(steps)].before; got != want {
		p.t.Fatalf("%s: undo of %v:\n%s", when, steps, apart(got, want))
	}
}
