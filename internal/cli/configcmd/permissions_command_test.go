package configcmd

import (
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

// TestPermissionsTemplate: what is printed is a ceiling that validate takes.
func TestPermissionsTemplate(t *testing.T) {
	p := clitest.New(t, Commands())
	for line, want := range map[string]string{
		"open":                              "",
		"closed":                            `"disabled"`,
		"local":                             `"local_only"`,
		"local --allow-host localhost:3000": `"localhost:3000"`,
		"open --app /usr/bin/firefox":       `"/usr/bin/firefox"`,
		"closed --mount /a:/b:rw":           `"read_write"`,
	} {
		r := p.Run("permissions template " + line).OK(want)
		if as := p.Run("permissions template --json " + line).OK(); as.Out != r.Out {
			t.Errorf("%s: with --json it is %s", line, as.Out)
		}
		p.Words("permissions", "validate", p.Write("ceiling.json", r.Out)).OK("ceiling.json: ok\nhash  ")
	}
	p.Refusals(map[string]string{
		"permissions template":                                       "a kind: open, closed or local",
		"permissions template wide":                                  `"wide" is no kind of ceiling`,
		"permissions template open --allow-host localhost:1":         "hint: carrel permissions template local --allow-host localhost:1",
		"permissions template closed --allow-host localhost:1":       "a ceiling that is closed lists no host",
		"permissions template local --allow-host ''":                 "--allow-host",
		"permissions template open --mount a:/b":                     `"a" is not an absolute path`,
		"permissions template open --mount /a:/b:x":                  "is not one of ro, rw, read_only, read_write",
		"permissions template open --mount /a:/b --mount /c/../d:/e": "goes up by ..",
		"permissions template open --app ''":                         "--app",
	})
	var refused struct{ Error string }
	p.Run("permissions template wide --json").Fails(api.ExitOurs, "no kind").JSON(&refused)
	if !strings.Contains(refused.Error, "no kind of ceiling") {
		t.Errorf("%+v", refused)
	}
}

// TestPermissionsValidate: mistakes have their place; a good file has a hash, which does not
// depend on how it is written.
func TestPermissionsValidate(t *testing.T) {
	p := clitest.New(t, Commands())
	good := p.Write("good.json", `{"network": {"mode": "disabled"}}`)
	same := p.Write("same.yaml", "# no network\nnetwork:\n  mode: disabled\n")
	wrong := p.Write("wrong.json", "{\n \"network\": {\"mode\": \"wide\"},\n \"netwrk\": 1}")
	type validated struct {
		Valid    bool
		Hash     string
		Problems []struct {
			File string
			Line int
		}
	}
	var a, b, c validated
	p.Run("permissions validate --json " + good).OK(`"problems": []`).JSON(&a)
	p.Run("permissions validate --json " + same).OK().JSON(&b)
	p.Run("permissions validate --json "+wrong).Fails(api.ExitOurs, "2 mistakes in the ceiling").JSON(&c)
	if !a.Valid || a.Hash == "" || a.Hash != b.Hash || c.Valid || c.Hash != "" || len(c.Problems) != 2 {
		t.Errorf("%+v\n%+v\n%+v", a, b, c)
	}
	p.Run("permissions validate "+good).OK(good+": ok\n", "hash  "+a.Hash)
	p.Run("permissions validate "+wrong).Fails(api.ExitOurs, "2 mistakes").Prints(wrong+":2", wrong+":3").Lacks("ok", "hash")
	p.Refusals(map[string]string{
		"permissions validate":     "takes one FILE, got 0",
		"permissions validate a b": "takes one FILE, got 2",
	})
	r := p.Run("permissions validate absent").Fails(api.ExitOurs, "1 mistake in the ceiling")
	if !strings.HasPrefix(r.Out, "there is no ceiling file ") {
		t.Errorf("of a file that is not there: %q", r.Out)
	}
}

// TestPermissionsShow: the ceiling that holds is shown, from wherever it was named; without
// one nothing is limited.
func TestPermissionsShow(t *testing.T) {
	p := clitest.New(t, Commands())
	file := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	var none, flag, lead, variable struct {
		Configured, Restricted bool
		Hash                   string
		Ceilings               []struct {
			Source     string
			Dimensions []struct {
				Dimension, Value string
				Limited          bool
			}
		}
	}
	p.Run("permissions show --json").OK().JSON(&none)
	p.Run("permissions show --json --permissions " + file).OK().JSON(&flag)
	p.Run("--permissions " + file + " permissions show --json").OK().JSON(&lead)
	p.Run("--permissions "+file+" permissions show").OK("network", "closed")
	p.Environ = append(p.Environ, "CARREL_PERMISSIONS="+file)
	p.Run("permissions show --json").OK().JSON(&variable)
	if none.Configured || none.Restricted || !flag.Restricted || flag.Hash == "" || flag.Hash != lead.Hash || flag.Hash != variable.Hash {
		t.Errorf("%+v\n%+v\n%+v\n%+v", none, flag, lead, variable)
	}
	for _, c := range flag.Ceilings {
		for _, d := range c.Dimensions {
			if strings.Contains("network hosts host_ports unix_sockets", d.Dimension) != d.Limited {
				t.Errorf("%s is limited: %v", d.Dimension, d.Limited)
			}
		}
	}
	p.Run("permissions show --permissions=").Fails(api.ExitOurs, "--permissions")
}

// TestPermissionsDiff: the difference is of what two ceilings mean.
func TestPermissionsDiff(t *testing.T) {
	p := clitest.New(t, Commands())
	closed := p.Write("closed.json", `{"network": {"mode": "disabled"}}`)
	again := p.Write("again.yaml", "network: {mode: disabled}\n")
	local := p.Write("local.json", `{"network": {"mode": "local_only", "allow_hosts": ["localhost:3000"]}}`)
	p.Run("permissions diff " + closed + " " + again).OK("both allow the same\n")
	p.Run("permissions diff "+closed+" "+local).OK("network: ", " -> ").Lacks("both allow")
	type compared struct {
		Same     bool
		FromHash string `json:"from_hash"`
		ToHash   string `json:"to_hash"`
		Changes  []struct {
			Dimension  string
			More, Less []string
		}
	}
	var same, more, less compared
	p.Run("permissions diff --json " + closed + " " + again).OK(`"changes": []`).JSON(&same)
	p.Run("permissions diff --json " + closed + " " + local).OK().JSON(&more)
	p.Run("permissions diff --json " + local + " " + closed).OK().JSON(&less)
	if !same.Same || same.FromHash != same.ToHash || more.Same || more.FromHash != less.ToHash || more.FromHash == more.ToHash {
		t.Errorf("%+v\n%+v\n%+v", same, more, less)
	}
	counts := func(c compared) (more, less int) {
		for _, d := range c.Changes {
			more, less = more+len(d.More), less+len(d.Less)
		}
		return more, less
	}
	gain, lost := counts(more)
	back, gone := counts(less)
	if gain == 0 || lost != 0 || back != 0 || gone != gain {
		t.Errorf("a wider one allows %d more and %d less; turned round %d and %d", gain, lost, back, gone)
	}
	p.Refusals(map[string]string{
		"permissions diff a":         "takes two files, got 1",
		"permissions diff a b c":     "takes two files, got 3",
		"permissions diff absent a":  "there is no ceiling file",
		"permissions diff":           "takes two files, got 0",
		"permissions diff --wrong a": "--wrong",
	})
	var refused struct{ Error string }
	p.Run("permissions diff --json absent "+closed).Fails(api.ExitOurs, "there is no ceiling file").JSON(&refused)
	if refused.Error == "" {
		t.Error("the refusal is not in the JSON")
	}
}
