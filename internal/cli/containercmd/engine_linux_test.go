package containercmd

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"carrel/internal/agents"
	"carrel/internal/cli/clitest"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/container"
)

// fake is an engine that makes nothing, see testdata/podman.
type fake struct {
	*at
	t        *testing.T
	p        *clitest.Place
	dir      string
	out, err strings.Builder
}

func fakeEngine(t *testing.T) *fake {
	t.Helper()
	program, err := filepath.Abs("testdata/podman")
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{t: t, dir: t.TempDir(), p: clitest.New(t, Commands())}
	env := &cmdenv.Env{Out: &f.out, Err: &f.err, Environ: f.p.Environ}
	f.at = &at{env: env, progress: &lines{to: &f.err}, engine: &container.Engine{
		Kind: container.Podman, Program: program, Env: []string{"PATH=/usr/bin:/bin", "FAKE=" + f.dir},
	}}
	return f
}

// says has the engine answer a question with a text from now on.
func (f *fake) says(name, text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// kept gives what the engine wrote down since the last time.
func (f *fake) kept(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err == nil {
		err = os.Remove(filepath.Join(f.dir, name))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		f.t.Fatal(err)
	}
	return string(text)
}

// printed gives what was printed since the last time, the output and the notices.
func (f *fake) printed() (out, notices string) {
	out, notices = f.out.String(), f.err.String()
	f.out.Reset()
	f.err.Reset()
	return out, notices
}

// id is the one of so many hexadecimal digits that begin with a text.
func id(begins string) string { return begins + strings.Repeat("0", 64-len(begins)) }

// has has the engine list images.
func (f *fake) has(images ...map[string]any) {
	f.t.Helper()
	var ids strings.Builder
	for _, i := range images {
		fmt.Fprintf(&ids, "sha256:%s\n", i["Id"])
	}
	text, err := json.Marshal(images)
	if err != nil {
		f.t.Fatal(err)
	}
	f.says("ids", ids.String())
	f.says("inspect", string(text))
}

// image is one of Carrel's, with the names that it has now.
func image(begins, named, agent string, names ...string) map[string]any {
	return map[string]any{
		"Id": id(begins), "RepoTags": names, "Created": "2026-01-0" + begins[:1] + "T00:00:00Z", "Size": 3 << 20, "Architecture": "x86_64",
		"Config": map[string]any{"Labels": map[string]string{
			container.LabelOwner: container.OwnerValue, container.LabelName: named, container.LabelAgent: agent,
		}},
	}
}

// TestListOfImages: the newest come first, with what a person needs to know; what an engine says
// reaches no terminal as a control sequence.
func TestListOfImages(t *testing.T) {
	f := fakeEngine(t)
	if err := f.list(t.Context(), false); err != nil || !strings.HasPrefix(f.out.String(), "there is no image of Carrel's") {
		t.Errorf("%v, %s", err, f.out.String())
	}
	f.printed()
	if err := f.list(t.Context(), true); err != nil || f.out.String() != "[]\n" {
		t.Errorf("%v, %s", err, f.out.String())
	}
	name := container.ImageOf("claude")
	f.has(image("1", "localhost/old:1", ""), image("2", name, "claude", name, "localhost/x\x1b[2J"), image("3", "localhost/a", "",
		"localhost/theirs"))
	f.printed()
	if err := f.list(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	out, _ := f.printed()
	rows := strings.Split(strings.TrimSpace(out), "\n")
	if len(rows) != 3 || !strings.HasPrefix(rows[1], name) || !strings.Contains(rows[1], id("2")[:12]+" ") ||
		!strings.Contains(rows[1], "3.0 MiB") ||
		!strings.HasPrefix(rows[2], "-") || strings.Contains(out, "\x1b") || strings.Contains(out, "theirs") {
		t.Errorf("%q", rows)
	}
	if err := f.list(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	var list []imageJSON
	if err := json.Unmarshal([]byte(f.out.String()), &list); err != nil || len(list) != 2 || list[0].Agent != "claude" ||
		list[0].Arch != "amd64" || list[1].Names == nil {
		t.Errorf("%+v, %v", list, err)
	}
	f.says("ids", "--all\n")
	if err := f.list(t.Context(), false); err == nil || !strings.Contains(err.Error(), "is no id") {
		t.Errorf("a word that is no id: %v", err)
	}
}

// TestPruning: a dry run removes nothing; what is in use stays, and is said with the reason.
func TestPruning(t *testing.T) {
	f := fakeEngine(t)
	if err := f.prune(t.Context(), false, false, false); err != nil || !strings.HasPrefix(f.out.String(), "there is nothing to remove") {
		t.Errorf("%v, %s", err, f.out.String())
	}
	f.says("exited", id("e")+"\n")
	f.has(image("1", "localhost/old:1", ""), image("2", "localhost/a", "", "localhost/a"), image("3", "localhost/used", ""))
	f.says("fails-"+id("3"), "Error: image is in use by a\x1b container\n")
	for _, c := range []struct {
		all, dry bool
		want     string
		removed  []string
	}{
		{false, true, "would remove container e, would remove image 3, would remove image 1", nil},
		{true, true, "would remove container e, would remove image 3, would remove image 2 localhost/a, would remove image 1", nil},
		{false, false, "removed container e, kept image 3 : image is in use, removed image 1", []string{"rm --volumes e", "rmi 3", "rmi 1"}},
		{true, false, "removed container e, kept image 3 : image is in use, removed image 2 localhost/a, removed image 1",
			[]string{"rm --volumes e", "rmi 3", "rmi 2", "rmi 1"}},
	} {
		f.kept("calls")
		f.printed()
		if err := f.prune(t.Context(), c.all, c.dry, false); err != nil {
			t.Fatal(err)
		}
		out, _ := f.printed()
		for i, line := range strings.Split(c.want, ", ") {
			got := strings.ReplaceAll(strings.Split(out, "\n")[i], "00000000000", "")
			if !strings.HasPrefix(strings.ReplaceAll(got, "  ", " "), line) && !strings.Contains(got, "in use") {
				t.Errorf("%+v: line %d is %q, want %q", c, i, got, line)
			}
		}
		if strings.Contains(out, "\x1b") {
			t.Errorf("%q", out)
		}
		var removed []string
		for call := range strings.Lines(f.kept("calls")) {
			if strings.HasPrefix(call, "rm") {
				removed = append(removed, strings.ReplaceAll(strings.TrimSpace(call), strings.Repeat("0", 63), ""))
			}
		}
		if !slices.Equal(removed, c.removed) {
			t.Errorf("%+v: removed by %q", c, removed)
		}
	}
	f.printed()
	if err := f.prune(t.Context(), false, false, true); err != nil {
		t.Fatal(err)
	}
	var list []prunedJSON
	if err := json.Unmarshal([]byte(f.out.String()), &list); err != nil || len(list) != 3 || list[0].Kind != "container" ||
		list[0].Kept != "" ||
		!strings.Contains(list[1].Kept, "in use") || list[2].Names == nil {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestBuildTellsWhatItMade: the built-in Dockerfiles are built one after the other without a file of
// the project; then the image is looked at, and its agent has to be there.
func TestBuildTellsWhatItMade(t *testing.T) {
	f := fakeEngine(t)
	f.p.Write("project/secret", "of the project")
	f.has(image("4", container.ImageOf("claude"), "claude", container.ImageOf("claude")))
	f.says("programs", "bash=/bin/bash\ngit=/usr/bin/git\nclaude=/usr/bin/claude\nmore=/x\nrg=relative\n")
	if err := f.build(t.Context(), "claude", &buildFlags{noCache: true, offline: true}); err != nil {
		t.Fatal(err)
	}
	out, notices := f.printed()
	if !strings.HasPrefix(out, container.ImageOf("claude")+" is "+id("4")[:12]+", for amd64\n  claude: /usr/bin/claude\n") ||
		strings.Contains(out, "more") || strings.Contains(out, "rg") ||
		!strings.Contains(notices, "building "+container.ImageOf("claude")+"\n") ||
		!strings.Contains(notices, "  STEP 2\n") {
		t.Errorf("%s\n%s", out, notices)
	}
	builds := 0
	for call := range strings.Lines(f.kept("calls")) {
		if strings.HasPrefix(call, "build ") {
			builds++
			if !strings.Contains(call, " --no-cache ") || !strings.Contains(call, " --network none ") || strings.Contains(call, f.p.Project) {
				t.Errorf("%s", call)
			}
		}
	}
	if files := f.kept("dockerfiles"); builds == 0 || strings.Count(files, "FROM ") < builds ||
		strings.Contains(f.kept("context"), "secret") {
		t.Errorf("%d builds of\n%s", builds, files)
	}
	f.says("programs", "bash=/bin/bash\n")
	if err := f.build(t.Context(), "claude", &buildFlags{}); err == nil ||
		!strings.Contains(err.Error(), "has no claude in its PATH\nhint: ") {
		t.Errorf("an image without its agent: %v", err)
	}
	if out, _ := f.printed(); !strings.Contains(out, "  claude: not there\n") || !strings.Contains(out, "  git: not there\n") {
		t.Errorf("%s", out)
	}
	f.says("fails-build", "Error: no such step\n")
	if err := f.build(t.Context(), "claude", &buildFlags{}); err == nil || !strings.Contains(err.Error(), "no such step") {
		t.Errorf("%v", err)
	}
	if err := f.build(t.Context(), "unheard", &buildFlags{}); err == nil || !strings.Contains(err.Error(), `no agent is called "unheard"`) {
		t.Errorf("%v", err)
	}
	own := f.p.Config + "/" + container.UserDockerfile
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := f.build(t.Context(), "claude", &buildFlags{}); err == nil || !strings.Contains(err.Error(), "is no regular file") {
		t.Errorf("a directory in place of one's own Dockerfile: %v", err)
	}
}

// TestImports: an archive goes to the engine as it is, and of a directory one without what is no file;
// what cannot be read is told before the engine has anything.
func TestImports(t *testing.T) {
	f := fakeEngine(t)
	f.p.Write("project/root/etc/os-release", "ID=test\n")
	if err := errors.Join(syscall.Mkfifo(f.p.Project+"/root/fifo", 0o600), os.Symlink("/etc/shadow", f.p.Project+"/root/link")); err != nil {
		t.Fatal(err)
	}
	f.env.In = strings.NewReader("from standard input")
	file := f.p.Write("project/a.tar", "an archive")
	for path, want := range map[string]string{"-": "from standard input", file: "an archive", "a.tar": "an archive"} {
		if err := f.load(t.Context(), path, "localhost/a", ""); err != nil || f.kept("archive") != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	f.printed()
	if err := f.load(t.Context(), "root", "localhost/a", ""); err != nil {
		t.Fatal(err)
	}
	if _, notices := f.printed(); !strings.Contains(notices, "carrel: 1 file was left out, of devices, sockets and FIFOs\n") {
		t.Errorf("%s", notices)
	}
	archive, names := tar.NewReader(strings.NewReader(f.kept("archive"))), []string{}
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.Trim(h.Name, "./")+" "+h.Linkname)
	}
	if slices.Sort(names); !slices.Contains(names, "etc/os-release ") || !slices.Contains(names, "link /etc/shadow") ||
		slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "fifo") }) {
		t.Errorf("%q", names)
	}
	for path, want := range map[string]string{"none": "no such file", "root/fifo": `"root/fifo" is neither a directory nor a file`} {
		f.kept("calls")
		if err := f.load(t.Context(), path, "localhost/a", ""); err == nil || !strings.Contains(err.Error(), want) || f.kept("calls") != "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	f.says("fails-import", "Error: the disk is full\n")
	if err := f.load(t.Context(), "root", "localhost/a", ""); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("an engine that reads nothing: %v", err)
	}
}

// TestInstallDev: all of Carrel's images with a name get the programs, but for the base of others, and
// so do its containers that take files; one that failed is told at the end.
func TestInstallDev(t *testing.T) {
	f := fakeEngine(t)
	skip := &installFlags{skipBuild: true}
	if err := f.installDev(t.Context(), skip); err == nil || !strings.Contains(err.Error(), "there is no image and no running container") {
		t.Errorf("%v", err)
	}
	f.has(image("1", "localhost/a", "", "localhost/a"), image("2", container.BaseImage, "", container.BaseImage), image("3",
		"localhost/old", ""))
	f.says("running", id("9")+"\n")
	if err := f.installDev(t.Context(), skip); err == nil || !strings.Contains(err.Error(), "nothing was built for amd64") {
		t.Errorf("%v", err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		for _, name := range programs {
			f.p.Write(".local/state/carrel/images/dev-"+arch+"/"+name, "program "+name)
		}
	}
	f.kept("calls")
	f.printed()
	if err := f.installDev(t.Context(), skip); err != nil {
		t.Fatal(err)
	}
	out, _ := f.printed()
	if !strings.HasPrefix(out, "image localhost/a has it, for amd64\ncontainer "+id("9")[:12]+" has it, for ") ||
		strings.Count(out, "\n") != 2 {
		t.Errorf("%s", out)
	}
	if got := f.kept("dockerfiles"); got != "FROM "+id("1")+"\nCOPY "+strings.Join(programs, " ")+" /usr/local/bin/\n" {
		t.Errorf("%s", got)
	}
	if got := f.kept("context"); !slices.Equal(strings.Fields(got), slices.Sorted(slices.Values(programs))) {
		t.Errorf("%s", got)
	}
	if got := f.kept("calls"); strings.Count(got, "cp ") != len(programs) {
		t.Errorf("%s", got)
	}
	f.says("fixed", "true\n")
	f.says("fails-build", "Error: no space\n")
	err := f.installDev(t.Context(), skip)
	if out, notices := f.printed(); err == nil || err.Error() != "1 place does not have it" ||
		!strings.Contains(out, "stays as it is: its system is read-only") ||
		!strings.Contains(notices, "carrel: image localhost/a stays as it is: ") {
		t.Errorf("%v\n%s\n%s", err, out, notices)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.installDev(ctx, skip); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestOneLook: agents and tools of an image are found by their programs, whatever else it says.
func TestOneLook(t *testing.T) {
	f := fakeEngine(t)
	f.has(image("5", "localhost/a", "", "localhost/a"))
	f.says("programs", "codex=/opt/codex\nnode=/usr/bin/node\n\x1b=/x\nno line\n")
	got, err := f.look(t.Context(), "localhost/a", agents.Agent{})
	if err != nil || !slices.Equal(got.Agents, []string{"codex"}) || !slices.Equal(got.Missing, []string{"bash", "git"}) ||
		len(got.Program) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	f.has()
	if _, err := f.look(t.Context(), "localhost/a", agents.Agent{}); err == nil ||
		!strings.Contains(err.Error(), `knows 0 images of the name "localhost/a"`) {
		t.Errorf("%v", err)
	}
}
