package op

import (
	"errors"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

// TestSameCeiling: what is left of a workspace is for callers under its own ceiling, and
// a refusal names both.
func TestSameCeiling(t *testing.T) {
	under := func(hash string) api.Desk {
		d := api.Desk{Manifest: api.Manifest{Name: "dev"}}
		if hash != "none" {
			d.Ceiling = &api.Ceiling{Hash: hash, Source: "/etc/c.json"}
		}
		return d
	}
	for _, tt := range []struct{ caller, started, from string }{
		{"", "none", ""},
		{"", "", ""},
		{"aa", "aa", ""},
		{"aa", "none", "none"},
		{"aa", "", "none"},
		{"aa", "bb", "bb (/etc/c.json)"},
		{"", "bb", "bb (/etc/c.json)"},
	} {
		err := sameCeiling(tt.caller, "logs", under(tt.started))
		var d *api.Denial
		switch {
		case tt.from == "" && err != nil, tt.from != "" && !errors.As(err, &d):
			t.Errorf("%q and %q: %v", tt.caller, tt.started, err)
		case tt.from != "" && (d.Code != api.CodeCeiling || d.Operation != "logs" || d.Source != tt.from || !strings.Contains(d.Message, `"dev"`)):
			t.Errorf("%q and %q: %+v", tt.caller, tt.started, d)
		}
	}
}

// TestNoSuch: the beginning of several ids is another mistake than one of none.
func TestNoSuch(t *testing.T) {
	if got, want := NoSuch("workspace", "3f", "carrel ps", supervisor.ErrNone).Error(), "no workspace \"3f\"\nhint: `carrel ps` lists them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	err := NoSuch("approval", "3f", "carrel approvals", supervisor.ErrAmbiguous)
	if !errors.Is(err, supervisor.ErrAmbiguous) || !strings.Contains(err.Error(), "give more of the id") {
		t.Errorf("%v", err)
	}
}
