package limacmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/clitest"
	"carrel/internal/lima"
	"carrel/internal/statedir"

	"golang.org/x/sys/unix"
)

// userID is the user of these tests where they are run as root, whom limactl refuses.
const userID = 61001

// host is a place with the limactl of testdata.
type host struct {
	*clitest.Place
	t    *testing.T
	lima string // LIMA_HOME
}

func newHost(t *testing.T) *host {
	t.Helper()
	text, err := os.ReadFile("testdata/limactl")
	if err != nil {
		t.Fatal(err)
	}
	p := clitest.New(t, Commands())
	h := &host{Place: p, t: t, lima: p.Home + "/lima"}
	if err := os.Chmod(p.Write("bin/limactl", string(text)), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Write("lima/calls", "")
	p.Write(".config/carrel/config.yaml", "lima: {image: /images/debian.qcow2}\n")
	p.Environ = append(p.Environ, "PATH="+p.Home+"/bin:/usr/bin:/bin", "LIMA_HOME="+h.lima)
	p.Environ = slices.DeleteFunc(p.Environ, func(v string) bool { return v == "PATH=/usr/bin:/bin" })
	return h
}

// as runs one command line as an ordinary user.
func (h *host) as(args ...string) (r clitest.Result) {
	h.t.Helper()
	if os.Getuid() != 0 {
		return h.Words(args...)
	}
	root := filepath.Dir(h.Home)
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, userID, userID))
	})
	for dir := filepath.Dir(root); dir != "/" && dir != os.TempDir(); dir = filepath.Dir(dir) {
		err = errors.Join(err, os.Chmod(dir, 0o711))
	}
	if err != nil {
		h.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // it stays another user's, and ends with this function
		_, _, e := unix.RawSyscall(unix.SYS_SETRESUID, userID, userID, userID)
		if e != 0 {
			done <- e
			return
		}
		r = h.Words(args...)
		done <- nil
	}()
	if err := <-done; err != nil {
		h.t.Fatal(err)
	}
	return r
}

// has has limactl list machines.
func (h *host) has(machines ...string) { h.Write("lima/list", strings.Join(machines, "\n")+"\n") }

// listed is a line of limactl's list: one of ours, for a workspace.
func listed(workspace, status, project string) string {
	mounts := "[]"
	if project != "" {
		mounts = fmt.Sprintf(`[{"location":%q}]`, project)
	}
	told, _ := json.Marshal(status) // a text can be told
	return fmt.Sprintf(`{"name":"carrel-%s","status":%s,"dir":"/d","config":{"mounts":%s,`+
		`"env":{"CARREL_WORKSPACE":%q,"CARREL_TEMPLATE":"m"}}}`,
		workspace, told, mounts, workspace)
}

// calls gives the first words of limactl's calls since the last time.
func (h *host) calls() (list []string) {
	for line := range strings.Lines(h.Read("lima/calls")) {
		if line = strings.TrimSpace(line); line != "--version" && !strings.HasPrefix(line, "list") {
			list = append(list, line)
		}
	}
	h.Write("lima/calls", "")
	return list
}

// keep has something be kept of a project, and gives its id.
func (h *host) keep(project string) string {
	h.t.Helper()
	if err := statedir.At(h.State).Use(project); err != nil {
		h.t.Fatal(err)
	}
	return statedir.ProjectID(project)
}

// TestMachinesAreListed: each machine of Carrel's with the project that it is for, and no other one.
func TestMachinesAreListed(t *testing.T) {
	h := newHost(t)
	h.as("lima", "list").OK("there is no machine of Carrel's; carrel run --backend lima makes one\n")
	h.as("lima", "list", "--json").OK("[]\n")
	known := h.keep(h.Project)
	h.has(listed(known, "Running", ""), listed("gone", "Stopped\x1b[2J", ""), listed("own", "Broken", "/their/project"),
		`{"name":"default","status":"Running","config":{}}`)
	r := h.as("lima", "list").OK("MACHINE", "STATUS", "PROJECT", "carrel-"+known, "Running", h.Project, "carrel-gone", "-\n", "carrel-own",
		"/their/project").Lacks("default", "\x1b")
	if strings.Count(r.Out, "\n") != 4 {
		t.Errorf("%s", r.Out)
	}
	var list []machineJSON
	if h.as("lima", "list", "--json").OK().JSON(&list); len(list) != 3 ||
		list[0] != (machineJSON{"carrel-" + known, "Running", known, api.Text(h.Project), "m"}) ||
		list[1].Project != "" {
		t.Errorf("%+v", list)
	}
	h.Write("lima/list", "no JSON")
	h.as("lima", "list").Fails(api.ExitOurs, "reading what limactl lists")
	h.Write("lima/fails-list", "level=fatal msg=\"broken\"")
	h.as("lima", "list").Fails(api.ExitOurs, "limactl list", "broken")
}

// TestMachinesOfGoneProjects: a machine goes when its project is gone, or nothing is kept of it; with
// a dry run all of them stay. One that cannot be removed is told, and the others go.
func TestMachinesOfGoneProjects(t *testing.T) {
	h := newHost(t)
	h.as("lima", "prune").OK("there is nothing to remove\n")
	here, gone := h.keep(h.Project), h.keep(h.Home+"/gone")
	h.has(listed(here, "Running", ""), listed(gone, "Stopped", ""), listed("unknown", "Stopped", ""), listed("in", "Stopped", h.Project),
		listed("in2", "Stopped", h.Home+"/gone"), `{"name":"default","status":"Running","config":{}}`)
	before := h.Read("lima/list")
	h.calls()
	h.as("lima", "prune", "--dry-run").OK("would remove machine carrel-"+gone+"\n", "would remove machine carrel-unknown\n",
		"would remove machine carrel-in2\n").Lacks(here, "carrel-in\n")
	if calls := h.calls(); len(calls) > 0 || h.Read("lima/list") != before {
		t.Errorf("a dry run: %q", calls)
	}
	var names []string
	h.as("lima", "prune", "--json").OK().JSON(&names)
	if want := []string{"carrel-" + gone, "carrel-unknown", "carrel-in2"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if got := h.Read("lima/list"); strings.Count(got, "\n") != 3 || !strings.Contains(got, "default") || !strings.Contains(got, here) {
		t.Errorf("left:\n%s", got)
	}
	h.has(listed("unknown", "Stopped", ""))
	h.Write("lima/fails-delete", "it is locked")
	h.as("lima", "prune").Fails(api.ExitOurs, "it is locked").Prints("there is nothing to remove")
}

// TestNeeded: a machine that has its project by a mount is needed as long as that is there; any other
// one as long as something is kept of its project, which is not known to be gone.
func TestNeeded(t *testing.T) {
	dir := t.TempDir()
	known := map[string]statedir.Kept{"a": {Path: dir}, "b": {Path: "/b", Gone: true}, "c": {}}
	for _, c := range []struct {
		m      lima.Machine
		of     string
		needed bool
	}{
		{lima.Machine{Workspace: "a"}, dir, true}, {lima.Machine{Workspace: "b"}, "/b", false}, {lima.Machine{Workspace: "c"}, "", true},
		{lima.Machine{Workspace: "d"}, "", false}, {lima.Machine{Workspace: "b", Project: dir}, dir, true},
		{lima.Machine{Workspace: "a", Project: dir + "/gone"}, dir + "/gone", false},
	} {
		if of, got := projectOf(c.m, known), needed(c.m, known); of != c.of || got != c.needed {
			t.Errorf("%+v: of %q, needed %v", c.m, of, got)
		}
	}
}

// TestShellInTheMachine: a command runs in the machine that is up, with the words, the streams and the
// status of its own.
func TestShellInTheMachine(t *testing.T) {
	h := newHost(t)
	h.as("lima", "shell").Fails(api.ExitOurs, "is not there, or does not run", "carrel run --backend lima")
	id := statedir.ProjectID(h.Project)
	h.has(listed(id, "Stopped", ""))
	h.as("lima", "shell", "--", "id").Fails(api.ExitOurs, "does not run")
	h.has(listed("other", "Running", ""), listed(id, "Running", ""))
	h.calls()
	h.In = "typed"
	h.as("lima", "shell", "--", "sh", "-c", `cat; echo "$0 $1"; pwd`, "a b", "c").OK("typeda b c\n/\n")
	h.In = "echo from the shell; exit 3"
	r := h.as("lima", "shell")
	if r.Out != "from the shell\n" || r.Status != 3 || r.Err != "" {
		t.Errorf("%+v", r)
	}
	for _, call := range h.calls() {
		if !strings.HasPrefix(call, "shell --workdir=/ carrel-"+id+" sudo -n -H -u "+lima.Agent+" -- ") {
			t.Errorf("%s", call)
		}
	}
}

// TestMachinesMadeAnew: the old one goes first, and the new one is made of the configuration as it is
// now; a mistake in that leaves the old one.
func TestMachinesMadeAnew(t *testing.T) {
	h := newHost(t)
	id := statedir.ProjectID(h.Project)
	h.has(listed(id, "Stopped", ""), listed(id+"-inside", "Running", h.Project))
	h.calls()
	name := "carrel-" + id + "-inside"
	h.as("lima", "recreate", "--inside").OK(name + "\n")
	want := []string{"delete --force " + name, "create --tty=false --name=" + name + " -", "start --tty=false --timeout=14m " + name}
	if calls := h.calls(); !slices.Equal(calls, want) {
		t.Errorf("%q, want %q", calls, want)
	}
	if text := h.Read("lima/template"); !strings.Contains(text, `mountPoint: "`+h.Project+`"`) ||
		!strings.Contains(text, "/images/debian.qcow2") {
		t.Errorf("%s", text)
	}
	h.Write(".config/carrel/config.yaml", "lima: {}\n")
	list := h.Read("lima/list")
	h.as("lima", "recreate", "--inside").Fails(api.ExitOurs, "lima.image")
	h.as("lima", "recreate").Fails(api.ExitOurs, "lima.image")
	h.as("lima", "recreate", "--inside", "--network", "open").Fails(api.ExitOurs, "--inside")
	h.as("lima", "recreate", "--network", "odd").Fails(api.ExitOurs, "odd")
	if calls := h.calls(); len(calls) > 0 || h.Read("lima/list") != list {
		t.Errorf("what cannot be made anew was taken away: %q", calls)
	}
}

// TestWhoMayUseMachines: root is refused, as limactl would, and so is a session that is held to a
// ceiling; a line that no machine can do is told before limactl is asked.
func TestWhoMayUseMachines(t *testing.T) {
	h := newHost(t)
	ceiling := h.Write("ceiling.json", `{"network": {"mode": "disabled"}}`)
	for line, want := range map[string]string{
		"lima carrel":        "a command of carrel is missing",
		"lima carrel doctor": "a command of carrel is missing",
		"lima list extra":    "extra",
		"lima prune x":       "x",
		"--permissions " + ceiling + " lima list":     "ceiling: lima list is about machines of the user",
		"--permissions " + ceiling + " lima recreate": "run it without a ceiling",
		"--permissions " + ceiling + " lima shell":    "ceiling: lima shell",
	} {
		h.as(strings.Fields(line)...).Fails(api.ExitOurs, want)
	}
	if calls := h.Read("lima/calls"); calls != "" {
		t.Errorf("limactl was asked: %s", calls)
	}
	h.as("lima", "carrel", "--help").OK()
	if os.Getuid() == 0 {
		h.Words("lima", "list").Fails(api.ExitOurs, "limactl refuses to run as root", "as an ordinary user")
	}
	if err := os.Remove(h.Home + "/bin/limactl"); err != nil {
		t.Fatal(err)
	}
	h.as("lima", "list").Fails(api.ExitOurs, "there is no limactl in PATH", "install Lima")
}
