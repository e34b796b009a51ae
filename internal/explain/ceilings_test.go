package explain

import (
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/policy"
)

// TestCeilings: the session's ceiling and the operator's are told together, and which of
// the two limits something makes no difference to whether anything is limited.
func TestCeilings(t *testing.T) {
	text := func(content string) []config.CeilingText {
		return []config.CeilingText{{Source: "/c.json", Content: []byte(content)}}
	}
	closed := `{"network": {"mode": "disabled"}}`
	operators, _, err := config.DecodeCeilings(text(closed))
	if err != nil {
		t.Fatal(err)
	}
	operator := []policy.Layer{{Name: "/etc/op.json", Ceiling: operators}}
	for _, tt := range []struct {
		name                   string
		under                  []config.CeilingText
		layers                 []policy.Layer
		configured, restricted bool
		count                  int
		says                   string
	}{
		{"none", nil, nil, false, false, 0, "no ceiling is in force"},
		{"one that limits nothing", text("{}"), nil, true, false, 1, "/c.json\nhash  "},
		{"one", text(closed), nil, true, true, 1, "/c.json\nhash  "},
		{"the operator's", nil, operator, false, true, 1, "/etc/op.json, of the operator"},
		{"both", text("{}"), operator, true, true, 2, "/etc/op.json, of the operator"},
	} {
		s, err := CeilingsOf(tt.under, tt.layers, "/home/u")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		s.Print(&out)
		if s.Configured != tt.configured || s.Restricted != tt.restricted || len(s.All) != tt.count || !strings.Contains(out.String(), tt.says) {
			t.Errorf("%s: %+v\n%s", tt.name, s, out.String())
		}
	}
	if s, err := CeilingsOf(text("{"), nil, ""); err == nil {
		t.Errorf("a broken ceiling is %+v", s)
	}
}
