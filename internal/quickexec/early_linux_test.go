package quickexec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/registry"
)

// TestUnderstand: which command lines are done before main.
func TestUnderstand(t *testing.T) {
	for line, want := range map[string]arguments{
		"carrel exec dev -- ls -la":                       {name: "dev", argv: []string{"ls", "-la"}},
		"/usr/bin/carrel exec dev ls -- -T":               {name: "dev", argv: []string{"ls", "--", "-T"}},
		"carrel exec dev -T -- ls":                        {name: "dev", argv: []string{"ls"}, noTerminal: true},
		"carrel exec dev --cwd a --env=A=b --env C -- -x": {name: "dev", argv: []string{"-x"}, dir: "a", env: []string{"A=b", "C"}},
		"carrel exec dev --no-tty --cwd=/a ls":            {name: "dev", argv: []string{"ls"}, dir: "/a", noTerminal: true},
		"carrel exec dev --env -- -- ls":                  {name: "dev", argv: []string{"ls"}, env: []string{"--"}},
		"carrel exec --cwd /a dev -- ls":                  {},
		"carrel exec -- dev ls":                           {},
		"carrel exec dev":                                 {},
		"carrel exec dev --":                              {},
		"carrel exec dev --json -- ls":                    {},
		"carrel exec dev -t -- ls":                        {},
		"carrel exec dev -Tt -- ls":                       {},
		"carrel exec dev --no-tty=false -- ls":            {},
		"carrel exec dev --help":                          {},
		"carrel exec dev -h -- ls":                        {},
		"carrel exec dev --cwd":                           {},
		"carrel exec dev - ls":                            {},
		"carrel --permissions f exec dev -- ls":           {},
		"carrel run -- exec dev ls":                       {},
		"carrel __complete exec dev -- ls":                {},
		"carrel-stage exec dev -- ls":                     {},
		"carrel launch dev -- ls":                         {},
	} {
		got, ok := understand(strings.Fields(line))
		if ok != (want.name != "") || ok && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", line, got, ok)
		}
	}
}

// TestHeld: each variable of a ceiling leaves the command to main.
func TestHeld(t *testing.T) {
	for _, name := range config.CeilingVariables() {
		if !heldOrSet([]string{"A=b", name + "=x"}) {
			t.Errorf("%s is not seen", name)
		}
	}
	if heldOrSet([]string{"CARREL=1", "HOME=/"}) {
		t.Error("another variable is")
	}
}

// TestFind: the running workspace of a whole name is found, and everything unusual is left to
// main.
func TestFind(t *testing.T) {
	me, err := registry.Self()
	if err != nil {
		t.Fatal(err)
	}
	good := api.Manifest{
		ID: "ab12", Name: "dev", PID: me.PID, Start: me.Start, Boot: me.Boot, PIDNamespace: me.PIDNamespace,
		Project: "/p", Argv: []string{`"name":"other"`},
	}
	with := func(change func(*api.Manifest)) api.Manifest {
		m := good
		change(&m)
		return m
	}
	other := with(func(m *api.Manifest) { m.ID, m.Name = "cd34", "other" })
	for name, c := range map[string]struct {
		list []api.Manifest
		ok   bool
	}{
		"it":             {[]api.Manifest{good}, true},
		"beside another": {[]api.Manifest{other, with(func(m *api.Manifest) { m.ID, m.Name = "ef56", "" }), good}, true},
		"another":        {[]api.Manifest{with(func(m *api.Manifest) { m.Name = "other" })}, false},
		"its id":         {[]api.Manifest{with(func(m *api.Manifest) { m.Name, m.ID = "other", "de" })}, false},
		"two":            {[]api.Manifest{good, with(func(m *api.Manifest) { m.ID = "cd34" })}, false},
		"dead":           {[]api.Manifest{with(func(m *api.Manifest) { m.Start++ })}, false},
		"odd project":    {[]api.Manifest{with(func(m *api.Manifest) { m.Project = "/p\"" })}, false},
		"none":           {nil, false},
	} {
		place := filepath.Join(t.TempDir(), "rt", "carrel")
		if err := os.MkdirAll(place, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, m := range c.list {
			text, err := json.Marshal(m)
			if err == nil {
				err = os.WriteFile(filepath.Join(place, m.ID+".json"), text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		w, project, ok := find([]string{"/nothing/there", place}, "dev")
		want := Workspace{Listener: registry.Listener{Dir: place, ID: "ab12", Process: me}, Name: "dev"}
		if ok != c.ok || ok && (w != want || project != "/p") {
			t.Errorf("%s: %+v of %q, %v", name, w, project, ok)
		}
		if err := os.Chmod(place, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := find([]string{place}, "dev"); ok {
			t.Errorf("%s: in a place that others see", name)
		}
	}
}

// TestPlain: only how a command ended is told by the exit status alone.
func TestPlain(t *testing.T) {
	for line, want := range map[string][2]int{
		`{"ok":true,"app":{"exit":0}}`:                   {0, 0},
		`{"ok":true,"app":{"id":"x","exit":3}}`:          {3, 0},
		`{"ok":true,"app":{"exit":143,"signal":"TERM"}}`: {143, 1},
		`{"ok":true,"app":{"exit":3,"signal":"TERM"}}`:   {-1, 0},
		`{"ok":true}`:                                      {-1, 0},
		`{"ok":false,"app":{"exit":0}}`:                    {-1, 0},
		`{"error":{"code":"start"},"exit":127,"ok":false}`: {-1, 0},
		`{"ok":true,"app":{"exit":-1}}`:                    {-1, 0},
		``:                                                 {-1, 0},
	} {
		r := Result{Last: []byte(line)}
		status, signal, ok := r.plain()
		if ok != (want[0] >= 0) || ok && (status != want[0] || signal != (want[1] == 1)) {
			t.Errorf("%s: %d %v %v", line, status, signal, ok)
		}
		if r.Err = os.ErrClosed; ok {
			if _, _, ok := r.plain(); ok {
				t.Errorf("%s with an error", line)
			}
		}
	}
}
