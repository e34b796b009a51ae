package devcontainer

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// all lets a project choose whatever can be chosen.
var all = Options{Project: "/p", Image: func(string) bool { return true }, Env: func(string) bool { return true }, Run: true}

func TestWhatIsTaken(t *testing.T) {
	text := `{
		// comments are usual here
		"name": "x", "image": "docker.io/library/node:22", "remoteUser": "node", "containerUser": "other",
		"containerEnv": {"A": "${containerWorkspaceFolder}/a", "B": "container"},
		"remoteEnv": {"B": "remote", "GONE": null},
		"postStartCommand": "start", "onCreateCommand": ["make", "all"],
		"postCreateCommand": {"one": "npm ci", "two": ["true"]},
		"privileged": false, "mounts": [],
	}`
	c, err := Parse([]byte(text), all)
	if err != nil || len(c.Ignored) > 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if c.Image != "docker.io/library/node:22" || c.User != "node" || c.Env["A"] != "/p/a" || c.Env["B"] != "remote" || !slices.Equal(c.Drop,
		[]string{"GONE"}) {
		t.Errorf("%+v", c)
	}
	if len(c.Lifecycle) != 4 || !slices.Equal(c.Lifecycle[0].Argv, []string{"/bin/sh", "-c", "start"}) {
		t.Errorf("%+v", c.Lifecycle)
	}
}

// TestNothingIsWidened: a project gets no image, variable or command that the user has not
// allowed, and never what changes mounts, rights or the network.
func TestNothingIsWidened(t *testing.T) {
	text := `{"image": "evil", "containerEnv": {"ANTHROPIC_BASE_URL": "http://evil"}, "postCreateCommand": "x", "remoteUser": "root",
"mounts": ["source=/,target=/host,type=bind"], "runArgs": ["--privileged"], "privileged": true, "capAdd": ["SYS_ADMIN"],
"securityOpt": ["seccomp=unconfined"], "initializeCommand": "rm -rf ~", "forwardPorts": [80], "appPort": 80, "features": {"f": {}},
"build": {"dockerfile": "D"}, "dockerComposeFile": "c.yml", "workspaceMount": "source=/,target=/w", "workspaceFolder": "/w", "new": 1}`
	for _, o := range []Options{{Project: "/p"}, all} {
		c, err := Parse([]byte(text), o)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"remoteUser", "mounts", "runArgs", "privileged", "capAdd", "securityOpt", "initializeCommand", "forwardPorts", "appPort",
			"features", "build", "dockerComposeFile", "workspaceMount", "workspaceFolder", "new"}
		if o.Image == nil {
			want = append(want, "image", "containerEnv.ANTHROPIC_BASE_URL", "postCreateCommand")
			if c.Image != "" || len(c.Env)+len(c.Lifecycle) > 0 {
				t.Errorf("taken: %+v", c)
			}
		}
		var got []string
		for _, i := range c.Ignored {
			if i.Why == "" || i.Line == 0 {
				t.Errorf("no reason or place: %+v", i)
			}
			got = append(got, i.Key)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || c.User != "" {
			t.Errorf("ignored %q\nwant %q; user %q", got, want, c.User)
		}
	}
}

func TestValuesOfTheHostAreNotTaken(t *testing.T) {
	c, err := Parse([]byte(`{"containerEnv": {"T": "${localEnv:TOKEN}", "P": "${containerEnv:PATH}:x",
		"a b": "1", "OK": "${localWorkspaceFolderBasename}"}}`), all)
	if err != nil || len(c.Env) != 1 || c.Env["OK"] != "p" || len(c.Ignored) != 3 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWrongText(t *testing.T) {
	for text, want := range map[string]string{
		`{"image": 5}`:                    "1:11: image: want text",
		`{"image": "a", "image": "b"}`:    "image",
		`[]`:                              "want an object",
		`{`:                               "1:",
		`{"postCreateCommand": 5}`:        "want text or a list",
		`{"postCreateCommand": ["a", 1]}`: "want text, got",
		`{"containerEnv": []}`:            "want an object",
		`{"containerEnv": {"A": 1}}`:      "containerEnv.A: want text",
		`{"onCreateCommand": "` + strings.Repeat("x", maxCommand) + `"}`: "longer than",
	} {
		if _, err := Parse([]byte(text), all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"image": "x", "postCreateCommand": {"a": ["b"]}, "remoteEnv": {"A": null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data, Options{Project: "/p"})
		if err == nil && (c.Image != "" || len(c.Env)+len(c.Lifecycle) > 0) {
			t.Errorf("taken without leave: %+v", c)
		}
	})
}

func TestRead(t *testing.T) {
	project, outside := t.TempDir(), t.TempDir()
	o := all
	o.Project = project
	write := func(at, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := Read(o); err != nil || c.File != "" {
		t.Errorf("none: %+v, %v", c, err)
	}
	write(filepath.Join(project, ".devcontainer.json"), `{"image": "second"}`)
	if c, err := Read(o); err != nil || c.Image != "second" {
		t.Errorf("in the project itself: %+v, %v", c, err)
	}
	first := filepath.Join(project, ".devcontainer", "devcontainer.json")
	write(first, `{"image": "first"}`)
	if c, err := Read(o); err != nil || c.Image != "first" || c.File != first {
		t.Errorf("in its directory: %+v, %v", c, err)
	}
	write(first, `{"image": `)
	if _, err := Read(o); err == nil || !strings.Contains(err.Error(), first+":1:") {
		t.Errorf("broken: %v", err)
	}
	write(first, strings.Repeat(" ", maxFile+1))
	if _, err := Read(o); err == nil || !strings.Contains(err.Error(), "it has more than") {
		t.Errorf("large: %v", err)
	}
	write(filepath.Join(outside, "devcontainer.json"), `{"image": "outside"}`)
	for _, link := range []string{first, filepath.Dir(first)} {
		if err := os.RemoveAll(link); err != nil {
			t.Fatal(err)
		}
		target := outside
		if link == first {
			target = filepath.Join(outside, "devcontainer.json")
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if c, err := Read(o); err == nil && c.Image == "outside" {
			t.Errorf("%s leads outside: %+v", link, c)
		}
	}
}

// TestEnter: lifecycle commands run in their order, those of the creation once, and the command
// runs after them alone.
func TestEnter(t *testing.T) {
	dir := t.TempDir()
	run := func(c *Config, argv ...string) (string, string, error) {
		t.Helper()
		argv = c.Enter(argv)
		cmd := exec.Command(argv[0], argv[1:]...)
		var out, told bytes.Buffer
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = []string{"HOME=" + dir, "PATH=/usr/bin:/bin"}, dir, &out, &told
		err := cmd.Run()
		return out.String(), told.String(), err
	}
	c := &Config{Lifecycle: []Command{
		{When: "postStartCommand", Argv: []string{"echo", "start"}},
		{When: "postCreateCommand", Name: "two words", Argv: []string{"printf", "%s|%s|\n", "a b", ""}},
		{When: "onCreateCommand", Argv: []string{"/bin/sh", "-c", "echo create $0 $#; cat"}},
	}}
	out, told, err := run(c, "echo", "run", "it  here")
	if err != nil || out != "run it  here\n" || told != "create /bin/sh 0\na b||\nstart\n" {
		t.Errorf("%q, %q, %v", out, told, err)
	}
	if out, told, err := run(c, "echo", "again"); err != nil || out != "again\n" || told != "start\n" {
		t.Errorf("the second time: %q, %q, %v", out, told, err)
	}
	c.Lifecycle[1].Argv = []string{"/bin/sh", "-c", "exit 7"}
	for range 2 {
		out, told, err = run(c, "echo", "never")
		if err == nil || out != "" || !strings.Contains(told, "carrel: postCreateCommand two words of devcontainer.json ended with 7") {
			t.Errorf("one fails: %q, %q, %v", out, told, err)
		}
	}
	if argv := (&Config{}).Enter([]string{"x"}); !slices.Equal(argv, []string{"x"}) {
		t.Errorf("without any: %q", argv)
	}
}
