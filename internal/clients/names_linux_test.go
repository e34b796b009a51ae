package clients

import (
	"strings"
	"testing"
)

// TestOneName: the same settings are set up under one name at a time, and removing knows
// which.
func TestOneName(t *testing.T) {
	p := newPlace(t.TempDir())
	p.write("home/.claude.json", "{}")
	before := p.tree()
	two := Request{Client: "claude", Scope: User, Name: "two", Serving: true}
	_, err := p.host.Do(Setup, []Request{two}, false)
	p.must(err)
	set := p.tree()
	if _, err := p.host.Do(Setup, []Request{{Client: "claude", Scope: User, Name: DefaultName}}, false); err == nil || !strings.Contains(err.Error(), `"two"`) {
		t.Errorf("a second name: %v", err)
	}
	if d := differences(set, p.tree()); d != "" {
		t.Error(d)
	}
	_, err = p.host.Do(Remove, []Request{{Client: "claude", Scope: User, Name: DefaultName}}, false)
	p.must(err)
	if d := differences(before, p.tree()); d != "" {
		t.Error(d)
	}
}
