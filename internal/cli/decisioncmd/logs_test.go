package decisioncmd

import (
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/statedir"
)

// logged makes a place with a state directory of three projects' records: two of this one, the
// first of them old, and one of another.
func logged(t *testing.T) *clitest.Place {
	t.Helper()
	p := clitest.New(t, Commands())
	s, err := statedir.Open(p.State)
	if err != nil {
		t.Fatal(err)
	}
	for i, project := range []string{p.Project, p.Project, "/other"} {
		at, subject := time.Now().Add(time.Duration(i-2)*time.Hour), "subject"+string(rune('0'+i))
		err := s.LogDenial(api.Denial{Time: at, Project: project, Workspace: "ab1" + subject[7:], Code: api.CodeFile, Operation: "write",
			Subject: subject, Rule: "deny *.key", Source: "a.yaml:3", Message: "m", Hint: "carrel allow\x1b[2J"})
		if err != nil {
			t.Fatal(err)
		}
		if err = s.LogConnection(api.Connection{Time: at, Project: project, Workspace: "ab1" + subject[7:], Protocol: "http",
			Host: subject + "\x1b.example",
			Port: 443, Decision: "refused", Code: "not_listed"}); err != nil {
			t.Fatal(err)
		}
		if err = s.LogLink(api.Link{Time: at, URL: "https://" + subject + ".example/\x1b", Opened: i == 1}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// told gives the numbers of the subjects that a text tells of, in its order.
func told(text string) string {
	var out string
	for _, part := range strings.Split(text, "subject")[1:] {
		if part != "" && strings.Contains("012", part[:1]) && !strings.HasSuffix(out, part[:1]) {
			out += part[:1]
		}
	}
	return out
}

// TestLogsAreSelected: the logs tell of the current project unless another or all is asked for,
// oldest first, and neither of what is older than --since nor of more than the newest.
func TestLogsAreSelected(t *testing.T) {
	p := logged(t)
	for line, want := range map[string]string{
		"denials": "01", "denials --all": "012", "denials -n 1": "1", "denials --all -n 2": "12", "denials --since 90m": "1",
		"denials --all --since 90m": "12", "denials --project " + p.Home: "", "denials --since 24h --all -n 1": "2",
		"net log": "01", "net log --all": "012", "net log -n 1": "1", "net log --since 90m": "1", "net log ab12": "2", "net log ab": "012",
		"net log ab12 --since 90m": "2", "net log ff": "", "net log --project " + p.Home: "",
		"links": "012", "links -n 1": "2", "links --since 90m": "12",
	} {
		r := p.Run(line).OK().Lacks("\x1b")
		if got := told(r.Out); got != want {
			t.Errorf("%s tells of %q, want %q:\n%s", line, got, want, r.Out)
		}
		var list []map[string]any
		if p.Run(line + " --json").OK().JSON(&list); len(list) != len(want) || list == nil {
			t.Errorf("%s --json: %d records, want %d", line, len(list), len(want))
		}
	}
	p.Run("denials").OK("deny *.key", "a.yaml:3", "carrel allow\\x1b[2J")
}

// TestLogsAreEmpty: where nothing was logged it says so, and as JSON it is a list.
func TestLogsAreEmpty(t *testing.T) {
	p := clitest.New(t, Commands())
	for _, line := range []string{"denials", "net log", "links"} {
		before := p.Tree()
		if r := p.Run(line).OK("no "); strings.Count(r.Out, "\n") != 1 {
			t.Errorf("%s: %q", line, r.Out)
		}
		if r := p.Run(line + " --json").OK(); strings.TrimSpace(r.Out) != "[]" {
			t.Errorf("%s --json: %q", line, r.Out)
		}
		if p.Tree() != before {
			t.Errorf("%s has written", line)
		}
	}
}

// TestLogsBrokenLines: a line that is no record is counted, and the others are told.
func TestLogsBrokenLines(t *testing.T) {
	p := logged(t)
	for name, line := range map[string]string{"denials": "denials", "network": "net log", "links": "links"} {
		file := ".local/state/carrel/" + name + ".jsonl"
		p.Write(file, p.Read(file)+"{\"torn\n")
		r := p.Run(line).OK()
		if !strings.HasPrefix(told(r.Out), "01") || !strings.Contains(r.Notice, "1 ") {
			t.Errorf("%s: %q, %q", line, r.Out, r.Notice)
		}
	}
}

func TestLogRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Refusals(map[string]string{
		"denials -n 0":                "-n 0: want a number of 1 or more",
		"links -n -1":                 "-n -1: want a number of 1 or more",
		"net log --last=0":            "want a number of 1 or more",
		"denials --since soon":        "--since: ",
		"links --since -1h":           "--since: ",
		"net log --since 5":           "--since: ",
		"denials --project . --all":   "--all",
		"net log --project . --all":   "--all",
		"denials extra":               "extra",
		"links extra":                 "extra",
		"net log a b":                 "a workspace",
		"denials --project ../absent": "absent",
		"net deny":                    "takes a host and a workspace, got []",
		"net allow a b c":             `takes a host and a workspace, got ["a" "b" "c"]`,
	})
}

// TestNewest: of a list, oldest first, its end is kept.
func TestNewest(t *testing.T) {
	for n, want := range map[int][]int{0: {1, 2, 3}, 1: {3}, 2: {2, 3}, 3: {1, 2, 3}, 9: {1, 2, 3}} {
		if got := newest([]int{1, 2, 3}, n); !slices.Equal(got, want) {
			t.Errorf("the newest %d are %v", n, got)
		}
	}
}
