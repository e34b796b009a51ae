package gui

import (
	"context"
	"errors"
	"strings"
	"testing"

	"carrel/internal/a11y"
)

// TestRulesFollowTheMode: the rules are written before the bus reads them, and a change whose
// writing failed is in what is written next.
func TestRulesFollowTheMode(t *testing.T) {
	var steps []string
	var text string
	failing := errors.New("the disk is full")
	fail := false
	r := &treeRules{now: a11y.Rules{People: make(map[string]bool)}}
	r.write = func(data []byte) error {
		if steps = append(steps, "write"); fail {
			return failing
		}
		text = string(data)
		return nil
	}
	r.reread = func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("the bus is waited for without an end")
		}
		steps = append(steps, "reread")
		return nil
	}
	if err := r.follow(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	active := text
	if err := r.follow(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if held := text; active == held || strings.Join(steps, " ") != "write reread write reread" {
		t.Errorf("%q; active and held rules are the same: %v", steps, active == held)
	}
	fail = true
	if err := r.follow(t.Context(), true); !errors.Is(err, failing) || steps[len(steps)-1] != "write" {
		t.Errorf("%v after %q: what was not written is not read", err, steps)
	}
	fail = false
	if err := r.change(func(*a11y.Rules) {}); err != nil || text != active {
		t.Errorf("the change was lost: %v", err)
	}
}

// TestPatterns: what is looked for in a tree is a regular expression within a bound; nothing
// looks for nothing.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"": "none", "a+": "", strings.Repeat("a", 1024): "", strings.Repeat("a", 1025): "at most 1024 bytes", "(": "name: error parsing",
		"a(?=b)": "name: error parsing",
	} {
		re, err := pattern("name", text)
		switch {
		case want == "none":
			if re != nil || err != nil {
				t.Errorf("%v, %v", re, err)
			}
		case want == "" && (err != nil || !re.MatchString("a"+text)), want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.20q: %v", text, err)
		}
	}
}
