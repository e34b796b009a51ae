package writer

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkDueLooks asks what is to be looked at, of as many files as are watched at most.
// Nothing can be changed meanwhile.
func BenchmarkDueLooks(b *testing.B) {
	d := NewDesk(b)
	for i := range maxWatched {
		d.Put(b, fmt.Sprintf("f%d", i), "by the step")
	}
	d.W.grants.stop() // only what follows looks
	d.W.mu.Lock()
	d.W.grants.of = make(map[*grant]bool)
	for i := range maxWatched {
		d.W.grants.of[d.W.tree.find(d.At(fmt.Sprintf("f%d", i))).is.grant()] = true
	}
	for g := range d.W.grants.of {
		g.due = time.Time{}
	}
	d.W.mu.Unlock()
	for b.Loop() {
		if looks, _, _ := d.W.dueLooks(); len(looks) != manyLooks {
			b.Fatalf("%d looks", len(looks))
		}
	}
}
