package decisioncmd

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/config"
)

// granted makes a place with a configuration that allows something in its project and in another.
func granted(t *testing.T) *clitest.Place {
	t.Helper()
	p := clitest.New(t, Commands())
	file := p.Write(".config/carrel/config.yaml", "# mine\nnetwork: local\n")
	for project, g := range map[string]config.Grants{
		p.Project: {Hosts: []string{"a.example:443"}, Read: []string{".env"}, Write: []string{"/srv/out"}, Env: []string{"DATABASE_URL"}},
		"/other":  {Hosts: []string{"b.example"}},
	} {
		if err := config.AddGrants(file, project, g); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// TestAllowList: what is allowed here is listed with its line; that of others with all alone.
func TestAllowList(t *testing.T) {
	p := granted(t)
	all := []string{"host", "a.example:443", "read", ".env", "write", "/srv/out", "variable", "DATABASE_URL"}
	p.Run("allow --list").OK(append([]string{"WHAT", "VALUE", "PROJECT", "WRITTEN IN"}, all...)...).Lacks("b.example", ":project/")
	p.Run("allow -l --project all").OK("a.example", p.Config)
	p.Run("allow --list --project all").OK("b.example")
	p.Run("allow --list --project " + p.Home).OK("nothing is allowed for a project alone")
	p.Run("allow --list --project " + p.Home + " --json").OK("[]")
	var list []allowed
	if p.Run("allow --list --json").OK().JSON(&list); len(list) != 4 {
		t.Errorf("%+v", list)
	}
	for i, one := range list {
		got := []string{one.What, string(one.Value)}
		if !slices.Equal(got, all[2*i:2*i+2]) || string(one.Project) != p.Project || !strings.Contains(string(one.Source), "config.yaml:") {
			t.Errorf("%+v, want %q", one, all[2*i:2*i+2])
		}
	}
}

// TestAllowRemove: what is named is taken away without a question, and nothing else; where one
// of several is not allowed, all stay.
func TestAllowRemove(t *testing.T) {
	p := granted(t)
	p.Refusals(map[string]string{
		"allow --remove c.example":               "c.example is not allowed in",
		"allow --remove a.example:443 c.example": "hint: `carrel allow --list` lists what is",
		"allow --remove b.example":               "b.example is not allowed in",
		"allow --remove":                         "want a host, --read PATH, --write PATH or --env NAME",
	})
	p.Run("allow --remove a.example:443 --read .env").OK("host a.example:443 is no longer allowed in "+p.Project,
		"read .env is no longer allowed in ")
	p.Run("allow --list").OK("/srv/out", "DATABASE_URL").Lacks("a.example", " .env ")
	p.Run("allow --remove b.example --project /other").Fails(api.ExitOurs)
	if text := p.Read(".config/carrel/config.yaml"); !strings.HasPrefix(text, "# mine\nnetwork: local\n") ||
		!strings.Contains(text, "b.example") {
		t.Errorf("%s", text)
	}
}

// TestAllowRefusals: a wrong word is told before a person is asked for anything, and nothing is
// written.
func TestAllowRefusals(t *testing.T) {
	p := granted(t)
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	p.Refusals(map[string]string{
		"allow":                                      "want a host, --read PATH, --write PATH or --env NAME",
		"allow 'a b'":                                "a b",
		"allow --env A=b":                            `--env "A=b": want the name alone`,
		"allow --env ''":                             "--env",
		"allow --read ''":                            "--read",
		"allow --list a.example":                     "--list takes nothing that is allowed",
		"allow --list --env A":                       "--list takes nothing that is allowed",
		"allow --list --remove":                      "--remove",
		"allow --project ''":                         "--project",
		"allow --list --project ../absent":           "absent",
		"--permissions " + ceiling + " allow x.y":    "outlives the ceiling",
		"--permissions " + ceiling + " allow --list": "outlives the ceiling",
	})
	p.Environ = append(p.Environ, "CARREL=1") // what is inside a workspace is no person
	p.Run("allow c.example").Fails(api.ExitOurs)
	if strings.Contains(p.Tree(), "c.example") {
		t.Error("it is allowed all the same")
	}
}

// TestPlacesIn: a place in the project is relative to it, and no name is taken for a word of
// the configuration.
func TestPlacesIn(t *testing.T) {
	p := clitest.New(t, Commands())
	for path, want := range map[string]string{
		".env": ".env", "./a/../.env": ".env", p.Project + "/b": "b", ":project/c": "c", "../x": p.Home + "/x", "/srv": "/srv",
		"~": "~", "~/d": "~/d",
		":home": ":home", "./:odd": ":project/:odd", "./~odd": ":project/~odd", ":project/../x": p.Home + "/x", ".": ".", p.Project: ".",
	} {
		if got, err := placesIn(p.Project, []string{path}); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%q is %q, %v, want %q", path, got, err, want)
		}
	}
}

// TestScopeText: a person reads for how long a word holds, and no scope is the narrowest.
func TestScopeText(t *testing.T) {
	seen := map[string]bool{}
	for _, scope := range []string{"", api.ScopeWorkspace, api.ScopeProject, api.ScopeAlways} {
		text := scopeText(scope)
		if seen[text] || (text == "once") != (scope == "") || strings.Contains(text, "configuration") != (scope == api.ScopeProject ||
			scope == api.ScopeAlways) {
			t.Errorf("%q: %q", scope, text)
		}
		seen[text] = true
	}
}
