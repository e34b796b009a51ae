package runcmd

import (
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
)

// TestFew: many names are a few, sorted, and how many more.
func TestFew(t *testing.T) {
	for in, want := range map[string]string{"": "", "b a": "a, b", "f e d c b a": "a, b, c, d, e, f",
		"h g f e d c b a": "a, b, c, d, e, f and 2 more"} {
		if got := few(strings.Fields(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestTellDenials: hosts that no rule lists are one line together, each other refusal has a
// line and its hint, and all are counted; nothing comes through as a control sequence.
func TestTellDenials(t *testing.T) {
	unlisted := func(host string) api.Denial {
		return api.Denial{Code: api.CodeNetwork, Rule: api.RuleUnlisted, Subject: host, Message: "no rule lists " + host, Hint: "list " + host}
	}
	changed, none := 2, 0
	for _, c := range []struct {
		name   string
		result api.Result
		says   []string
		not    []string
	}{
		{"nothing", api.Result{}, nil, []string{"carrel"}},
		{"nothing changed", api.Result{Changed: &none}, nil, []string{"carrel"}},
		{"changes", api.Result{Changed: &changed}, []string{"carrel: 2 files changed, 0 denials\n"}, nil},
		{"changes of steps", api.Result{Changed: &changed, Steps: []api.Step{{}}}, nil, []string{"files changed"}},
		{"a file", api.Result{Denials: []api.Denial{{Code: api.CodeFile, Message: "m\x1b", Hint: "h\x1b"}}},
			[]string{"carrel: denied: m\\x1b", "carrel:   hint: h\\x1b\n", "carrel: 1 denial\n"}, []string{"\x1b"}},
		{"one host", api.Result{Denials: []api.Denial{unlisted("a:1")}}, []string{"denied: no rule lists a:1", "hint: list a:1"},
			[]string{"not reached"}},
		{"hosts", api.Result{Denials: []api.Denial{unlisted("b:1"), unlisted("a:1")}},
			[]string{"denied: not reached, as no rule lists them: a:1, b:1", "hint: list one: --allow-host NAME:PORT", "2 denials"},
			[]string{"no rule lists b:1"}},
		{"no history", api.Result{History: "off"}, []string{"history off: changes were not recorded"}, nil},
	} {
		var out strings.Builder
		tellDenials(&cmdenv.Env{Err: &out}, &c.result)
		for _, want := range c.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out.String())
			}
		}
		for _, not := range c.not {
			if strings.Contains(out.String(), not) {
				t.Errorf("%s: %q in\n%s", c.name, not, out.String())
			}
		}
	}
}

// TestTellHidden: a run that ended well tells of secrets to a person alone.
func TestTellHidden(t *testing.T) {
	for _, c := range []struct {
		hidden []string
		exit   int
		tty    bool
		told   bool
	}{{nil, 1, true, false}, {[]string{".env"}, 0, false, false}, {[]string{".env"}, 0, true, true}, {[]string{".env"}, 1, false, true}} {
		var out strings.Builder
		tellHidden(&cmdenv.Env{Err: &out}, &api.Result{Hidden: c.hidden, Exit: c.exit}, c.tty)
		if (out.String() == "carrel: hidden: .env: secrets; --read FILE shows one\n") != c.told || (out.String() != "") != c.told {
			t.Errorf("%+v: %q", c, out.String())
		}
	}
}

// TestRunRefusals: what is refused before anything starts is told with its words and status,
// and nothing is written.
func TestRunRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	policy := p.Write("policy.json", `{"version": 1, "netwrk": 1}`)
	p.Refusals(map[string]string{
		"run --network wide -- true":                    "wide",
		"run --preset absent":                           "absent",
		"run --memory lots -- true":                     "--memory",
		"run --odd -- true":                             "--odd",
		"run --permissions absent -- true":              "there is no ceiling file",
		"--permissions absent run -- true":              "there is no ceiling file",
		"exec absent -- true":                           "absent",
		"sandbox":                                       "no command given",
		"sandbox -- true":                               "no policy given",
		"sandbox --policy absent -- true":               "absent",
		"sandbox --policy . -- true":                    "",
		"sandbox --policy " + policy + " -- true":       "netwrk",
		"sandbox --policy a --policy b -- true":         "it is given twice",
		"sandbox --policy a --policy-fd 3 -- true":      "--policy-fd",
		"sandbox --policy-fd 1 -- true":                 "--policy-fd 1: want a descriptor to read from",
		"sandbox --policy-fd -1 -- true":                "want a descriptor to read from",
		"sandbox --policy-fd 900 -- true":               "--policy-fd 900: it is not open",
		"sandbox --policy a --result-fd 0 -- true":      "--result-fd 0: want a descriptor of its own",
		"sandbox --policy a --result-fd 900 -- true":    "--result-fd 900: it is not open",
		"sandbox --policy '' -- true":                   "--policy",
		"--permissions " + ceiling + " sandbox -- true": "ceiling: carrel sandbox runs exactly the policy",
	})
	r := p.Run("sandbox --json --policy absent -- true").Fails(api.ExitOurs, "absent")
	if !strings.HasPrefix(r.Notice, "{") || !strings.Contains(r.Notice, "absent") || strings.Count(r.Notice, "\n") != 1 {
		t.Errorf("the result: %q", r.Notice)
	}
}
