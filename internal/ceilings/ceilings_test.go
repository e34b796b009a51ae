package ceilings

import (
	"errors"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/policy"
)

// TestCheckHostCommands: each ceiling that demands an isolation has to list the host commands itself.
func TestCheckHostCommands(t *testing.T) {
	ceiling := func(i policy.Isolation, names ...string) *policy.Ceiling {
		src := policy.Source{Layer: policy.LayerCeiling, File: "/c.yaml"}
		c := &policy.Ceiling{Source: src, Isolation: &policy.Value[policy.Isolation]{V: i, Source: src}}
		for _, name := range names {
			c.HostCommands = append(c.HostCommands, policy.Value[string]{V: name, Source: src})
		}
		return c
	}
	beside := ceiling(policy.IsolationVM, "make")
	beside.Also = []*policy.Ceiling{ceiling(policy.IsolationKernel)}
	for name, c := range map[string]struct {
		under Under
		fine  bool
	}{
		"none":            {Under{}, true},
		"no demand":       {Under{Session: &policy.Ceiling{}}, true},
		"walls":           {Under{Session: ceiling(policy.IsolationProcess)}, true},
		"a list":          {Under{Session: ceiling(policy.IsolationVM, "make")}, true},
		"no list":         {Under{Session: ceiling(policy.IsolationVM)}, false},
		"one beside it":   {Under{Session: beside}, false},
		"of the operator": {Under{Session: ceiling(policy.IsolationVM, "make"), Operator: []*policy.Ceiling{ceiling(policy.IsolationKernel)}}, false},
	} {
		err := c.under.CheckHostCommands("host-exec")
		var d *api.Denial
		if (err == nil) != c.fine || err != nil && (!errors.As(err, &d) || d.Rule != "isolation" || !strings.Contains(d.Hint, "host_commands")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	out := WithoutIsolation(beside)
	if out.Isolation != nil || out.Also[0].Isolation != nil || len(out.HostCommands) != 1 || WithoutIsolation(nil) != nil {
		t.Errorf("%+v", out)
	}
	if beside.Isolation == nil || beside.Also[0].Isolation == nil {
		t.Error("the ceiling itself was changed")
	}
}
