package supervisor

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"carrel/internal/api"
)

func soon() time.Time { return time.Now().Add(30 * time.Second) }

// waitFor polls until ok.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func TestQueueAnswers(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	q := newQueue("abc", "/p", func(e api.Event) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, e.Kind+" "+e.Approval.Answer)
	})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name     string
		ctx      context.Context
		deadline time.Time
		how      string // answers given to the operation
		want     bool
		event    string
	}{
		{"approved", context.Background(), soon(), api.AnswerApproved, true, "approval-answered approved"},
		{"denied", context.Background(), soon(), api.AnswerDenied, false, "approval-answered denied"},
		{"nobody", context.Background(), time.Now().Add(20 * time.Millisecond), "", false, "approval-answered expired"},
		{"the caller goes", cancelled, soon(), "", false, "approval-answered ended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make(chan bool)
			go func() { got <- q.ask(c.ctx, api.Approval{Operation: "write", Subject: "x"}, c.deadline).granted }()
			if c.how != "" {
				waitFor(t, "an entry", func() bool { return q.len() == 1 })
				if id := q.list()[0].ID; !q.take(id, c.how, verdict{granted: c.want}) || q.take(id, api.AnswerApproved, verdict{granted: true}) {
					t.Error("the first answer counts, and no other")
				}
			}
			if g := <-got; g != c.want {
				t.Errorf("granted %t", g)
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[len(seen)-1] != c.event {
				t.Errorf("events %q", seen)
			}
			if q.len() != 0 {
				t.Error("something is left in the queue")
			}
		})
	}
}

// TestQueueIsBounded: what is too much or cannot be read is no, at once.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue("abc", "", func(api.Event) {})
	long := api.Approval{Subject: strings.Repeat("x", maxSubject+1)}
	if q.add(long, soon()) != nil {
		t.Error("a subject that nobody can read is in the queue")
	}
	if q.add(api.Approval{}, time.Now()) != nil {
		t.Error("a deadline that is over")
	}
	w := q.add(api.Approval{Subject: "\xff\x1b", Reason: strings.Repeat("r", 3*maxWords)}, time.Now().Add(1000*time.Hour))
	if a := w.approval; a.Subject != `"\xff\x1b"` || len(a.Reason) != maxWords || time.Until(a.Deadline) > maxWait {
		t.Errorf("%+v", a)
	}
	ids := map[string]bool{w.approval.ID: true}
	for range maxPending - 1 {
		ids[q.add(api.Approval{}, soon()).approval.ID] = true
	}
	if len(ids) != maxPending || q.add(api.Approval{}, soon()) != nil {
		t.Errorf("%d wait", len(ids))
	}
	q.close()
	if q.len() != 0 || q.add(api.Approval{}, soon()) != nil {
		t.Error("a closed queue holds something")
	}
	if (<-w.answer).granted {
		t.Error("granted by the end of the workspace")
	}
}

// TestQueueConcurrently: many ask while many answer, with both words, the same
// ones; each operation gets one answer, and it is what the asker is told.
func TestQueueConcurrently(t *testing.T) {
	var approved atomic.Int64
	q := newQueue("abc", "", func(e api.Event) {
		if e.Approval.Answer == api.AnswerApproved {
			approved.Add(1)
		}
	})
	var askers, answerers sync.WaitGroup
	var granted atomic.Int64
	stop := make(chan struct{})
	for i := range 8 {
		answerers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for _, a := range q.list() {
					if i%2 == 0 {
						q.take(a.ID, api.AnswerApproved, verdict{granted: true})
					} else {
						q.take(a.ID, api.AnswerDenied, verdict{})
					}
				}
			}
		})
	}
	for range 100 {
		askers.Go(func() {
			for i := range 20 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
				if q.ask(ctx, api.Approval{}, time.Now().Add(10*time.Millisecond)).granted {
					granted.Add(1)
				}
				cancel()
			}
		})
	}
	askers.Wait()
	close(stop)
	answerers.Wait()
	if granted.Load() != approved.Load() || q.len() != 0 {
		t.Errorf("%d were granted, %d were approved, %d are left", granted.Load(), approved.Load(), q.len())
	}
}

// TestEventsAreBounded: what a caller has told is kept, and passed on, only so far.
func TestEventsAreBounded(t *testing.T) {
	h := newHub("abc")
	_, f := h.subscribe()
	h.emit(api.Event{Kind: api.EventNote, Text: strings.Repeat("x", 1<<20)})
	if e := <-f.events; len(e.Text) != maxEventText {
		t.Errorf("%d bytes", len(e.Text))
	}
}

// TestFollowersAreNeverWaitedFor: one that does not read loses events and is
// told how many.
func TestFollowersAreNeverWaitedFor(t *testing.T) {
	h := newHub("abc")
	_, f := h.subscribe()
	for range followQueue + 10 {
		h.emit(api.Event{Kind: api.EventNote})
	}
	for range followQueue {
		<-f.events
	}
	h.emit(api.Event{Kind: api.EventNote})
	if e := <-f.events; e.Lost != 10 || e.Seq != followQueue+11 {
		t.Errorf("%+v", e)
	}
	kept, late := h.subscribe()
	if len(kept) != keptEvents || kept[keptEvents-1].Seq != followQueue+11 {
		t.Errorf("%d kept", len(kept))
	}
	h.unsubscribe(f)
	h.close()
	if _, ok := <-late.events; ok {
		t.Error("an event after the end")
	}
	h.emit(api.Event{})
	h.close()
}
