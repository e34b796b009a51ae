package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
)

// Bounds of the approvals queue.
const (
	maxPending = 64        // more are denied at once
	maxWait    = time.Hour // whatever deadline was asked for
	maxSubject = 4096      // bytes; no path is longer. Longer ones are denied: nobody could read what they approve
	maxWords   = 1024      // bytes of each other text, cut
)

// queue holds operations until somebody answers, the deadline passes, or the
// workspace ends. Whoever takes an entry out of pending decides it: that is
// how the first answer wins.
type queue struct {
	workspace, project string
	emit               func(api.Event)

	mu      sync.Mutex
	pending map[string]*waiting
	closed  bool
}

type waiting struct {
	approval api.Approval
	answer   chan verdict // buffered; sent once, by whoever took it out of pending
}

// verdict is how an operation was decided; scope is one of its scopes, "" for once,
// how one of the api.Answer constants.
type verdict struct {
	granted bool
	scope   string
	how     string
}

func newQueue(workspace, project string, emit func(api.Event)) *queue {
	return &queue{workspace: workspace, project: project, emit: emit, pending: make(map[string]*waiting)}
}

// ask waits for an answer; without one it is no.
func (q *queue) ask(ctx context.Context, a api.Approval, deadline time.Time) verdict {
	w := q.add(a, deadline)
	if w == nil {
		return verdict{how: api.AnswerEnded}
	}
	timer := time.NewTimer(time.Until(w.approval.Deadline))
	defer timer.Stop()
	var how string
	select {
	case v := <-w.answer:
		return v
	case <-timer.C:
		how = api.AnswerExpired
	case <-ctx.Done():
		how = api.AnswerEnded
	}
	if !q.take(w.approval.ID, how, verdict{}) {
		return <-w.answer // somebody was faster
	}
	return verdict{how: how}
}

// add puts an operation into the queue; nil when it is denied at once.
func (q *queue) add(a api.Approval, deadline time.Time) *waiting {
	if len(a.Subject) > maxSubject {
		return nil
	}
	now := time.Now()
	if last := now.Add(maxWait); deadline.After(last) {
		deadline = last
	}
	if !utf8.ValidString(a.Subject) {
		a.Subject = strconv.Quote(a.Subject)
	}
	for _, text := range []*string{&a.Operation, &a.Rule, &a.Source, &a.Reason, &a.Hint} {
		*text = (*text)[:min(len(*text), maxWords)]
	}
	a.Workspace, a.Project, a.Asked, a.Deadline, a.Answer = q.workspace, q.project, now, deadline, ""
	w := &waiting{answer: make(chan verdict, 1)}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.pending) >= maxPending || !deadline.After(now) {
		return nil
	}
	for a.ID = newID(); q.pending[a.ID] != nil; a.ID = newID() {
	}
	w.approval = a
	q.pending[a.ID] = w
	q.emit(api.Event{Kind: api.EventAsked, Approval: &a})
	return w
}

// take ends the wait of one operation; false when it was over already.
func (q *queue) take(id, how string, v verdict) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.pending[id]
	if w == nil || v.granted && !time.Now().Before(w.approval.Deadline) {
		return false
	}
	q.end(w, how, v)
	return true
}

// end decides an entry; the lock is held.
func (q *queue) end(w *waiting, how string, v verdict) {
	delete(q.pending, w.approval.ID)
	done := w.approval
	done.Answer = how
	q.emit(api.Event{Kind: api.EventAnswered, Approval: &done})
	v.how = how
	w.answer <- v
}

// get gives a waiting operation by its whole id.
func (q *queue) get(id string) (api.Approval, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.pending[id]; w != nil {
		return w.approval, true
	}
	return api.Approval{}, false
}

// list gives what waits, oldest first.
func (q *queue) list() []api.Approval {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]api.Approval, 0, len(q.pending))
	for _, w := range q.pending {
		out = append(out, w.approval)
	}
	slices.SortFunc(out, func(a, b api.Approval) int { return a.Asked.Compare(b.Asked) })
	return out
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.pending)
}

// close denies what waits and what comes.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, w := range q.pending {
		q.end(w, api.AnswerEnded, verdict{})
	}
}

// newID is short: a person types it.
func newID() string {
	var b [3]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
