package keys

import (
	"fmt"
	"sync"
	"time"
)

// Bounds of how often programs inside can have something done. What signs many commits
// in a row, as a rebase, passes.
const (
	rateBurst  = 500
	rateSecond = 5
)

// Rate bounds how often something is done: so many times at once, then so many a second.
type Rate struct {
	mu   sync.Mutex
	used float64
	at   time.Time
}

// Spend takes from it; the error says that nothing is left.
func (r *Rate) Spend() error { return r.spendAt(time.Now()) }

func (r *Rate) spendAt(now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = max(0, r.used-now.Sub(r.at).Seconds()*rateSecond)
	if r.at = now; r.used >= rateBurst {
		return fmt.Errorf("more than %d requests at once, and %d a second after those, are too many", rateBurst, rateSecond)
	}
	r.used++
	return nil
}
