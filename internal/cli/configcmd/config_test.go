package configcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/config"
)

// TestConfigCheckFindsMistakes: each mistake is told with its place, and mistakes alone make
// the check fail.
func TestConfigCheckFindsMistakes(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("config check").OK("no configuration file exists")
	file := p.Write(".config/carrel/config.yaml", "network: local\n")
	p.Run("config check").OK(file + ": ok\n").Lacks("no configuration file")
	p.Write(".config/carrel/config.yaml", "network: local\nnetwrk: open\n")
	r := p.Run("config check").Fails(api.ExitOurs, "1 mistake in the configuration")
	r.Prints(file+":2:1: ", "netwrk").Lacks(": ok")
	p.Write(".config/carrel/config.yaml", "network: wide\nnetwrk: open\n")
	p.Run("config check").Fails(api.ExitOurs, "2 mistakes in the configuration").Prints(file + ":")
}

// TestConfigCheckJSON: the lists are never null, and a mistake has its place in fields.
func TestConfigCheckJSON(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("config check --json").OK(`"checked": []`, `"problems": []`, `"warnings": []`)
	file := p.Write(".config/carrel/config.yaml", "netwrk: open\n")
	var got struct {
		Problems []struct {
			File, Message string
			Line, Column  int
		}
	}
	p.Run("config check --json").Fails(api.ExitOurs, "1 mistake").JSON(&got)
	if len(got.Problems) != 1 || got.Problems[0].File != file || got.Problems[0].Line != 1 || got.Problems[0].Column != 1 {
		t.Errorf("%+v", got)
	}
}

// TestConfigCheckVariables: a variable of Carrel's is checked as a file is.
func TestConfigCheckVariables(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Environ = append(p.Environ, "CARREL_NETWORK=wide")
	p.Run("config check").Fails(api.ExitOurs, "1 mistake").Prints("CARREL_NETWORK", "wide")
}

// TestConfigCheckCeiling: the ceiling is checked with the other files.
func TestConfigCheckCeiling(t *testing.T) {
	p := clitest.New(t, Commands())
	wrong := p.Write("ceiling.json", `{"network": {"mode": "wide"}}`)
	p.Words("config", "check", "--permissions", wrong).Fails(api.ExitOurs, "mistake").Prints(wrong)
	p.Words("--permissions", wrong, "config", "check").Fails(api.ExitOurs, "mistake").Prints(wrong)
	p.Run("config check").OK("no configuration file exists")
}

// TestConfigCheckKinds: what a file may say follows from its name, or from --kind.
func TestConfigCheckKinds(t *testing.T) {
	p := clitest.New(t, Commands())
	text := "audit:\n  required: true\n" // of a person, and not of a project
	project, user := p.Write("project/.carrel.yaml", text), p.Write("other.yaml", text)
	p.Words("config", "check", user).OK(user + ": ok")
	p.Words("config", "check", user).OK().Lacks("warning")
	for _, args := range [][]string{{project}, {"--kind", "project", project}, {}} {
		p.Words(append([]string{"config", "check"}, args...)...).OK(project+":1:1: audit: warning: ignored", project+": ok")
	}
	p.Words("config", "check", "--json", project).OK(`"warnings": [`, "ignored")
	p.Words("config", "check", "--kind", "user", project).OK(project + ": ok").Lacks("warning")
	p.Words("config", "check", "--kind=project", user).OK(user + ":1:1: audit: warning")
	wrong := p.Write("wrong.yaml", "audit: 1\n")
	p.Words("config", "check", user, wrong).Fails(api.ExitOurs, "1 mistake").Prints(wrong + ":1:").Lacks(": ok")
	p.Refusals(map[string]string{
		"config check --kind user":         "no FILE is given\nhint: carrel config check --kind user FILE",
		"config check --kind odd ../a":     `--kind "odd" is not one of user, project, operator, ceiling, profile`,
		"config check --bad":               "--bad",
		"config show extra":                "extra",
		"config schema --kind odd":         `--kind "odd" is not one of`,
		"config show --permissions absent": "absent",
	})
	p.Run("config check absent.yaml").Fails(api.ExitOurs, "1 mistake").Prints("absent.yaml", "no such file")
}

// TestKindByName: only the two names of a project's file and the operator's one are special.
func TestKindByName(t *testing.T) {
	for file, want := range map[string]config.Kind{
		".carrel.yaml": config.KindProject, "/a/.carrel/config.yaml": config.KindProject, "/a/b/../.carrel/config.yaml": config.KindProject,
		"/etc/carrel/config.yaml": config.KindOperator, "/etc/./carrel//config.yaml": config.KindOperator,
		"/etc/carrel/other.yaml": config.KindUser, "/a/carrel/config.yaml": config.KindUser, "config.yaml": config.KindUser,
		"/a/x.carrel.yaml": config.KindUser, "/a/.carrel/other.yaml": config.KindUser, "": config.KindUser,
	} {
		if got := kindByName(file); got != want {
			t.Errorf("%q is a file of kind %s, want %s", file, got, want)
		}
	}
	for _, word := range kindWords {
		if k, err := kindOf(word); err != nil || k.String() != word {
			t.Errorf("%s: %s, %v", word, k, err)
		}
	}
}

// TestConfigSchema: each kind has a schema of its own, in JSON.
func TestConfigSchema(t *testing.T) {
	p := clitest.New(t, Commands())
	seen := map[string]string{}
	for _, kind := range kindWords {
		var schema map[string]any
		r := p.Run("config schema --kind " + kind).OK(`"https://json-schema.org/draft/2020-12/schema"`).JSON(&schema)
		if other := seen[r.Out]; other != "" {
			t.Errorf("%s has the schema of %s", kind, other)
		}
		seen[r.Out] = kind
	}
	if usual := p.Run("config schema").OK().Out; seen[usual] != "user" {
		t.Errorf("without --kind it is the schema of %q", seen[usual])
	}
}

// TestConfigShow: each value is shown with its place, and each file with whether it is there.
func TestConfigShow(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("config show").OK("user", "not there", p.Config).Lacks("KEY")
	p.Write(".config/carrel/config.yaml", "# mine\nnetwork: local\n")
	p.Write("project/.carrel.yaml", "resources:\n  memory: 1GiB\n")
	p.Environ = append(p.Environ, "CARREL_PERSONA=human")
	p.Run("config show").OK("user", "read", "KEY", "VALUE", "WHERE")
	var got struct {
		Files []struct {
			Kind, Path string
			Present    bool
		}
		Values []struct {
			Key, Value string
			Source     struct {
				File, Text string
				Line       int
			}
		}
	}
	p.Run("config show --json").OK(`"warnings": [`).JSON(&got)
	for _, f := range got.Files {
		if want := f.Kind == "user" || f.Kind == "project" && filepath.Base(f.Path) == ".carrel.yaml"; f.Present != want {
			t.Errorf("%s %s is there: %v", f.Kind, f.Path, f.Present)
		}
	}
	where := map[string]string{}
	for _, v := range got.Values {
		where[v.Key+"="+v.Value] = fmt.Sprintf("%s:%d %s", filepath.Base(v.Source.File), v.Source.Line, v.Source.Text)
	}
	for value, place := range map[string]string{"network=local": "config.yaml:2", "resources.memory=1GiB": ".carrel.yaml:2",
		"CARREL_PERSONA=human": "CARREL_PERSONA"} {
		if !strings.Contains(where[value], place) {
			t.Errorf("%s stands in %q, want %q; all: %v", value, where[value], place, where)
		}
	}
}

// TestConfigShowUnderCeiling: a ceiling is one of the files.
func TestConfigShowUnderCeiling(t *testing.T) {
	p := clitest.New(t, Commands())
	file := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	before := p.Tree()
	for _, line := range []string{"config show --permissions " + file, "--permissions " + file + " config show"} {
		p.Run(line).OK("ceiling", file)
	}
	p.Run("--permissions "+file+" config show --permissions "+file).Fails(api.ExitOurs, "hint: one of them")
	p.Run("config show").OK().Lacks(file)
	if p.Tree() != before {
		t.Errorf("a command that shows has written:\n%s", p.Tree())
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	p.Run("--permissions "+file+" config show").Fails(api.ExitOurs, "there is no ceiling file")
}
