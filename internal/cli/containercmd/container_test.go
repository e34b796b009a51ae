package containercmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/container"
)

// TestImageNames: an image is named after its path, and what could be a registry's is not ours.
func TestImageNames(t *testing.T) {
	for path, want := range map[string]string{
		"rootfs.tar.gz": "rootfs", "/a/b/Debian 12.tar": "debian-12", "x.tgz": "x", "a.tar.zst": "a", "-": "imported",
		"...": "imported", "é": "imported",
		"/": "imported", "v1.2_x": "v1.2_x",
	} {
		if got := importName(path); got != container.ImageOf(want) {
			t.Errorf("%q is named %s, want %s", path, got, container.ImageOf(want))
		}
	}
	for name, want := range map[string]string{
		"localhost/a:1": "", "docker.io/a": "hint: write localhost/docker.io/a", "a": "may be the name of a registry's image",
		"":              "it is empty",
		"localhost/a b": "\"localhost/a b\": ", "localhost/a;b": "\"localhost/a;b\": ", "localhost/$x": ": ",
	} {
		err := checkName(name, true)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	if err := checkName("docker.io/library/a", false); err != nil {
		t.Errorf("a registry's image to look at: %v", err)
	}
}

// TestLines: what an engine prints is a line each, bounded, and no control sequence.
func TestLines(t *testing.T) {
	var out strings.Builder
	l := &lines{to: &out}
	for _, part := range []string{"one\ntw", "o\r\n\n  \nthree\x1b[2J\rfo", "ur"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if want := "  one\n  two\n  three\\x1b[2J\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	l.flush()
	l.flush()
	if !strings.HasSuffix(out.String(), "\n  four\n") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	if _, err := l.Write([]byte(strings.Repeat("x", 3*maxLine))); err != nil || strings.Count(out.String(), "\n") < 2 ||
		len(l.part) > maxLine {
		t.Errorf("%v, %d bytes are kept", err, len(l.part))
	}
}

// TestTellFound: what is missing is said, and only a missing agent is an error.
func TestTellFound(t *testing.T) {
	for _, c := range []struct {
		agent   string
		missing []string
		fails   bool
	}{{"", nil, false}, {"", []string{"bash"}, false}, {"claude", nil, false}, {"claude", []string{"git"}, false}, {"claude",
		[]string{"claude", "git"}, true}} {
		var out strings.Builder
		a := &at{env: &cmdenv.Env{Out: &out}}
		f := &found{Image: "localhost/a", ID: "0123456789abcdef", Arch: "amd64", Agent: c.agent, Agents: []string{"codex"}, Missing: c.missing,
			Program: map[string]string{"codex": "/bin/codex", "git": "/bin/git"}}
		if err := a.tell(f, false); (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
		for _, want := range append([]string{"localhost/a is 0123456789ab, for amd64\n", "  codex: /bin/codex\n"}, c.missing...) {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: no %q in\n%s", c, want, out.String())
			}
		}
		out.Reset()
		if err := a.tell(f, true); (err != nil) != c.fails || !strings.HasPrefix(out.String(), "{") {
			t.Errorf("%+v as JSON: %v, %s", c, err, out.String())
		}
	}
}

// TestBuilds: the Dockerfile is that of the flag, else the person's own, else the built-in one,
// and a project's directory is sent to the engine only where it is named.
func TestBuilds(t *testing.T) {
	p := clitest.New(t, Commands())
	own := p.Config + "/" + container.UserDockerfile
	w := &container.Workplace{Dir: t.TempDir(), Context: "/empty"}
	for _, c := range []struct {
		name        string
		own, ownDir bool
		f           buildFlags
		file, dir   string
		image       string
		fails       string
	}{
		{"a file of the flag", true, true, buildFlags{file: "D"}, p.Project + "/D", "/empty", container.ImageOf("claude"), ""},
		{"with a context", false, false, buildFlags{file: "D", context: "."}, p.Project + "/D", p.Project, container.ImageOf("claude"), ""},
		{"one's own", true, false, buildFlags{}, own, "/empty", container.ImageOf("claude"), ""},
		{"one's own with its directory", true, true, buildFlags{}, own, own + ".d", container.ImageOf("claude"), ""},
		{"a name", true, false, buildFlags{name: "localhost/x:1"}, own, "/empty", "localhost/x:1", ""},
		{"a registry's name", true, false, buildFlags{name: "x:1"}, "", "", "", "may be the name of a registry's image"},
	} {
		if err := errors.Join(os.RemoveAll(own), os.RemoveAll(own+".d")); err != nil {
			t.Fatal(err)
		}
		if c.own {
			p.Write(".config/carrel/"+container.UserDockerfile, "FROM x\n")
		}
		if c.ownDir {
			p.Write(".config/carrel/"+container.UserDockerfile+".d/a", "")
		}
		a := &at{env: &cmdenv.Env{Environ: p.Environ}}
		list, err := a.builds(w, "claude", &c.f, container.Build{})
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || len(list) != 1 || list[0].File != c.file || list[0].Context != c.dir || list[0].Name != c.image {
			t.Errorf("%s: %+v, %v", c.name, list, err)
		}
	}
}

// TestProjectsDockerfileIsNotOnesOwn: without a configuration directory, a file of that name in
// the working directory is not built.
func TestProjectsDockerfileIsNotOnesOwn(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Write("project/"+container.UserDockerfile, "FROM evil\n")
	env := &cmdenv.Env{Environ: []string{"HOME=relative"}}
	if file := userFile(env, container.UserDockerfile); file != "" {
		t.Errorf("one's own is %q", file)
	}
	list, err := (&at{env: env}).builds(&container.Workplace{Dir: t.TempDir(), Context: "/empty"}, "claude", &buildFlags{},
		container.Build{})
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, b := range list {
		if text, err := os.ReadFile(b.File); err != nil || strings.Contains(string(text), "evil") {
			t.Errorf("%s: %s, %v", b.File, text, err)
		}
	}
}

// TestSourceTree: it is the directory of this module alone, and go is never one of its own.
func TestSourceTree(t *testing.T) {
	p := clitest.New(t, Commands())
	if dir, err := sourceTree(); err == nil {
		t.Errorf("without a clone: %s", dir)
	}
	p.Write("project/go.mod", "module carrels\n")
	if dir, err := sourceTree(); err == nil {
		t.Errorf("in another module: %s", dir)
	}
	p.Write("go.mod", "module carrel\n\ngo 1\n")
	if dir, err := sourceTree(); err != nil || dir != p.Home {
		t.Errorf("in a clone: %s, %v", dir, err)
	}
	for _, dir := range []string{p.Home + "/bin", filepath.Dir(p.Home) + "/run"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/go", nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	outside := filepath.Dir(p.Home) + "/run"
	for path, want := range map[string]string{p.Home + "/bin:" + outside: outside + "/go", "run:.:" + outside: outside + "/go"} {
		env := &cmdenv.Env{Environ: []string{"PATH=" + path}}
		if got, err := findGo(env, p.Home); err != nil || got != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	a := &at{env: &cmdenv.Env{Environ: p.Environ}}
	dir := t.TempDir()
	if _, err := a.programsFor(context.Background(), dir, "amd64", &installFlags{skipBuild: true}); err == nil ||
		!strings.Contains(err.Error(), "nothing was built for amd64") {
		t.Errorf("%v", err)
	}
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if list, err := a.programsFor(context.Background(), dir, "amd64", &installFlags{skipBuild: true}); err != nil ||
		len(list) != len(programs) {
		t.Errorf("%v, %v", list, err)
	}
}

// TestDevcontainer: what a project's file asks for is shown with what is not taken of it.
func TestDevcontainer(t *testing.T) {
	p := clitest.New(t, Commands())
	p.Run("container devcontainer").OK("the project has no devcontainer.json\n")
	p.Run("container devcontainer --json").OK(`"use": "read"`, `"ignored": []`)
	p.Write("project/.devcontainer.json", `{"image": "evil.example/x:1", "runArgs": ["--privileged"],
		"containerEnv": {"A\u001b": "b"}, "postCreateCommand": "id"}`)
	p.Run("container devcontainer").OK("file: ", ".devcontainer.json", "not taken: ").Lacks("\x1b", "\nimage: ", "\nvariable: ",
		"\npostCreateCommand: ")
	var got devcontainerJSON
	if p.Run("container devcontainer --json").OK().JSON(&got); got.Image != "" || len(got.Env) > 0 || len(got.Lifecycle) > 0 ||
		len(got.Ignored) < 3 {
		t.Errorf("%+v", got)
	}
}

// TestContainerRefusals: a wrong word is told before an engine is looked for, and a session
// that is held to a ceiling is not told of the user's images.
func TestContainerRefusals(t *testing.T) {
	p := clitest.New(t, Commands())
	ceiling := p.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	p.Refusals(map[string]string{
		"container list --engine odd":                               `--engine "odd" is none of `,
		"container check":                                           "IMAGE",
		"container check 'a b'":                                     `"a b": `,
		"container list extra":                                      "extra",
		"container build --file D --builtin":                        "--file",
		"container build a b":                                       "AGENT",
		"container build --name ''":                                 "--name",
		"container import":                                          "",
		"container devcontainer x":                                  "x",
		"install-dev --skip-build --release":                        "--release",
		"--permissions " + ceiling + " container list":              "ceiling: container list is about images of the user",
		"--permissions " + ceiling + " container check localhost/a": "run it without a ceiling",
	})
	if _, err := agentNamed("nobody"); err == nil || !strings.Contains(err.Error(), "hint: there are Dockerfiles for ") {
		t.Errorf("%v", err)
	}
	if a, err := agentNamed(""); err != nil || a.Name != (agents.Agent{}).Name {
		t.Errorf("%v, %v", a, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := stopped(ctx, errors.New("x")); err == nil || strings.Contains(err.Error(), "stopped") {
		t.Errorf("%v", err)
	}
	if cancel(); stopped(ctx, nil) != nil {
		t.Error("a command that was done is told as stopped")
	}
}
