package history

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDueLooks asks what is to be looked at, of as many files as are watched at most.
// Nothing can be changed meanwhile.
func BenchmarkDueLooks(b *testing.B) {
	d := newDesk(b)
	d.begin(b)
	for i := range maxWatched {
		d.put(b, fmt.Sprintf("f%d", i), "by the step")
	}
	d.w.grants.stop() // only what follows looks
	d.w.mu.Lock()
	d.w.grants.of = make(map[*grant]bool)
	for i := range maxWatched {
		d.w.grants.of[d.w.tree.find(d.at(fmt.Sprintf("f%d", i))).is.grant()] = true
	}
	for g := range d.w.grants.of {
		g.due = time.Time{}
	}
	d.w.mu.Unlock()
	for b.Loop() {
		if looks, _, _ := d.w.dueLooks(); len(looks) != manyLooks {
			b.Fatalf("%d looks", len(looks))
		}
	}
}
