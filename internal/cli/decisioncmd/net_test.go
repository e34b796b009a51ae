package decisioncmd

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/supervisor"
)

// TestNetDeny: a host is denied to the one workspace that is meant, and written down only where
// that was asked for.
func TestNetDeny(t *testing.T) {
	p := clitest.New(t, Commands())
	var denied []string
	hosts := func(id string) func(*supervisor.Config) {
		return func(c *supervisor.Config) {
			c.Hosts = func(allow bool, rule string) error {
				if allow {
					return errors.New("allowed")
				}
				denied = append(denied, id+" "+rule)
				return nil
			}
		}
	}
	p.Run("net deny a.example").Fails(api.ExitOurs, "0 workspaces run in this project", "hint: name one of `carrel ps`")
	p.Workspace("ab12", hosts("ab12"))
	p.Workspace("ef56", func(c *supervisor.Config) { c.Project = "/other" })
	before := p.Tree()
	p.Run("net deny a.example").OK("denied a.example in ab12, as long as it runs\n")
	p.Run("net deny b.example ab").OK("denied b.example in ab12")
	if p.Tree() != before {
		t.Errorf("something was written:\n%s", p.Tree())
	}
	p.Run("net deny c.example ab12 --save").OK("c.example is in " + p.Config)
	if text := p.Read(".config/carrel/config.yaml"); !strings.Contains(text, "c.example") {
		t.Errorf("%s", text)
	}
	p.Workspace("cd34", hosts("cd34"))
	p.Run("net deny d.example").Fails(api.ExitOurs, "2 workspaces run in this project")
	p.Run("net deny d.example cd").OK("in cd34")
	p.Run("net deny e.example ff00").Fails(api.ExitOurs, "ff00")
	if want := []string{"ab12 a.example", "ab12 b.example", "ab12 c.example", "cd34 d.example"}; !slices.Equal(denied, want) {
		t.Errorf("denied are %q, want %q", denied, want)
	}
}

// TestNetDenyRefused: what a workspace refuses is not written down.
func TestNetDenyRefused(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Workspace("ab12", func(c *supervisor.Config) { c.Hosts = func(bool, string) error { return errors.New("no such rule") } })
	p.Run("net deny a.example --save").Fails(api.ExitOurs)
	if strings.Contains(p.Tree(), "a.example") {
		t.Errorf("%s", p.Tree())
	}
}

// TestUnknownApproval: an id that no workspace knows is told as such.
func TestUnknownApproval(t *testing.T) {
	p := clitest.New(t, Commands())
	for _, running := range []bool{false, true} {
		if running {
			p.Workspace("ab12", nil)
		}
		for _, line := range []string{"approvals fffff", "approve fffff", "deny fffff", "deny fffff --rollback"} {
			if r := p.Run(line).Fails(api.ExitOurs, "fffff"); r.Out != "" {
				t.Errorf("%s: %q", line, r.Out)
			}
		}
	}
	p.Refusals(map[string]string{
		"approve": "the id of an approval", "deny": "the id of an approval", "approve a --project --always": "--project",
		"approvals a b": "an approval",
	})
}
