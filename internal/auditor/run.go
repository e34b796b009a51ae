package auditor

import (
	"fmt"
	"os"
	"strings"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// maxRunLog bounds the log of one run, in bytes.
const maxRunLog = 32 << 20

// Options say where records go and what follows where they cannot.
type Options struct {
	Required string      // where that is asked, see [Open]
	Journal  bool        // the system's journal has each record too
	Lost     func(error) // is told when records begin to be lost
	Of       api.AuditSession
}

// OpenRun opens the log of a run that does not stay. state is the state directory.
func OpenRun(state string, o Options) (*Auditor, error) {
	dir, err := named.RunDir(state, o.Of.ID, true)
	if err != nil {
		return nil, fmt.Errorf("opening the audit log: %w", err)
	}
	log, err := audit.Create(dir, maxRunLog, o.Lost)
	if err != nil {
		dir.Close()
		return nil, err
	}
	a := &Auditor{log: log, required: o.Required, dir: dir}
	if err := a.export(o); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// RunBegins writes down what is run, by whom and under which policy.
func (a *Auditor) RunBegins(argv []string, of api.AuditSession, backend policy.Backend, ceilings []api.Decided) {
	if a == nil {
		return
	}
	a.Add(api.AuditRecord{Kind: api.AuditWorkspace, Who: api.AuditWho{Kind: api.WhoSupervisor, PID: os.Getpid()}, Operation: "run",
		Subject: strings.Join(supervisor.BoundArgv(argv, maxAppArgvNoted), " "), Decision: api.DecisionAllowed,
		Detail: api.IsolationText(string(backend.Isolation()), string(backend)), Ceiling: boundsOf(ceilings), Session: &of})
}

// RunEnds writes down what was refused, and how the command ended.
func (a *Auditor) RunEnds(r *api.Result) {
	if a == nil {
		return
	}
	for i := range r.Denials {
		a.Denial(&r.Denials[i])
	}
	a.Own(api.AuditWorkspace, "end", r.Workspace, fmt.Sprintf("status %d", r.Exit))
}
