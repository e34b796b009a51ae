package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/audit"
	"carrel/internal/named"
)

// open gives an auditor in a place of its own, and what reads its records once it is closed.
func open(t *testing.T, required string) (*Auditor, func() []api.AuditRecord) {
	t.Helper()
	root := t.TempDir()
	place, err := named.Take(root, "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(place.Close)
	a, err := Open(place, Options{Required: required, Lost: func(err error) { t.Errorf("a record was lost: %v", err) }})
	if err != nil {
		t.Fatal(err)
	}
	return a, func() (out []api.AuditRecord) {
		a.Close()
		text, err := os.ReadFile(filepath.Join(root, "workspaces", "box", audit.Name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var r api.AuditRecord
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out = append(out, r)
		}
		return out
	}
}

// TestRecords: who did what, by which rule, as each kind of record says it.
func TestRecords(t *testing.T) {
	a, read := open(t, "")
	a.Begins("box", api.AuditSession{ID: "id1", Policy: "abc"}, api.Manifest{ID: "id1", PID: 7, Project: "/p", Backend: "gvisor", Isolation: "kernel"}, nil)
	a.App("start", &api.App{ID: "a1", Argv: []string{"make", "all"}})
	a.App("end", &api.App{ID: "a1", Argv: []string{"make", "all"}, Exit: 2, Steps: []uint64{4, 5}})
	a.Attempt(&api.Connection{Host: "h.example", Port: 443, Decision: "refused", Code: "network", Rule: "r"})
	a.Attempt(&api.Connection{Host: "h.example", Decision: "allowed"})
	a.Denial(&api.Denial{Code: api.CodeNetwork, Operation: "connect"}) // is there as a connection
	a.Denial(&api.Denial{Code: "policy", Operation: "open", Subject: "/x", Rule: "no"})
	a.Own(api.AuditWorkspace, "stop", "box", "")
	got := read()
	if len(got) > 2 {
		got = got[1 : len(got)-1] // without the log's own: begin and closed
	}
	want := []struct{ op, subject, detail, decision string }{
		{"start", "box", "isolation kernel (backend gvisor), id id1, policy abc, project /p", api.DecisionAllowed},
		{"start", "make all", " ", ""},
		{"end", "make all", " : status 2", ""},
		{"", "h.example:443", "refused network", api.DecisionRefused},
		{"", "h.example", "allowed ", api.DecisionAllowed},
		{"open", "/x", "policy", api.DecisionRefused},
		{"stop", "box", "", ""},
	}
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if r := got[i]; r.Operation != w.op || r.Subject != w.subject || r.Detail != w.detail || r.Decision != w.decision {
			t.Errorf("%d: %+v", i, r)
		}
	}
	if got[2].Step != 5 || got[1].App != "a1" {
		t.Errorf("the step is %d, the app %q", got[2].Step, got[1].App)
	}
}

// TestNone: a single command has no log, and whatever is told of it goes nowhere.
func TestNone(t *testing.T) {
	var a *Auditor
	a.Begins("x", api.AuditSession{}, api.Manifest{}, nil)
	a.App("start", &api.App{})
	a.Attempt(&api.Connection{})
	a.Own("", "", "", "")
	if a.Refuse("exec") != nil || a.Step() != nil {
		t.Error("a log that is not there refuses")
	}
	a.Close()
}

// TestRequired: nothing is refused as long as records can be written.
func TestRequired(t *testing.T) {
	a, read := open(t, "ceiling.yaml:3")
	if d := a.Refuse("exec"); d != nil {
		t.Errorf("refused: %+v", d)
	}
	read()
}

// TestFlood: many records of programs inside at once are not all kept; how many were not is
// said with the next that is.
func TestFlood(t *testing.T) {
	var f flood
	now := time.Unix(1000, 0)
	kept := 0
	for range floodBurst + 100 {
		if _, ok := f.admit(now); ok {
			kept++
		}
	}
	if kept != floodBurst {
		t.Errorf("%d kept of a burst, want %d", kept, floodBurst)
	}
	if skipped, ok := f.admit(now.Add(time.Second)); !ok || skipped != 100 {
		t.Errorf("a second later: %d skipped, %v", skipped, ok)
	}
}
