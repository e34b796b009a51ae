package network

import (
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
)

// TestLogHoldsOutAgainstAFlood: refusals cost nothing, and must not turn over the
// log that holds what was reached.
func TestLogHoldsOutAgainstAFlood(t *testing.T) {
	var u unreached
	now := time.Now()
	written := 0
	for range 10 * maxUnreached {
		if u.admit(&api.Connection{Decision: "refused"}, now) {
			written++
		}
	}
	if written != maxUnreached {
		t.Errorf("%d lines of a flood were written, want %d", written, maxUnreached)
	}
	for _, r := range []api.Connection{{Decision: "allowed"}, {Decision: "failed", Sent: 1}, {Decision: "refused", Received: 1}} {
		if !u.admit(&r, now) || r.Reason != "" {
			t.Errorf("%+v is not written as it is", r)
		}
	}
	now = now.Add(3*unreachedPause + unreachedPause/2)
	for i := range 5 {
		r := api.Connection{Decision: "refused", Reason: "why"}
		if got := u.admit(&r, now); got != (i < 3) {
			t.Errorf("line %d after three pauses: written %v", i, got)
		}
		if told := strings.Contains(r.Reason, "18000 before it"); told != (i == 0) {
			t.Errorf("line %d after three pauses says %q", i, r.Reason)
		}
	}
	if u.skipped != 2 {
		t.Errorf("%d are still to be told, want 2", u.skipped)
	}
	now = now.Add(24 * time.Hour)
	written = 0
	for range 10 * maxUnreached {
		if u.admit(&api.Connection{Decision: "refused"}, now) {
			written++
		}
	}
	if written != maxUnreached {
		t.Errorf("%d lines of a flood after a long rest were written, want %d", written, maxUnreached)
	}
}
