//go:build linux

package e2e

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// column is one way to have walls made.
type column struct {
	name  string
	flags []string
	wrap  func(w *world) func(*exec.Cmd) // how the program is started; nil: as always
}

// columns are the engines, and the one case in which another engine is chosen
// without being asked for: in a user namespace in which none can be made, with
// a bubblewrap that is setuid root there. Nothing of it is pretended; AppArmor,
// which refuses namespaces to most programs and not to bubblewrap, cannot be had
// on every machine.
var columns = []column{
	{"namespaces", []string{"--engine", "namespaces"}, nil},
	{"bubblewrap", []string{"--engine", "bubblewrap"}, nil},
	{"setuid bubblewrap", nil, withoutNamespaces},
	{"landlock", []string{"--engine", "landlock"}, nil},
	{containerColumn, inContainer, nil},
	{limaColumn, inMachine, nil},
	{gvisorColumn, inGvisor, nil},
}

// containerColumn is the backend container, which is one more way to make walls.
const containerColumn = "container"

// engineCase is one row of the matrix: what it is about, which dimension of a
// policy which column refuses to hold (it must say so, and start nothing), what is
// something else in which column, and else what has to be seen on the host.
type engineCase struct {
	name    string
	shares  bool     // its runs may be commands of a workspace that other rows use
	flags   []string // beside "--history off", or on in a machine
	history string   // instead of that
	refuses map[string]string
	differs map[string]difference
	before  func(d *desk)
	holds   func(d *desk)
}

// difference is what a column has in place of what the others hold, or how the same
// is seen there.
type difference struct {
	cell  string
	holds func(d *desk)
}

// desk is one world with one engine.
type desk struct {
	*world
	flags  []string
	input  io.Closer // of a command that runs
	output io.Reader
}

// behindWalls runs a script and wants it to succeed.
func (d *desk) behindWalls(script string) string { d.t.Helper(); return d.sh(script, d.flags...) }

// TestEngines: every engine holds the same, or says that it does not.
func TestEngines(t *testing.T) {
	t.Parallel()
	for _, c := range columns {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.wrap != nil && os.Getuid() != 0 {
				t.Skip("making a setuid program takes root")
			}
			engineMakesWalls(t, c)
			var shared *desk
			if c.name == gvisorColumn {
				shared = staysInSandbox(t, c)
			}
			for _, row := range engineCases {
				t.Run(row.name, func(t *testing.T) { row.run(t, c, shared) })
			}
		})
	}
	t.Log("\n" + matrix())
}

// engineMakesWalls looks, without attacking anything, whether the engine at work
// is the column's and its commands have namespaces of their own.
func engineMakesWalls(t *testing.T, c column) {
	t.Helper()
	d := newDesk(t, c, engineCase{})
	if c.name == "landlock" {
		standsAlone(d)
		return
	}
	inside := strings.Fields(d.behindWalls("for n in mnt pid ipc uts net; do readlink /proc/self/ns/$n; done"))
	for i, kind := range []string{"mnt", "pid", "ipc", "uts", "net"} {
		if len(inside) != 5 || inside[i] == own(kind) {
			t.Fatalf("NO WALLS: %s: the command is in the namespaces %q of the tests; nothing was attacked", kind, inside)
		}
	}
	r := d.run(append(d.flags, "--json", "--", "true")...)
	want := strings.TrimPrefix(c.name, "setuid ")
	if !strings.Contains(r.err, `"engine":"`+want+`"`) {
		t.Fatalf("want engine %s: %s", want, r)
	}
	if said := strings.Contains(r.err, "carrel: engine bubblewrap (/usr/bin/bwrap 0."); said != (want == "bubblewrap") {
		t.Errorf("what is weaker was announced: %v: %s", said, r)
	}
}

func newDesk(t *testing.T, c column, row engineCase) *desk {
	w, history := (*world)(nil), "off"
	switch c.name {
	case containerColumn:
		w = contained(t, namedContainers)
	case limaColumn:
		w, history = machined(t), "on"
	case gvisorColumn:
		w, history = gvisorWorld(t, ordinary(t)), "on"
	default:
		w = newWorld(t, ordinary(t))
	}
	if c.wrap != nil {
		w.wrap = c.wrap(w)
	}
	history = cmp.Or(row.history, history)
	return &desk{world: w, flags: slices.Concat(c.flags, []string{"--history", history}, row.flags)}
}

func (row engineCase) run(t *testing.T, c column, shared *desk) {
	d := shared.sharedBy(t, row)
	if d == nil {
		d = newDesk(t, c, row)
	}
	if row.before != nil {
		row.before(d)
	}
	dimension, refuses := row.refuses[c.name]
	if differs, ok := row.differs[c.name]; ok {
		differs.holds(d)
		return
	}
	if !refuses {
		row.holds(d)
		return
	}
	r := d.world.run(append(d.flags, "--", "touch", d.project+"/started")...)
	if r.code != 125 || !strings.Contains(r.err, dimension) || !strings.Contains(r.err, "hint: ") || exists(d.project+"/started") {
		t.Errorf("it must be refused, naming %q: %s", dimension, r)
	}
}

// matrix is the table of docs/engines.md.
func matrix() string {
	var b strings.Builder
	b.WriteString("| what |")
	for _, c := range columns {
		b.WriteString(" " + c.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range engineCases {
		b.WriteString("| " + row.name + " |")
		for _, c := range columns {
			if dimension, refuses := row.refuses[c.name]; refuses {
				fmt.Fprintf(&b, " refused: %s |", dimension)
				continue
			}
			if differs, ok := row.differs[c.name]; ok {
				fmt.Fprintf(&b, " %s |", differs.cell)
				continue
			}
			b.WriteString(" held |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestEnginesManual: the manual has the matrix as it is tested.
func TestEnginesManual(t *testing.T) {
	data, err := os.ReadFile("../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), matrix()) {
		t.Errorf("docs/engines.md lacks this table:\n%s", matrix())
	}
}

// TestNoEngine: where neither carrel nor bubblewrap gets namespaces nothing is
// started that Landlock alone does not hold, the reasons are said, and so is what
// helps. An engine that was asked
// for is not replaced by another, and a project's file asks for none.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("making a setuid program takes root")
	}
	w := newWorld(t, ordinary(t))
	w.wrap = refuseNamespaces("true")
	for _, tt := range []struct{ flag, says string }{
		{"auto", "engine landlock, because the system refuses carrel namespaces of its own (creating namespaces: no space left on device), and bubblewrap makes none either (/usr/bin/bwrap: exit status"},
		{"namespaces", "creating namespaces: no space left on device"},
		{"bubblewrap", "engine bubblewrap (asked for by --engine) cannot make walls here"},
		{"strongest", `--engine "strongest": want one of auto, namespaces, bubblewrap, landlock`},
	} {
		r := w.run("--engine", tt.flag, "--history", "off", "--network", "local", "--", "touch", w.project+"/started")
		if r.code != 125 || !strings.Contains(r.err, tt.says) || exists(w.project+"/started") {
			t.Errorf("--engine %s: %s", tt.flag, r)
		}
	}
	r := w.run("--json", "--history", "off", "--", "touch", w.project+"/started")
	if r.code != 0 || !exists(w.project+"/started") || !strings.Contains(r.err, "; weaker than carrel's own namespaces: names,") || !strings.Contains(r.err, `"engine":"landlock"`) {
		t.Errorf("what Landlock holds: %s", r)
	}
	r = w.carrel("sandbox", "--policy", w.policy("", ":tmp=write", ":cwd=write"), "--", "touch", w.project+"/exactly")
	if r.code != 125 || exists(w.project+"/exactly") || !strings.Contains(r.err, "landlock: what is private would lie at other paths") {
		t.Errorf("an exact policy: %s", r)
	}
	w.wrap = nil
	w.write(w.project+"/.carrel.yaml", "engine: bubblewrap\n")
	r = w.run("--json", "--history", "off", "--", "true")
	if r.code != 0 || !strings.Contains(r.err, `"engine":"namespaces"`) || !strings.Contains(r.err, ".carrel.yaml:1:1: engine: ignored") {
		t.Errorf("a project's file: %s", r)
	}
}

// TestDefaultLooksAtNoEngine: a start with namespaces of its own runs no other
// program, so that it costs no more than it did.
func TestDefaultLooksAtNoEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("strace")
	trace := func(flags ...string) string {
		log := w.base + "/home/trace"
		w.litter = true
		args := append([]string{"-f", "-qq", "-e", "trace=execve", "-o", log, w.bin, "run", "--history", "off"}, flags...)
		if r := w.plain("strace", append(args, "--", "true")...); r.code != 0 {
			t.Fatalf("%q: %s", flags, r)
		}
		return w.read(log)
	}
	if got := trace(); strings.Contains(got, "bwrap") || !strings.Contains(got, "carrel-stage") {
		t.Errorf("the default starts:\n%s", got)
	}
	if got := trace("--engine", "bubblewrap"); !strings.Contains(got, `"/usr/bin/bwrap", "--args"`) {
		t.Errorf("canary: bubblewrap is not seen:\n%s", got)
	}
}

// withoutNamespaces starts the program where the system refuses it user
// namespaces, but not to /usr/bin/bwrap.
func withoutNamespaces(w *world) func(*exec.Cmd) {
	setuid := w.base + "/bwrap"
	w.must(copyFile("/usr/bin/bwrap", setuid, 0o755))
	w.must(os.Chmod(setuid, 0o755|os.ModeSetuid))
	return refuseNamespaces("mount --bind " + setuid + " /usr/bin/bwrap")
}

// refuseNamespaces starts the program as an ordinary user of a user namespace in
// which none can be made, after a step by its root.
func refuseNamespaces(step string) func(*exec.Cmd) {
	script := "echo 0 >/proc/sys/user/max_user_namespaces && " + step + ` && exec setpriv --reuid "$1" --regid "$1" --clear-groups -- "${@:2}"`
	return func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", script, "sh", strconv.Itoa(plainUID), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/bash"
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 65535}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
	}
}
