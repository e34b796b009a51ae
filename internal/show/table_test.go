package show

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"carrel/internal/api"
)

func TestTable(t *testing.T) {
	long := strings.Repeat("x", ColumnMax+1)
	tests := []struct {
		name string
		rows [][]string
		want string
	}{
		{"columns are aligned by characters, not bytes", [][]string{{"é", "1"}, {"abc", "2"}}, "  é    1\n  abc  2\n"},
		{"a long cell pushes its own row only", [][]string{{long, "1"}, {"a", "2"}}, "  " + long + "  1\n  a  2\n"},
		{"a row of one cell widens nothing", [][]string{{"a longer line"}, {"a", "2"}}, "  a longer line\n  a  2\n"},
		{"no blanks at the end", [][]string{{"a", ""}, {"bbb", "c"}}, "  a\n  bbb  c\n"},
		{"a cell stays on its line", [][]string{{"a\nb\x1b[m", "c"}}, "  a\\nb\\x1b[m  c\n"},
		{"nothing", nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := &Table{}
			for _, r := range tt.rows {
				table.Row(r...)
			}
			var out strings.Builder
			table.Print(&out, "  ")
			if out.String() != tt.want {
				t.Errorf("got\n%q\nwant\n%q", out.String(), tt.want)
			}
		})
	}
}

// TestTextKeepsBytes: a path that is not UTF-8 must not look like another one.
func TestTextKeepsBytes(t *testing.T) {
	out, err := json.Marshal([]api.Text{"plain", "\xff\x00"})
	if err != nil {
		t.Fatal(err)
	}
	want := `["plain",{"base64":"` + base64.StdEncoding.EncodeToString([]byte("\xff\x00")) + `"}]`
	if string(out) != want {
		t.Errorf("got %s, want %s", out, want)
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		in   []api.Text
		want string
	}{
		{[]api.Text{"ls", "-l"}, "ls -l"},
		{[]api.Text{"sh", "-c", "a b"}, `sh -c "a b"`},
		{[]api.Text{"x", ""}, `x ""`},
		{[]api.Text{"\x1b"}, `"\x1b"`},
		{nil, ""},
	}
	for _, tt := range tests {
		if got := Words(tt.in); got != tt.want {
			t.Errorf("words(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// What a person is to type to confirm is one word of printable text, without blanks around it.
func TestTypedName(t *testing.T) {
	for path, want := range map[string]string{
		"/src/site":     "site",
		"/src/my site":  "my site",
		"/src/a\nb":     `"a\nb"`,
		"/src/\xff":     `"\xff"`,
		"/src/end ":     `"end "`,
		"/src/ ":        `" "`,
		"/":             "/",
		"/src/x\x1b[2J": `"x\x1b[2J"`,
	} {
		if got := TypedName(path); got != want {
			t.Errorf("%q: type %q, want %q", path, got, want)
		}
	}
}
