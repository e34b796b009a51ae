package historycmd

import (
	"strings"
	"testing"

	"carrel/internal/inside"
)

// TestEventsDescribe: what a hook's event says becomes a label that a person
// understands, and nothing in it breaks the mark.
func TestEventsDescribe(t *testing.T) {
	for _, c := range []struct {
		event string
		want  inside.Mark
	}{
		{`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"npm install\nrm x"}}`, inside.Mark{Label: "a: Bash npm install", ID: "t1"}},
		{`{"tool_name":"Write","tool_input":{"file_path":"/p/a","content":"x"}}`, inside.Mark{Label: "a: Write /p/a"}},
		{`{"tool_name":"shell","tool_input":{"command":["ls","-l"]}}`, inside.Mark{Label: "a: shell ls -l"}},
		{`{"hook_event_name":"Stop"}`, inside.Mark{Label: "a", All: true}},
		{`{"tool_name":"X","tool_input":"text"}`, inside.Mark{Label: "a: X"}},
		{`{"tool_name":"` + strings.Repeat("x", 300) + `"}`, inside.Mark{Label: "a: " + strings.Repeat("x", maxWords-3) + "..."}},
		{"", inside.Mark{Label: "a"}}, {"no JSON", inside.Mark{Label: "a"}}, {`{"tool_name":3}`, inside.Mark{Label: "a"}}, {"null", inside.Mark{Label: "a"}},
	} {
		m := inside.Mark{Label: "a"}
		describe(&m, strings.NewReader(c.event))
		if m != c.want {
			t.Errorf("%.60s: %+v, want %+v", c.event, m, c.want)
		}
	}
}
