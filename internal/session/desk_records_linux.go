package session

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/spool"
)

// deskRecords is what is written down of one workspace that stays: its events, and a
// manifest that says how it stands.
type deskRecords struct {
	place    *named.Place
	events   *spool.Lines
	manifest func(state string) api.Desk
	*lifetime

	mu    sync.Mutex
	wrote time.Time // the manifest
	again bool      // it is to be written again soon
}

// How often the manifest is written at most, while apps come and go, and how long after
// the first change at least: a short command is over by then, and did not wait for a disk.
const (
	manifestEvery = 200 * time.Millisecond
	manifestAfter = 50 * time.Millisecond
)

// record writes an event down. The disk's trouble is no reason not to go on.
func (r *deskRecords) record(e api.Event) {
	line, err := json.Marshal(e)
	if err == nil {
		err = r.events.Append(e.Seq, line)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "writing event %d down: %v\n", e.Seq, err)
	}
}

// past reads events that were written down.
func (r *deskRecords) past(since uint64, each func(api.Event) error) error {
	return r.place.Events(since, each)
}

// changed has the manifest written soon.
func (r *deskRecords) changed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again {
		return
	}
	r.again = true
	time.AfterFunc(max(manifestAfter, manifestEvery-time.Since(r.wrote)), r.write)
}

func (r *deskRecords) write() {
	r.mu.Lock()
	r.again, r.wrote = false, time.Now()
	r.mu.Unlock()
	select {
	case <-r.over:
		return // the last one is written at the end
	default:
	}
	_ = r.keep(api.StateRunning)
}

func (r *deskRecords) keep(state string) error {
	m := r.manifest(state)
	if state == api.StateStopped {
		m.Stopped = time.Now()
	}
	err := r.place.KeepManifest(&m, state == api.StateStopped)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
	}
	return err
}
