// Package session runs what package decide has decided, from the first process to the result: it
// starts the walls and what works for them outside (broker, network, desktop, clipboard,
// credentials, host commands). It answers as the supervisor, and ends all of it.
//
// A [Session] is either one command ([Session.Start]) or a workspace that stays
// ([Session.Serve], the files desk_*.go) with its apps and terminals. For both raise starts the
// parts and takeDown ends them, each in the order of its lines: see run_linux.go. Everything
// that comes from inside the walls is untrusted here: its bytes are bounded, parsed once, and
// escaped before a terminal shows them. Surfaces import this package; it imports none.
package session

import (
	"context"

	"carrel/internal/clipboard"
	"carrel/internal/decide"
	"carrel/internal/gui"
	"carrel/internal/sandbox"
	"carrel/internal/steps"
	"carrel/internal/tty"
)

// Session is one command, or one workspace that stays, from the moment that it is to be
// started: what was decided for it, and what stands of it.
type Session struct {
	*decide.Decision

	Until context.Context // a run is ended with it

	early       *sandbox.Stage // started ahead; nil when there is none
	relay       *tty.Relay     // of a run with keys that are seen; nil without
	desktop     *gui.Desktop   // the virtual display; nil without
	clipboard   *clipboard.Clipboard
	lentBroker  *brokered // of walls for host commands: its history is written to; nil for all others
	made        madeNames
	interrupted []uint64 // steps that an earlier run left open
	kept        []steps.Segment
}
