package session

import (
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/supervisor"
	"carrel/internal/told"
)

// tellsListed gives what tells of each name that is listed: an event, and a record beside
// the denials.
func (s *Session) tellsListed(desk *supervisor.Server, id string) func(at string) {
	times := 0
	return func(at string) {
		d := api.Denial{Time: time.Now(), Workspace: id, Project: s.Place.Project, Code: api.CodeListed, Operation: "create", Subject: shortened(at),
			Rule: "a name that can make programs outside run code", Source: "default"}
		d.Message = fmt.Sprintf("%q was made or changed inside, and was not refused: it can make programs outside run code; look at it first", d.Subject)
		desk.Emit(api.Event{Kind: api.EventListed, Text: d.Message})
		if times++; times <= told.MaxDenials && s.State != nil {
			_ = s.State.LogDenial(d) // the summary names it as well
		}
	}
}
