package runcmd

import (
	"fmt"
	"testing"

	"carrel/internal/api"
	"carrel/internal/policy"
)

// TestUntold: each refusal is told once, at the start, at the end, or as the error.
func TestUntold(t *testing.T) {
	denials := func() []api.Denial { return []api.Denial{{Message: "warned"}, {Message: "other"}, {Message: "ended"}} }
	warned := []policy.Warning{{Message: "warned"}, {Message: "of no denial"}}
	for _, c := range []struct {
		name   string
		warned []policy.Warning
		end    error
		want   string
	}{
		{"nothing was told", nil, nil, "[warned other ended]"},
		{"a warning", warned, nil, "[other ended]"},
		{"the error", nil, fmt.Errorf("no start: %w", &api.Denial{Message: "ended"}), "[warned other]"},
		{"an error that is no refusal", nil, fmt.Errorf("ended"), "[warned other ended]"},
		{"both", warned, &api.Denial{Message: "ended"}, "[other]"},
	} {
		var left []string
		for _, d := range untold(denials(), c.warned, c.end) {
			left = append(left, d.Message)
		}
		if got := fmt.Sprint(left); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
