// Package notices collects what a workspace has to tell the person it works for: notes, and
// what was refused. Any part of it tells, at any time and from any thread; the end of a
// run, or a workspace that stays, reads.
//
// A flood of requests from inside fills neither memory nor a log: how much is told of
// one kind is bounded, and so is the length of what it is about.
package notices

import (
	"fmt"
	"slices"
	"sync"

	"carrel/internal/api"
)

// Bounds on what a flood of requests from inside can leave in memory and log.
const (
	MaxDenials = 100 // of one kind, in a run
	MaxSubject = 256 // bytes of what a denial is about

	stays = 100 // times as many of all that a workspace that stays will ever run
)

// Log is what was told so far. The zero value is empty and ready.
type Log struct {
	mu      sync.Mutex
	heard   func(api.Denial)
	notes   []string
	denials []api.Denial
}

// Note adds a note, formatted as by [fmt.Sprintf].
func (l *Log) Note(format string, args ...any) { l.AddNotes(fmt.Sprintf(format, args...)) }

// AddNotes adds notes as they are.
func (l *Log) AddNotes(notes ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.notes = append(l.notes, notes...)
}

// NoteOnce adds a note, unless it is there.
func (l *Log) NoteOnce(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// Noted gives the notes so far; others may go on telling.
func (l *Log) Noted() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.notes)
}

// Passing gives a function that takes back the notes of since: what is only tried
// tells nothing.
func (l *Log) Passing() (over func()) {
	before := l.Noted()
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.notes = before
	}
}

// Hear has each refusal told to a function at once, instead of kept for the end. It is
// set before anything can be refused.
func (l *Log) Hear(heard func(api.Denial)) { l.heard = heard }

// Heard is what refusals are told to at once, nil where they are kept.
func (l *Log) Heard() func(api.Denial) { return l.heard }

// Deny tells of refusals.
func (l *Log) Deny(d ...api.Denial) {
	if l.heard != nil {
		for i := range d {
			l.heard(d[i])
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.denials = append(l.denials, d...)
}

// Refused gives the refusals that were kept so far.
func (l *Log) Refused() []api.Denial {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.denials)
}

// MostDenials is how many different refusals of one kind are told.
func (l *Log) MostDenials() int {
	if l.heard == nil {
		return MaxDenials
	}
	return MaxDenials * stays
}

// DenyBounded gives a way to tell of refusals that programs inside cause: no more than
// [Log.MostDenials] of them, and none about more than [MaxSubject] bytes.
func (l *Log) DenyBounded() func(api.Denial) {
	var mu sync.Mutex
	var told int
	return func(d api.Denial) {
		mu.Lock()
		told++
		over := told > l.MostDenials()
		mu.Unlock()
		if over {
			return
		}
		d.Subject = d.Subject[:min(len(d.Subject), MaxSubject)]
		l.Deny(d)
	}
}
