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
	noted              func(api.Approval, api.AuditWho) // told of each question and answer; nil for nobody
	waits              func(api.Approval)               // told of each question; must not wait; nil for nobody

	mu      sync.Mutex
	pending map[string]*waiting
	done    []api.Approval       // answered, the newest last
	refused map[string]time.Time // when a mode of the control was asked for in vain
	closed  bool
}

type waiting struct {
	approval api.Approval
	answer   chan verdict // buffered; sent once, by whoever took it out of pending
	asker    api.AuditWho
	wants    string // the mode of the control, where that is what was asked for
}

// verdict is how an operation was decided; scope is one of its scopes, "" for once,
// how one of the api.Answer constants.
type verdict struct {
	granted bool
	scope   string
	how     string
	by      api.AuditWho
}

func newQueue(workspace, project string, emit func(api.Event)) *queue {
	return &queue{workspace: workspace, project: project, emit: emit, pending: make(map[string]*waiting), refused: make(map[string]time.Time)}
}

// ask waits for an answer; without one it is no.
func (q *queue) ask(ctx context.Context, a api.Approval, deadline time.Time) verdict {
	w := q.add(a, deadline)
	if w == nil {
		return verdict{how: api.AnswerEnded}
	}
	return q.wait(ctx, w)
}

// wait waits for the answer to what is in the queue.
func (q *queue) wait(ctx context.Context, w *waiting) verdict {
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
	if !q.take(w.approval.ID, how, verdict{by: bySupervisor}) {
		return <-w.answer // somebody was faster
	}
	return verdict{how: how}
}

// add puts an operation of somebody inside into the queue; nil when it is denied at once.
func (q *queue) add(a api.Approval, deadline time.Time) *waiting {
	return q.put(&waiting{approval: a, asker: api.AuditWho{Kind: api.WhoInside}}, deadline)
}

func (q *queue) put(w *waiting, deadline time.Time) *waiting {
	a := w.approval
	if a.ID = ""; len(a.Subject) > maxSubject {
		q.denied(a)
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
	w.answer = make(chan verdict, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || len(q.pending) >= maxPending || !deadline.After(now) {
		q.denied(a)
		return nil
	}
	for a.ID = newID(); q.pending[a.ID] != nil; a.ID = newID() {
	}
	w.approval = a
	q.pending[a.ID] = w
	q.emit(api.Event{Kind: api.EventAsked, Approval: &a})
	if q.noted != nil {
		q.noted(a, w.asker)
	}
	if q.waits != nil {
		q.waits(a)
	}
	return w
}

var bySupervisor = api.AuditWho{Kind: api.WhoSupervisor}

// denied tells of what was denied without a question.
func (q *queue) denied(a api.Approval) {
	if a.Answer = api.AnswerDenied; q.noted != nil {
		q.noted(a, bySupervisor)
	}
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

// claim takes an entry out of the queue that finish decides; nil when it was over
// already.
func (q *queue) claim(id string) *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.pending[id]
	if w == nil || !time.Now().Before(w.approval.Deadline) {
		return nil
	}
	delete(q.pending, id)
	return w
}

func (q *queue) finish(w *waiting, how string, v verdict) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.end(w, how, v)
}

// keptAnswers is how many are told of after they were answered.
const keptAnswers = 128

// end decides an entry; the lock is held.
func (q *queue) end(w *waiting, how string, v verdict) {
	delete(q.pending, w.approval.ID)
	if w.wants != "" && (how == api.AnswerDenied || how == api.AnswerExpired) {
		q.refused[w.wants] = time.Now()
	}
	done := w.approval
	done.Answer = how
	if q.done = append(q.done, done); len(q.done) > keptAnswers {
		q.done = slices.Delete(q.done, 0, 1)
	}
	if q.noted != nil {
		q.noted(done, v.by)
	}
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

// find gives one by its whole id, also when it was answered lately.
func (q *queue) find(id string) (api.Approval, bool) {
	if a, ok := q.get(id); ok {
		return a, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range slices.Backward(q.done) {
		if a.ID == id {
			return a, true
		}
	}
	return api.Approval{}, false
}

// wants gives the question for a mode of the control that waits.
func (q *queue) wants(mode string) (api.Approval, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.pending {
		if w.wants == mode {
			return w.approval, true
		}
	}
	return api.Approval{}, false
}

// inVain says when a mode was asked for last and was refused, or got no answer.
func (q *queue) inVain(mode string) time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refused[mode]
}

// ofControl says whether what waits is a question for the control.
func (q *queue) ofControl(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.pending[id] != nil && q.pending[id].wants != ""
}

// dropWanted ends the questions for the control: it is another one now.
func (q *queue) dropWanted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range q.pending {
		if w.wants != "" {
			q.end(w, api.AnswerEnded, verdict{by: bySupervisor})
		}
	}
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
		q.end(w, api.AnswerEnded, verdict{by: bySupervisor})
	}
}

// newID is short: a person types it.
func newID() string {
	var b [3]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
