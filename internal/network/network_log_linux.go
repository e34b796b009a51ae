package network

import (
	"fmt"
	"time"

	"carrel/internal/api"
)

// The log is one for all workspaces and is turned over at a size, so that whoever
// could fill it could make what it did, or what others did, disappear. What
// reached nothing costs a program nothing: of that a workspace has so many lines,
// and after those one for each pause.
const (
	maxUnreached   = 2000
	unreachedPause = time.Second
)

// unreached bounds the lines of what was not reached.
type unreached struct {
	used    int
	at      time.Time // until when pauses are counted
	skipped int
}

// admit tells whether a line is written; it says in it how many were not.
func (u *unreached) admit(r *api.Connection, now time.Time) bool {
	if r.Decision == "allowed" || r.Sent+r.Received > 0 {
		return true
	}
	back := int(now.Sub(u.at) / unreachedPause)
	u.at = u.at.Add(time.Duration(back) * unreachedPause)
	if u.used -= back; u.used <= 0 { // a rest saves nothing up
		u.used, u.at = 0, now
	}
	if u.used >= maxUnreached {
		u.skipped++
		return false
	}
	u.used++
	if u.skipped > 0 {
		r.Reason += fmt.Sprintf("; %d before it that reached nothing came too fast to be listed", u.skipped)
		u.skipped = 0
	}
	return true
}
