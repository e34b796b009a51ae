// Package auditor says what a workspace that stays writes into its audit log: a record of
// each start and end, app, step, connection, refusal and command of the host, by whom and by
// which rule. What programs inside cause is bounded, so that they cannot make older records
// go. The log itself, a chain of hashes, is package audit's.
package auditor

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/history/journal"
	"carrel/internal/named"
	"carrel/internal/supervisor"
)

// Auditor writes the audit log of a workspace that stays, or of a run. It may be nil: a
// run has none unless that is required.
type Auditor struct {
	log      *audit.Log
	required string // where that is said, "" where it is not

	dir     *os.File // of a run; nil where its owner holds it
	journal *sink    // nil where the journal has no copy

	mu    sync.Mutex
	flood flood
}

// Open opens the log in the place of a workspace. Required says where it is asked that
// nothing is done which cannot be written down, "" for nowhere.
func Open(place *named.Place, o Options) (*Auditor, error) {
	log, err := place.OpenAudit(o.Lost)
	if err != nil {
		return nil, err
	}
	a := &Auditor{log: log, required: o.Required}
	if err := a.export(o); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Add writes a record. What programs inside cause is bounded: the log is turned over
// at a size, and whoever fills it could make go what it did before.
func (a *Auditor) Add(r api.AuditRecord) {
	if a == nil {
		return
	}
	if r.Who.Kind == api.WhoInside {
		a.mu.Lock()
		skipped, ok := a.flood.admit(time.Now())
		a.mu.Unlock()
		if !ok {
			return
		}
		if skipped > 0 {
			r.Detail = strings.TrimPrefix(fmt.Sprintf("%s; %d records of what programs inside did before it came too fast to be kept", r.Detail, skipped), "; ")
		}
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	a.log.Append(r)
	a.journal.send(r)
}

// Own is a record of the supervisor's doing.
func (a *Auditor) Own(kind, operation, subject, detail string) {
	a.Add(api.AuditRecord{Kind: kind, Who: api.AuditWho{Kind: api.WhoSupervisor}, Operation: operation, Subject: subject, Detail: detail})
}

// Close closes the log.
func (a *Auditor) Close() {
	if a != nil {
		a.log.Close()
		a.journal.close()
		a.dir.Close() // of nil it does nothing
	}
}

// Refuse says why nothing may be done: what was done could not be written down.
func (a *Auditor) Refuse(op string) *api.Denial {
	if a == nil || a.required == "" {
		return nil
	}
	err := errors.Join(a.log.Err(), a.journal.err())
	if err == nil {
		return nil
	}
	return &api.Denial{Code: api.CodeAudit, Operation: op, Subject: audit.Name, Rule: "audit.required", Source: a.required, Message: fmt.Sprintf("%s is refused, as it cannot be written down: %v", op, err),
		Hint: "make room on the disk and try again: it is refused until a record could be written"}
}

// Attempt writes down a connection, as the network's log has it.
func (a *Auditor) Attempt(c *api.Connection) {
	if a == nil {
		return
	}
	r := api.AuditRecord{Time: c.Time, Kind: api.AuditNetwork, Who: api.AuditWho{Kind: api.WhoInside, PID: c.PID, Program: c.Process}, Operation: c.Protocol, Subject: hostPortText(c.Host, c.Port),
		Decision: api.DecisionAllowed, Rule: c.Rule, Source: c.Source}
	if c.Decision == "refused" {
		r.Decision = api.DecisionRefused
	}
	r.Detail = c.Decision + " " + c.Code
	if c.Address != "" {
		r.Detail += fmt.Sprintf(", %s, %d bytes sent, %d received", c.Address, c.Sent, c.Received)
	}
	a.Add(r)
}

// Denial writes down what was refused inside; a connection is there already.
func (a *Auditor) Denial(d *api.Denial) {
	if d.Code == api.CodeNetwork {
		return
	}
	a.Add(api.AuditRecord{Kind: api.AuditDenial, Who: api.AuditWho{Kind: api.WhoInside}, Operation: d.Operation, Subject: d.Subject, Decision: api.DecisionRefused, Rule: d.Rule, Source: d.Source, Detail: d.Code})
}

// App writes down that one begins or has ended.
func (a *Auditor) App(operation string, one *api.App) {
	if a == nil {
		return
	}
	r := api.AuditRecord{Kind: api.AuditApp, Who: api.AuditWho{Kind: api.WhoSupervisor}, Operation: operation, Subject: strings.Join(one.Argv, " "), App: one.ID, Detail: one.Kind + " " + one.Name}
	if operation == "end" {
		r.Detail = fmt.Sprintf("%s: status %d", r.Detail, one.Exit)
		if n := len(one.Steps); n > 0 {
			r.Step = one.Steps[n-1]
		}
	}
	a.Add(r)
}

// Step gives what writes the steps of a history down, nil for a run's.
func (a *Auditor) Step() func(operation string, step uint64, app string, of journal.Begin) {
	if a == nil {
		return nil
	}
	return func(operation string, step uint64, app string, of journal.Begin) {
		var argv []string
		for _, word := range of.Command {
			argv = append(argv, string(word))
		}
		a.Add(api.AuditRecord{Kind: api.AuditStep, Who: api.AuditWho{Kind: api.WhoInside}, Operation: operation, Step: step, App: app,
			Subject: strings.Join(supervisor.BoundArgv(argv, maxAppArgvNoted), " "), Detail: of.Label})
	}
}

// maxAppArgvNoted bounds what is written down of a step's command, in bytes.
const maxAppArgvNoted = 2 << 10

// Begins writes down that the workspace stands.
func (a *Auditor) Begins(name string, of api.AuditSession, m api.Manifest, ceilings []api.Decided) {
	if a == nil {
		return
	}
	a.Add(api.AuditRecord{Kind: api.AuditWorkspace, Who: api.AuditWho{Kind: api.WhoSupervisor, PID: m.PID}, Operation: "start", Subject: name, Decision: api.DecisionAllowed,
		Detail:  fmt.Sprintf("%s, id %s, policy %s, project %s", api.IsolationText(m.Isolation, m.Backend), m.ID, of.Policy, m.Project),
		Ceiling: boundsOf(ceilings), Session: &of})
}

// boundsOf are the digests of ceilings.
func boundsOf(ceilings []api.Decided) string {
	var bounds []string
	for _, c := range ceilings {
		bounds = append(bounds, c.Value)
	}
	return strings.Join(bounds, ", ")
}

// flood bounds how many records a workspace's programs cause: so many at once, and
// after those some every second.
type flood struct {
	used    float64
	at      time.Time
	skipped int
}

const (
	floodBurst  = 5000
	floodSecond = 5
)

// admit says whether one more is written, and how many were not before it.
func (f *flood) admit(now time.Time) (skipped int, ok bool) {
	f.used = max(0, f.used-now.Sub(f.at).Seconds()*floodSecond)
	if f.at = now; f.used >= floodBurst {
		f.skipped++
		return 0, false
	}
	f.used++
	skipped, f.skipped = f.skipped, 0
	return skipped, true
}

func hostPortText(host string, port uint16) string {
	if port == 0 {
		return host
	}
	return host + ":" + strconv.Itoa(int(port))
}
