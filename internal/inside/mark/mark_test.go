package mark

import (
	"bytes"
	"errors"
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
		{`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"npm install\nrm x"}}`, inside.Mark{Label: "a: Bash npm install", ID: "t1", State: "working"}},
		{`{"tool_name":"Write","tool_input":{"file_path":"/p/a","content":"x"}}`, inside.Mark{Label: "a: Write /p/a"}},
		{`{"tool_name":"shell","tool_input":{"command":["ls","-l"]}}`, inside.Mark{Label: "a: shell ls -l"}},
		{`{"hook_event_name":"Stop"}`, inside.Mark{Label: "a", All: true, State: "done"}},
		{`{"tool_name":"X","tool_input":"text"}`, inside.Mark{Label: "a: X"}},
		{`{"tool_name":"` + strings.Repeat("x", 300) + `"}`, inside.Mark{Label: "a: " + strings.Repeat("x", maxWords-3) + "..."}},
		{"", inside.Mark{Label: "a"}}, {"no JSON", inside.Mark{Label: "a"}}, {`{"tool_name":3}`, inside.Mark{Label: "a"}}, {"null", inside.Mark{Label: "a"}},
	} {
		m := inside.Mark{Label: "a"}
		Describe(&m, strings.NewReader(c.event))
		if m != c.want {
			t.Errorf("%.60s: %+v, want %+v", c.event, m, c.want)
		}
	}
}

// TestWords: the words of hooks and of people mark a step, and all others are refused with what there is.
func TestWords(t *testing.T) {
	type told struct {
		op string
		m  inside.Mark
	}
	event := `{"hook_event_name":"Stop","tool_use_id":"t1"}`
	for _, c := range []struct {
		args string
		want *told
	}{
		{"step begin", &told{inside.OpStepBegin, inside.Mark{}}},
		{"step begin --label claude --event", &told{inside.OpStepBegin, inside.Mark{Label: "claude", ID: "t1", All: true, State: "done"}}},
		{"step begin --label=x", &told{inside.OpStepBegin, inside.Mark{Label: "x"}}},
		{"step end", &told{inside.OpStepEnd, inside.Mark{}}},
		{"step end --all", &told{inside.OpStepEnd, inside.Mark{All: true}}},
		{"step end --event", &told{inside.OpStepEnd, inside.Mark{ID: "t1", All: true, State: "done"}}},
		{"step note --event", &told{inside.OpStepNote, inside.Mark{ID: "t1", All: true, State: "done"}}},
		{"", nil}, {"step", nil}, {"step other", nil}, {"run -- true", nil}, {"step end --label x", nil}, {"step begin x", nil}, {"step begin --all", nil}, {"step note --label x", nil}, {"step note --all", nil},
	} {
		var got *told
		var errOut bytes.Buffer
		code := Main(strings.Fields(c.args), strings.NewReader(event), &errOut, func(op string, m inside.Mark) error {
			got = &told{op, m}
			return nil
		})
		switch {
		case c.want == nil && (got != nil || code != failed || !strings.Contains(errOut.String(), usage)):
			t.Errorf("%q: %v %d %s", c.args, got, code, errOut.String())
		case c.want != nil && (got == nil || *got != *c.want || code != 0 || errOut.Len() > 0):
			t.Errorf("%q: %+v %d %s, want %+v", c.args, got, code, errOut.String(), c.want)
		}
	}
	var errOut bytes.Buffer
	code := Main([]string{"step", "end"}, strings.NewReader(""), &errOut, func(string, inside.Mark) error { return errors.New("no history") })
	if code != failed || !strings.Contains(errOut.String(), "no history") {
		t.Errorf("a supervisor that refuses: %d %s", code, errOut.String())
	}
}
