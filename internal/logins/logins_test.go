package logins

import (
	"testing"
	"time"
)

// TestPace: a burst goes through at once, then one each time, however many there are.
func TestPace(t *testing.T) {
	now := time.Unix(1, 0)
	p := pace{left: 3, burst: 3, each: time.Second}
	begin, done := now, 0
	for done = 0; now.Sub(begin) < 10*time.Second; done++ {
		wait := p.take(now)
		if done < 3 && wait != 0 {
			t.Errorf("the %dth waits %s", done+1, wait)
		}
		now = now.Add(wait + time.Millisecond)
	}
	if done < 11 || done > 14 {
		t.Errorf("%d in 10 seconds", done)
	}
	now = now.Add(time.Hour)
	for i := range 3 {
		if wait := p.take(now); wait != 0 {
			t.Errorf("after an hour the %dth waits %s", i+1, wait)
		}
	}
	if p.take(now) == 0 {
		t.Error("an hour was saved up")
	}
}
