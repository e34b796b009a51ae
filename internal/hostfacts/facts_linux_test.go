package hostfacts

import (
	"sync"
	"testing"

	"carrel/internal/sandbox"
)

// TestFactsAtOnce: requests of several programs ask for facts at the same time.
func TestFactsAtOnce(t *testing.T) {
	dir := t.TempDir()
	f := New()
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for n := range 500 {
				f.Canonical(dir + "/" + string(rune('a'+(i+n)%26)) + "/x")
				f.Identity(dir)
				if n%50 == 0 {
					f.Forget(dir)
					f.ForgetBelow(dir)
				}
			}
		})
	}
	asking.Wait()
	if _, kind := f.Resolve(dir); kind != sandbox.KindDir {
		t.Errorf("%s is %v", dir, kind)
	}
}
