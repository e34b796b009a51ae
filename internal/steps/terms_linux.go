package steps

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/history"

	"golang.org/x/sys/unix"
)

// terms are what the owner of a workspace wants to be asked about, and how much is kept.
// They only ever add to the user's safeguards: what those hold, a person answers.
type terms struct{ now atomic.Pointer[api.Terms] }

// get gives the terms, nil where the owner has none. Every change asks.
func (t *terms) get() *api.Terms {
	if t == nil {
		return nil
	}
	return t.now.Load()
}

// limits are those of the history: the usual ones where the owner says nothing.
func (t *terms) limits(usual history.Limits) history.Limits {
	now := t.get()
	if now == nil {
		return usual
	}
	for _, one := range []struct {
		said *int64
		of   *int64
	}{{now.MaxBytes, &usual.Bytes}, {now.MaxSteps, &usual.Steps}, {now.MaxStepBytes, &usual.StepBytes}} {
		if one.said != nil {
			*one.of = *one.said
		}
	}
	return usual
}

// termCount is what a command has done of what the owner counts. Where its steps end is up to
// the command, and does not begin the count anew; that it has counted nothing for a while
// does, so that one that runs for days is asked about again.
type termCount struct {
	mu      sync.Mutex
	last    time.Time
	removed int64
	sample  []string // the first paths that were removed
	allowed []string // terms that were spoken of
	refused bool     // the owner said no: nothing more may happen
}

// Bounds of terms.
const (
	maxSample   = 64
	usualWithin = 30 * time.Second
)

// termed holds a change to the owner's terms. The lock of the gate is held.
func (l *line) termed(ch *broker.Change) error {
	now := l.terms.get()
	if now == nil || now.Deletes == 0 && now.Overwrites == 0 && !now.Replaces {
		return nil
	}
	term, why, no := l.perTerm.count(ch, now, time.Now())
	if no {
		return &heldError{path: ch.Path, why: "the workspace's owner refused what this command did, and it does no more", owner: true}
	}
	if term == "" {
		return nil
	}
	within := usualWithin
	if now.Within > 0 {
		within = time.Duration(now.Within) * time.Millisecond
	}
	a := api.Approval{Subject: ch.Path, Reason: why, Term: term, Sample: l.perTerm.shown(term, ch), Hint: "it is the owner's to answer; a person may, too"}
	q := question{a, within, func() (bool, bool) { return l.perTerm.answered(term) }, func(yes bool) { l.perTerm.settle(term, yes) }}
	if l.guard.granted(ch, q) {
		return nil
	}
	return &heldError{path: ch.Path, why: why, owner: true}
}

// count adds a change, and says which term holds it, "" for none, and whether the command
// was refused.
func (o *termCount) count(ch *broker.Change, t *api.Terms, at time.Time) (term, why string, no bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if at.Sub(o.last) > window && !o.refused {
		o.removed, o.sample, o.allowed = 0, nil, nil
	}
	if o.refused {
		return "", "", true
	}
	switch ch.Op {
	case broker.OpUnlink, broker.OpRmdir:
		o.last = at
		if o.removed++; len(o.sample) < maxSample {
			o.sample = append(o.sample, ch.Path)
		}
		if t.Deletes > 0 && o.removed >= t.Deletes {
			term, why = api.TermDeletes, fmt.Sprintf("%d names removed by this command, the threshold is %d", o.removed, t.Deletes)
		}
	case broker.OpOpen, broker.OpTruncate:
		if t.Overwrites > 0 && ch.Kind == broker.KindFile {
			term, why = overwrites(sizeOf(ch.Pinned, ch.Dir, ch.Name), t)
		}
	case broker.OpRename:
		switch {
		case ch.Over == broker.KindNone:
		case t.Replaces && !slices.Contains(o.allowed, api.TermReplaces):
			term, why = api.TermReplaces, fmt.Sprintf("%q is renamed over what is at %q", ch.Path, ch.To)
		case t.Overwrites > 0 && ch.Over == broker.KindFile:
			term, why = overwrites(sizeOf(0, ch.ToDir, ch.ToName), t)
		}
	}
	if slices.Contains(o.allowed, term) {
		term = ""
	}
	return term, why, false
}

// overwrites says whether a file of a size is too large to be overwritten unasked.
func overwrites(size int64, t *api.Terms) (term, why string) {
	if size < t.Overwrites {
		return "", ""
	}
	return api.TermOverwrites, fmt.Sprintf("a file of %d bytes is to be overwritten, the threshold is %d", size, t.Overwrites)
}

// sizeOf is that of a file, by a descriptor of its own or by its directory and name, in
// bytes; -1 where it is not known.
func sizeOf(pinned, dir int, name string) int64 {
	var st unix.Stat_t
	err := error(unix.EBADF)
	switch {
	case pinned > 0:
		err = unix.Fstat(pinned, &st)
	case dir >= 0 && name != "":
		err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil {
		return -1
	}
	return st.Size
}

// shown are the paths that a question tells of.
func (o *termCount) shown(term string, ch *broker.Change) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	paths := []string{ch.Path}
	switch term {
	case api.TermDeletes:
		paths = slices.Clone(o.sample)
	case api.TermReplaces:
		paths = append(paths, ch.To)
	}
	for i, p := range paths {
		if !utf8.ValidString(p) {
			paths[i] = strconv.Quote(p)
		}
	}
	return paths
}

// answered says what came of a question that another change of the command has asked
// meanwhile.
func (o *termCount) answered(term string) (yes, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.allowed, term), o.refused || slices.Contains(o.allowed, term)
}

func (o *termCount) settle(term string, yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !yes:
		o.refused = true
	case !slices.Contains(o.allowed, term):
		o.allowed = append(o.allowed, term)
	}
}
