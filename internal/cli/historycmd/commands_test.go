package historycmd

import (
	"path/filepath"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

// TestHistoryRefusals: where there is no history, and for words that mean no step, a command
// says so, and makes no history.
func TestHistoryRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	for line, want := range map[string]string{
		"show":                             "",
		"show x":                           "",
		"undo 0":                           "",
		"undo --project ../absent":         "absent",
		"discard --before 3 --all":         "--all",
		"discard --before ''":              "--before",
		"history export":                   "a step",
		"history export 1 2":               "a step",
		"history export 1 -o ''":           "--output",
		"history export 1 --project ''":    "--project",
		"history verify extra":             "extra",
		"history --odd":                    "--odd",
		"step begin":                       "there is no workspace around this",
		"step end --all":                   "there is no workspace around this",
		"step begin extra":                 "extra",
		"history export 1 --project ../no": "no",
	} {
		if r := p.Words(clitest.Split(line)...).Fails(api.ExitOurs, want); r.Out != "" {
			t.Errorf("%s: refused, and prints %q", line, r.Out)
		}
	}
	if made, err := filepath.Glob(p.State + "/projects/*/history"); err != nil || len(made) > 0 {
		t.Errorf("a refused command has made %v, %v", made, err)
	}
	p.In = `{"hook_event_name":"Stop"}`
	p.Run("step end --event").Fails(api.ExitOurs, "there is no workspace around this")
}
