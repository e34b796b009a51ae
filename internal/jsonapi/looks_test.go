package jsonapi

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestLooksAreShared: of many commands that end while one looks, those that wait share a
// look, and each is told of its own steps.
func TestLooksAreShared(t *testing.T) {
	var l looks
	var mu sync.Mutex
	calls, most, begun, open := 0, 0, make(chan struct{}), make(chan struct{})
	find := func(steps []uint64) map[uint64][]json.RawMessage {
		mu.Lock()
		calls, most = calls+1, max(most, len(steps))
		if calls == 1 {
			close(begun)
		}
		mu.Unlock()
		<-open
		out := map[uint64][]json.RawMessage{}
		for _, n := range steps {
			if n%10 != 0 { // the rest are told of no more
				out[n] = []json.RawMessage{fmt.Appendf(nil, `"/%d"`, n)}
			}
		}
		return out
	}
	const commands = 250
	var all sync.WaitGroup
	for i := range commands {
		if i == 1 {
			<-begun // the first one looks alone
		}
		all.Go(func() {
			a, b := uint64(2*i+1), uint64(2*i+2)
			want := fmt.Sprintf(`"/%d"`, a)
			if b%10 != 0 {
				want += fmt.Sprintf(`"/%d"`, b)
			}
			got := ""
			for _, one := range l.paths(find, []uint64{a, b}) {
				got += string(one)
			}
			if got != want {
				t.Errorf("command %d changed %s, want %s", i, got, want)
			}
		})
	}
	for waiting := 0; waiting < commands-1; {
		l.mu.Lock()
		waiting = len(l.waiting)
		l.mu.Unlock()
		time.Sleep(time.Millisecond)
	}
	close(open)
	all.Wait()
	if want := 1 + (2*(commands-1)+maxLooks-1)/maxLooks; calls != want || most > maxLooks {
		t.Errorf("%d looks, at up to %d steps, want %d of %d", calls, most, want, maxLooks)
	}
}
