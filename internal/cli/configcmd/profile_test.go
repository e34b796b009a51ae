package configcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
)

const shopProfile = `# the shop
description: The shop
network: local
size: {width: 800, height: 600}
env:
  TOKEN: s3cr3t
setup:
  - command: [npm, ci]
    timeout: 5m
apps:
  - name: editor
    command: [vi, a file]
`

// saved makes a place where the profile shop is saved.
func saved(t *testing.T) *clitest.Place {
	t.Helper()
	p := clitest.New(t, Commands())
	p.Write("shop.yaml", shopProfile)
	p.Run("profile put shop ../shop.yaml").OK("profile shop is saved in " + p.Config)
	return p
}

// TestProfilePut: a profile is saved as it stands and for its owner alone; nothing is replaced
// unless that was said, and a dry run writes nothing.
func TestProfilePut(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write("shop.yaml", shopProfile)
	p.Run("profile put --dry-run shop ../shop.yaml").OK("profile shop would be saved in ")
	p.Run("profile list").OK("no profile is saved")
	p.Run("profile list --json").OK("[]")
	p.Run("profile put shop ../shop.yaml").OK("profile shop is saved in ")
	file := filepath.Join(p.Config, "profiles/shop.yaml")
	if text := p.Read(".config/carrel/profiles/shop.yaml"); text != shopProfile {
		t.Errorf("saved is\n%s", text)
	}
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	p.In = "network: closed\n"
	p.Refusals(map[string]string{
		"profile put shop -":                  "--replace",
		"profile put shop":                    "needs a NAME and a FILE, or - for standard input; got 1",
		"profile put a b c":                   "got 3",
		"profile put ../x -":                  "../x",
		"profile put other absent.yaml":       `reading "absent.yaml": no such file`,
		"profile put other .":                 "it is no regular file; give - for standard input",
		"profile put other - --permissions=":  "--permissions",
		"profile put shop - --replace=maybe":  "maybe",
		"profile put shop - --no-such-switch": "--no-such-switch",
	})
	p.Run("profile put shop - --replace --dry-run").OK("profile shop would be replaced in ")
	if text := p.Read(".config/carrel/profiles/shop.yaml"); text != shopProfile {
		t.Errorf("after a dry run it is\n%s", text)
	}
	p.Run("profile put shop - --replace").OK("profile shop is replaced in ")
	if text := p.Read(".config/carrel/profiles/shop.yaml"); text != p.In {
		t.Errorf("replaced it is\n%s", text)
	}
	p.In = "netwrk: closed\n"
	p.Run("profile put other -").Fails(api.ExitOurs, "standard input:1:1", "netwrk")
	p.In = strings.Repeat("#", 1<<20) + "\n"
	p.Run("profile put other -").Fails(api.ExitOurs, "larger than 1 MiB")
	var refused struct{ Error string }
	if p.Run("profile put other - --json").Fails(api.ExitOurs, "larger").JSON(&refused); !strings.Contains(refused.Error, "larger") {
		t.Errorf("%+v", refused)
	}
}

// TestProfileUnderCeiling: what a ceiling does not allow is not saved, and not printed as a
// template.
func TestProfileUnderCeiling(t *testing.T) {
	p := clitest.New(t, Commands())
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	p.In = "network: open\n"
	p.Refusals(map[string]string{
		"profile put shop - --permissions " + ceiling:                                      "network",
		"--permissions " + ceiling + " profile put shop -":                                 "network",
		"profile import - --name shop --permissions " + ceiling:                            "network",
		"profile template restricted-browser --allow-host a.example --permissions=../none": "there is no ceiling file",
	})
	p.Run("profile put shop -").OK()
	p.Run("profile check shop --permissions "+ceiling).Fails(api.ExitOurs, "network")
	p.Run("profile check shop").OK("name", "shop", "network", "open")
}

// TestProfileShow: the value of a variable is shown where that was asked for, and only there.
func TestProfileShow(t *testing.T) {
	p := saved(t)
	want := []string{"name", "shop", "The shop", "file", p.Config, "digest", "800x600", "TOKEN (6 bytes)", "setup",
		"npm ci (within 5m0s)", "editor: vi \"a file\"",
		"asks for", "network: local"}
	p.Run("profile show shop").OK(want...).Lacks("s3cr3t", "strict")
	p.Run("profile show shop --json").OK(`"name": "TOKEN"`, `"bytes": 6`).Lacks("s3cr3t")
	p.Run("profile show shop --values").OK("TOKEN=s3cr3t").Lacks("6 bytes")
	p.Run("profile show shop --values --json").OK(`"value": "s3cr3t"`)
	p.Run("profile list").OK("NAME", "NETWORK", "shop", "local", "1", "1", "The shop").Lacks("s3cr3t")
	p.Write(".config/carrel/profiles/bad.yaml", "netwrk: a\nsetup: 1\n")
	p.Run("profile list").OK("bad", "MISTAKE: ", "netwrk", "shop")
	p.Run("profile show bad").Fails(api.ExitOurs, "netwrk")
	p.Run("profile show absent").Fails(api.ExitOurs, "absent")
	p.Run("profile show absent --json").Fails(api.ExitOurs, "absent").Prints(`"error": `)
}

// TestProfilePath: the place of a profile that is not there yet is told too, so that an editor
// can make it.
func TestProfilePath(t *testing.T) {
	p := saved(t)
	dir := filepath.Join(p.Config, "profiles")
	for line, want := range map[string]string{"": dir, "shop": dir + "/shop.yaml", "absent": dir + "/absent.yaml"} {
		if r := p.Run("profile path " + line).OK(); r.Out != want+"\n" {
			t.Errorf("%q: %q", line, r.Out)
		}
	}
	p.Run("profile path --json shop").OK(`"path": "` + dir + `/shop.yaml"`)
	p.Refusals(map[string]string{"profile path a b": "the name of a profile", "profile path ../a": "../a"})
}

// TestProfileDelete: a dry run deletes nothing, and only the profile of that name goes.
func TestProfileDelete(t *testing.T) {
	p := saved(t)
	p.In = "network: open\n"
	p.Run("profile put other -").OK()
	p.Run("profile delete --dry-run shop").OK("profile shop would be deleted: " + p.Config)
	p.Run("profile delete --dry-run shop --json").OK(`"deleted": false`, `"dry_run": true`)
	p.Run("profile show shop").OK()
	p.Run("profile delete shop").OK("profile shop is deleted\n")
	p.Run("profile delete shop").Fails(api.ExitOurs, "shop")
	if list := p.Run("profile list").OK("other"); strings.Contains(list.Out, "shop") {
		t.Error(list.Out)
	}
	p.Refusals(map[string]string{"profile delete": "the name of a profile", "profile delete ../../a": "a",
		"profile delete absent": "absent"})
}

// TestProfileValidate: each mistake is told with its place, and nothing is saved.
func TestProfileValidate(t *testing.T) {
	p := clitest.New(t, Commands())
	p.In = shopProfile
	p.Run("profile validate -").OK("standard input: ok")
	p.In = "netwrk: open\nsetup: 1\n"
	p.Run("profile validate -").Fails(api.ExitOurs, "2 mistakes").Prints("standard input:1:1", "netwrk", "standard input:2:")
	var got struct {
		Checked  []string
		Problems []struct{ Line int }
	}
	p.Run("profile validate --json -").Fails(api.ExitOurs, "2 mistakes").JSON(&got)
	if len(got.Problems) != 2 || got.Problems[1].Line != 2 || len(got.Checked) != 1 {
		t.Errorf("%+v", got)
	}
	p.Refusals(map[string]string{"profile validate absent": "no such file", "profile validate": "a FILE, or - for standard input"})
	p.Run("profile list").OK("no profile is saved")
}

// TestProfileTemplate: each kind makes a profile that can be saved as it is.
func TestProfileTemplate(t *testing.T) {
	p := clitest.New(t, Commands())
	for line, want := range map[string]string{
		"project-dev": "toolchain", "project-dev --project " + p.Project: p.Project,
		"browser-session --data-dir " + p.Home + "/mail":  "mail",
		"restricted-browser --allow-host '**.a.example'":  "**.a.example",
		"restricted-browser --allow-host a --browser lnx": "lnx",
	} {
		r := p.Words(clitest.Split("profile template " + line)...).OK(want)
		var as struct{ Kind, Yaml string }
		p.Words(clitest.Split("profile template --json " + line)...).OK().JSON(&as)
		if as.Yaml != r.Out || as.Kind != strings.Fields(line)[0] {
			t.Errorf("%s: as JSON %+v", line, as)
		}
		p.In = r.Out
		p.Run("profile put new - --replace").OK("profile new ")
	}
	p.Refusals(map[string]string{
		"profile template":                               "a KIND: project-dev, ",
		"profile template odd":                           "odd",
		"profile template browser-session":               "--data-dir",
		"profile template restricted-browser":            "--allow-host",
		"profile template project-dev --project ''":      "--project",
		"profile template project-dev --data-dir /a":     "--data-dir",
		"profile template restricted-browser --browser=": "--browser",
	})
}

// TestProfileExport: what is exported is what was saved; a file that is there is not lost.
func TestProfileExport(t *testing.T) {
	p := saved(t)
	if r := p.Run("profile export shop").OK(); r.Out != shopProfile {
		t.Errorf("%q", r.Out)
	}
	var as struct{ Name, Yaml string }
	if p.Run("profile export shop --json").OK().JSON(&as); as.Yaml != shopProfile || as.Name != "shop" {
		t.Errorf("%+v", as)
	}
	p.Run("profile export shop -o copy.yaml").OK("profile shop is in copy.yaml\n")
	if st, err := os.Stat("copy.yaml"); err != nil || st.Mode().Perm() != 0o600 || p.Read("project/copy.yaml") != shopProfile {
		t.Errorf("%v, %v", st, err)
	}
	p.Run("profile export shop -o " + p.Config).OK(p.Config + "/shop.yaml\n") // a directory
	p.Write("project/copy.yaml", "mine\n")
	p.Refusals(map[string]string{
		"profile export shop -o copy.yaml": "copy.yaml",
		"profile export shop --replace":    "no --output is given",
		"profile export shop -o ''":        "--output",
		"profile export absent":            "absent",
	})
	p.Run("profile export shop -o copy.yaml --replace --json").OK(`"replaced": true`).Lacks(`"yaml"`)
	if text := p.Read("project/copy.yaml"); text != shopProfile {
		t.Errorf("%q", text)
	}
}

// TestProfileImport: the name is that of the file or of --name; what has no form here is
// listed, and the exit status says so.
func TestProfileImport(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write("dev.yaml", shopProfile)
	p.Run("profile import ../dev.yaml").OK("profile dev is saved in ")
	p.Run("profile import ../dev.yaml --name two").OK("profile two is saved in ")
	p.In = shopProfile
	p.Refusals(map[string]string{
		"profile import -":            "--name",
		"profile import ../dev.yaml":  "--replace",
		"profile import":              "a FILE, or - for standard input",
		"profile import - --name=":    "--name",
		"profile import absent.yaml":  "no such file",
		"profile import - --name a/b": "a/b",
	})
	// A restriction of no enforcement has no form here, and a name twice has none either.
	p.In = `{"id": "web", "network": {"mode": "local_only", "allow_hosts": ["10.0.0.1:3"]},
 "startup_apps": [{"name": "a", "command": ["x"]}, {"name": "a", "command": ["y"]}]}`
	p.Write("web.json", p.In)
	r := p.Run("profile import ../web.json")
	if r.Status != exitLost || r.Err != "" || !strings.Contains(r.Notice, "carrel: not carried over: ") ||
		!strings.Contains(r.Notice, "10.0.0.1:3") {
		t.Errorf("%+v", r)
	}
	r.Prints("profile web is saved in ")
	p.In = `{"id": "web", "netwrk": {}}`
	p.Run("profile import - --name x").Fails(api.ExitOurs, "netwrk")
}

// TestProfileCompletion: a shell is told the names of profiles, of the first argument alone.
func TestProfileCompletion(t *testing.T) {
	p := saved(t)
	for _, sub := range []string{"show", "path", "check", "delete", "export"} {
		p.Words("__complete", "profile", sub, "").OK("shop\n", ":4")
		p.Words("__complete", "profile", sub, "shop", "").OK(":4").Lacks("shop\n")
	}
}
