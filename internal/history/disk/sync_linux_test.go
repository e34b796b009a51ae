package disk

import (
	"errors"
	"sync"
	"testing"
)

// TestTogether: what may go together does, all of it is done, and an error is kept.
func TestTogether(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := func() error { // ends only where the other one runs, too
		both.Done()
		both.Wait()
		return nil
	}
	if err := Together([]func() error{meet, meet}); err != nil {
		t.Fatal(err)
	}
	why := errors.New("why")
	var mu sync.Mutex
	done := 0
	many := []func() error{func() error { return why }}
	for range 3 * atOnce {
		many = append(many, func() error {
			mu.Lock()
			defer mu.Unlock()
			done++
			return nil
		})
	}
	if err := Together(many); !errors.Is(err, why) || done != 3*atOnce {
		t.Errorf("%v, %d of %d done", err, done, 3*atOnce)
	}
	if err := Together(nil); err != nil {
		t.Error(err)
	}
}

// TestTogetherWatched: an observer sees one after the other, up to the first error.
func TestTogetherWatched(t *testing.T) {
	Synced = func(int, bool) {}
	defer func() { Synced = nil }()
	var order []int
	var all []func() error
	for i := range 5 {
		all = append(all, func() error {
			order = append(order, i)
			if i == 3 {
				return errors.New("why")
			}
			return nil
		})
	}
	if err := Together(all); err == nil || len(order) != 4 || order[0] != 0 || order[3] != 3 {
		t.Errorf("%v, %v", err, order)
	}
}
