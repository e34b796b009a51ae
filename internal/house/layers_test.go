package house

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers says which rooms each room may import, all below internal/. A
// mechanism imports at most policy and no other mechanism. Rooms above compose them:
// decide and session to run a command, with gui, network, credentials, guard and steps for parts of
// one; doctor to try what this machine can hold. cli joins
// the groups of commands below it; it starts the other two faces of the binary, the
// stage and the helpers inside, and lists the table of agents.
var layers = map[string][]string{
	"policy":              {"pathname", "policy/pathglob"},
	"policy/pathglob":     {},
	"pathname":            {},
	"procfs":              {},
	"history":             {"history/journal", "history/steplog", "history/store", "history/undo", "history/writer"},
	"history/disk":        {"gitconf", "history/journal", "pathname"},
	"history/graph":       {},
	"history/historytest": {"history", "history/journal"},
	"history/journal":     {},
	"history/relate":      {"history/graph", "history/journal", "history/steplog", "pathname"},
	"history/steplog":     {"history/journal", "pathname"},
	"history/store":       {"history/disk", "history/graph", "history/journal", "history/relate", "history/steplog", "pathname", "procfs"},
	"history/undo": {"history/disk", "history/graph", "history/journal", "history/relate", "history/steplog", "history/store",
		"history/writer", "pathname"},
	"history/writer": {"history/disk", "history/journal", "history/steplog", "history/store", "pathname"},
	"gui": {"a11y", "api", "clipboard", "desktop", "fdpass", "inside", "memfile", "policy", "ports", "rfb", "sandbox",
		"spool", "supervisor", "xfilter", "xvfb"},
	"ancestry":            {},
	"api":                 {},
	"apiview":             {"api", "policy", "show"},
	"a11y":                {"dbus"},
	"audit":               {"api", "ownfile", "strictjson"},
	"notify":              {"api", "dbus"},
	"show":                {"api"},
	"sound":               {},
	"stepview":            {"api", "history", "history/journal", "history/steplog", "projecthistory", "show"},
	"config":              {"advice", "policy", "safefile"},
	"gitconf":             {},
	"gitdir":              {"gitconf", "pathname"},
	"cmdline":             {},
	"dbus":                {},
	"dircache":            {},
	"dirlist":             {},
	"dirlist/deeptree":    {"dirlist"},
	"guard":               {"policy", "broker", "dirlist", "gitconf", "gitdir", "pathname", "protect", "secrets", "hostview"},
	"protect":             {"policy"},
	"agents":              {"hooks", "policy", "safefile"},
	"secrets":             {},
	"hostview":            {"dircache", "policy", "secrets", "gitconf", "pathname", "wildmatch"},
	"broker":              {"broker/caller", "broker/judged", "broker/ownfs", "procfs"},
	"broker/caller":       {},
	"broker/judged":       {},
	"broker/ownfs":        {},
	"capped":              {},
	"streams":             {},
	"fuserelay":           {"fdpass", "sandbox", "streams"},
	"guest":               {"sandbox", "streams"},
	"gvisor":              {"capped", "fuserelay", "memfile", "pathname", "sandbox", "sandbox/stage"},
	"guestagent":          {"guest", "inside", "memfile", "processes", "sandbox", "sandbox/stage", "streams"},
	"interceptor":         {"broker", "broker/judged"},
	"lima":                {"capped", "advice"},
	"machine/sentry":      {"advice", "fuserelay", "guestagent", "gvisor", "hostfacts", "interceptor", "machine", "sandbox"},
	"machine/linuxcarrel": {"advice", "config", "lima", "machine"},
	"guestimage":          {"advice", "safefile"},
	"guestinit":           {},
	"qemu":                {"advice", "capped", "guestimage", "guestinit", "memfile", "pathname", "sandbox"},
	"machine":             {"advice", "broker", "config", "guest", "inside", "interceptor", "lima", "pathname", "policy", "qemu", "sandbox", "streams"},
	"display":             {"policy"},
	"egress":              {"synhold", "policy"},
	"seccomp":             {"policy"},
	"seccomp/install":     {},
	"inside":              {},
	"inside/mark":         {"inside", "show"},
	"keys":                {"hostprogram", "policy"},
	"hostprogram":         {"capped"},
	"task":                {"api", "hostfile", "hostprogram", "ownfile", "safefile", "strictjson"},
	"taskhost":            {"hostexec", "inside"},
	"fileops":             {"wildmatch", "strictjson"},
	"wildmatch":           {},
	"tools":               {"api", "fileops", "inside", "supervisor"},
	"spool":               {"ownfile"},
	"outfile":             {"safefile"},
	"ownfile":             {},
	"safefile":            {},
	"screen":              {},
	"desktopentry":        {},
	"synhold":             {},
	"ports":               {"synhold"},
	"xvfb":                {"policy", "safefile"},
	"desktop":             {"desktop/ctext", "desktop/wire", "jsontree", "keysym", "picture"},
	"desktop/ctext":       {},
	"desktop/wire":        {},
	"desktop/wiretest":    {},
	"keysym":              {},
	"picture":             {},
	"xfilter":             {},
	"rfb":                 {},
	"wlclip":              {},
	"settings":            {},
	"hooks":               {"settings"},
	"clients":             {"hooks", "ownfile", "safefile", "settings", "procfs"},
	"supervisor":          {"ancestry", "api", "fdpass", "procfs", "registry", "strictjson"},
	"fdpass":              {},
	"memfile":             {},
	"xhost":               {},
	"clipboard":           {"capped", "api", "desktop", "inside", "memfile", "supervisor", "wlclip", "xhost"},
	"hostexec":            {"fdpass", "policy", "strictjson"},
	"hostexec/shim":       {"fdpass", "hostexec"},
	"taskplan":            {"api"},
	"jsontree":            {},
	"strictjson":          {},
	"mountinfo":           {},
	"foreign":             {"policy", "policy/pathglob", "config", "jsontree", "pathname"},
	"container":           {"capped", "advice", "devcontainer", "sandbox", "hostfile"},
	"devcontainer":        {"hostfile", "jsontree"},
	"profile":             {"policy", "config", "jsontree", "safefile"},
	"lowlevel":            {"policy", "api", "decide", "session"},
	"advice":              {},
	"incontainer":         {},
	"credentials":         {"advice", "api", "fdpass", "inside", "keys", "policy", "sandbox", "supervisor", "hostview"},
	"named":               {"advice", "api", "audit", "hostfile", "ownfile", "spool", "supervisor"},
	"registry":            {"procfs"},
	"stdio":               {},
	"tty":                 {"clipboard", "stdio"},
	"quickexec":           {"pathname", "registry", "stdio"},
	"quickexec/first":     {"quickexec"},
	"attach":              {"api", "clipboard", "quickexec", "supervisor", "tty"},
	"sandbox":             {"ancestry", "policy", "sandbox/landlock", "pathname", "memfile"},
	"sandbox/landlock":    {},
	"sandbox/stage":       {"sandbox", "sandbox/landlock", "seccomp/install", "stdio"},
	"hostfile":            {},
	"processes":           {"hostfile", "procfs", "sandbox"},
	"statedir":            {"api", "dircache", "dirlist", "gitdir", "hostfile", "ownfile", "pathname", "spool", "registry"},
	"changelog":           {"advice", "broker", "history", "history/disk", "statedir"},
	"histories":           {"changelog", "config", "history", "hostfile", "policy", "statedir"},
	"steps": {"api", "broker", "changelog", "config", "guard", "histories", "history", "history/journal", "history/steplog",
		"inside", "policy", "processes", "sandbox", "supervisor"},
	"cli/vmcmd":   {"advice", "cli/cmdenv", "cli/limacmd", "cmdline", "guestimage", "show"},
	"cli/limacmd": {"advice", "api", "cli/cmdenv", "cmdline", "config", "decide", "lima", "machine", "machine/linuxcarrel", "policy", "show", "statedir"},
	"cli/containercmd": {
		"agents", "api", "cli/cmdenv", "cmdline", "config", "container", "devcontainer", "safefile", "show", "statedir",
	},
	"network": {
		"advice", "api", "egress", "fdpass", "hostfile", "synhold", "policy", "ports", "sandbox", "statedir", "steps", "supervisor",
	},
	"auditor":        {"api", "audit", "history/journal", "named", "policy", "supervisor"},
	"logins":         {"agents", "hostfile", "safefile"},
	"hostfacts":      {"agents", "gitdir", "hostfile", "incontainer", "mountinfo", "pathname", "policy", "qemu", "sandbox"},
	"ceilings":       {"api", "config", "memfile", "policy", "strictjson"},
	"agenthome":      {"advice", "agents", "dirlist", "hostfacts", "hostfile", "logins", "pathname", "policy", "sandbox", "statedir"},
	"globscan":       {"hostfacts", "pathname", "policy", "sandbox"},
	"remask":         {"broker", "pathname", "policy", "sandbox", "secrets", "hostview"},
	"protectednames": {"gitconf", "gitdir", "globscan", "guard", "hostfacts", "hostfile", "pathname", "policy", "protect"},
	"projecthistory": {"api", "broker", "ceilings", "changelog", "guard", "histories", "history", "history/journal", "history/steplog",
		"policy", "statedir", "decide"},
	"hostsockets":  {"api", "hostfacts", "policy", "sandbox"},
	"toolchain":    {"advice", "pathname"},
	"hostwritable": {"pathname", "policy", "sandbox"},
	"notices":      {"api"},
	"decide": {"container", "hostwritable", "machine", "machine/sentry", "advice", "agenthome", "agents", "api", "auditor",
		"broker", "ceilings", "config", "credentials", "display", "egress", "globscan", "guard", "gui", "histories", "hostexec",
		"hostfacts", "hostfile", "hostsockets", "inside", "pathname", "policy", "policy/pathglob", "profile", "protectednames", "remask",
		"sandbox", "sandbox/landlock", "seccomp", "statedir", "stdio", "supervisor", "notices", "toolchain", "hostview", "xvfb",
		"registry", "tty"},
	"session": {"container", "advice", "agents", "api", "auditor", "broker", "ceilings", "changelog", "clipboard", "config",
		"credentials", "decide", "dirlist", "display", "fdpass", "fileops", "guard", "gui", "histories", "history", "hostexec",
		"hostfacts", "hostfile", "inside", "machine", "named", "network", "notify", "pathname", "policy", "processes", "profile",
		"protect", "protectednames", "remask", "sandbox", "sandbox/landlock", "screen", "seccomp", "sound", "spool", "statedir",
		"stdio", "steps", "supervisor", "taskhost", "notices", "toolchain", "tty"},
	"explain": {"api", "ceilings", "config", "policy", "sandbox", "show", "decide"},
	"doctor": {"advice", "dirlist", "hostfacts", "incontainer", "lima", "policy", "mountinfo", "seccomp", "sandbox",
		"sandbox/landlock", "ownfile", "safefile"},
	"cli": {"agents", "api", "cli/agentcmd", "cli/cmdenv", "cli/configcmd", "cli/decisioncmd", "cli/desktopcmd",
		"cli/doctorcmd", "cli/historycmd", "cli/limacmd", "cli/namedcmd", "cli/runcmd", "clipboard", "cmdline", "fileops",
		"hostexec/shim", "inside", "sandbox/stage", "show", "session", "cli/reviewcmd"},
	"cli/agentcmd":    {"api", "cli/cmdenv", "clients", "cmdline", "config", "explain", "hooks", "jsonapi", "mcpserver", "named", "pathname", "sandbox", "show", "statedir", "stepview", "supervisor", "taskplan", "decide", "registry"},
	"cli/clitest":     {"api", "cli/cmdenv", "cmdline", "registry", "supervisor"},
	"cli/cmdenv":      {"api", "ceilings", "cmdline", "config", "show", "decide", "op"},
	"cli/configcmd":   {"agents", "api", "cli/cmdenv", "cli/policyflags", "cmdline", "config", "explain", "foreign", "jsontree", "op/profileop", "outfile", "policy", "show", "decide"},
	"cli/decisioncmd": {"api", "apiview", "audit", "cli/cmdenv", "cli/target", "cmdline", "config", "named", "policy", "show", "statedir", "supervisor", "decide", "cli/undoview", "op", "op/historyop"},
	"cli/desktopcmd":  {"api", "cli/cmdenv", "cli/target", "clipboard", "cmdline", "memfile", "outfile", "show", "strictjson", "supervisor"},
	"cli/doctorcmd":   {"api", "cli/cmdenv", "cli/containercmd", "cli/limacmd", "cli/vmcmd", "cmdline", "doctor", "op", "show", "statedir", "supervisor"},
	"cli/historycmd":  {"api", "cli/cmdenv", "cmdline", "histories", "history", "inside", "inside/mark", "outfile", "projecthistory", "show", "stepview", "supervisor", "cli/undoview", "op", "op/historyop"},
	"cli/namedcmd":    {"api", "apiview", "cli/cmdenv", "cli/policyflags", "cli/target", "cmdline", "inside", "named", "policy", "show", "supervisor", "decide", "op", "op/startop", "cli/taskcmd"},
	"cli/reviewcmd":   {"api", "cli/cmdenv", "cmdline", "op/reviewop", "review/replay", "show", "stepview"},
	"op/reviewop": {"api", "op", "op/startop", "pathname", "review", "review/replay", "sandbox", "statedir", "strictjson",
		"supervisor", "tools"},
	"op/runop":        {"advice", "api", "decide", "pathname", "policy", "review", "sandbox", "session", "statedir"},
	"review":          {"advice", "api", "dirlist", "gitconf", "hostfile", "ownfile", "review/replay", "safefile", "strictjson"},
	"review/replay":   {},
	"cli/taskcmd":     {"api", "attach", "cli/cmdenv", "cli/policyflags", "cli/target", "cmdline", "config", "op/taskop", "show", "supervisor"},
	"cli/policyflags": {"agents", "cli/cmdenv", "cmdline", "config", "policy", "show", "decide"},
	"cli/runcmd": {"agents", "api", "attach", "cli/cmdenv", "cli/policyflags", "cli/target", "cmdline", "desktopentry",
		"lowlevel", "policy", "show", "stdio", "stepview", "supervisor", "decide", "op/runop"},
	"cli/target":   {"cli/cmdenv", "inside", "named", "show"},
	"cli/undoview": {"cli/cmdenv", "history", "op/historyop", "show", "stepview"},
	"op": {"agents", "api", "ceilings", "config", "decide", "doctor", "named", "policy", "show", "statedir", "supervisor",
		"registry"},
	"op/startop":   {"api", "config", "decide", "named", "op", "policy", "profile", "session", "show", "supervisor"},
	"op/taskop":    {"agents", "api", "inside", "named", "op", "op/startop", "strictjson", "supervisor", "task", "tools"},
	"op/profileop": {"api", "config", "decide", "explain", "op", "policy", "profile", "show"},
	"op/historyop": {"capped", "api", "history", "history/journal", "history/steplog", "op", "pathname", "policy", "projecthistory",
		"show", "stepview", "supervisor"},
	"jsonapi": {"api", "agents", "supervisor", "fileops", "tools", "jsontree", "policy", "pathname", "named", "op",
		"op/historyop", "op/startop"},
	"mcpserver": {"api", "supervisor", "taskplan", "fileops", "tools", "memfile", "strictjson", "named", "op", "op/historyop",
		"op/profileop", "op/startop"},
	"house":     {},
	"testcount": {},
}

// programs are the rooms outside internal/ and what they may import of it: the
// programs, and the packages for other modules.
var programs = map[string][]string{
	"cmd/carrel":         {"cli", "quickexec/first"},
	"cmd/carrel-file":    {"fileops"},
	"cmd/carrel-gvisor":  {"gvisor"},
	"cmd/carrel-relay":   {"fileops", "fuserelay", "guestagent", "guestinit", "gvisor", "hostexec/shim", "inside", "inside/mark"},
	"cmd/carrel-shim":    {"hostexec/shim"},
	"cmd/carrel-stage":   {"sandbox", "sandbox/stage"},
	"bench":              {},
	"sandbox":            {"inside", "lowlevel", "sandbox", "sandbox/stage"},
	"sandbox/policyfile": {"api", "config", "jsontree", "policy"},
}

func TestLayers(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		inner := strings.TrimPrefix(s.room, "internal/")
		allowed, ok := layers[inner]
		if inner == s.room {
			allowed, ok = programs[s.room]
		}
		if !ok {
			t.Errorf("%s: %s is not in the layer table: put it there with what it may import", s.path, s.room)
			continue
		}
		for _, i := range s.imports() {
			if room, ours := strings.CutPrefix(i, module+"/internal/"); ours && !slices.Contains(allowed, room) {
				t.Errorf("%s: %s imports %s; it may import %v", s.path, inner, room, allowed)
			}
		}
	}
}

// TestLayerTableHasNoCycle holds the table itself: a room stands above all
// that it imports.
func TestLayerTableHasNoCycle(t *testing.T) {
	state := make(map[string]int) // 1 on the way, 2 done
	var visit func(room string, trail []string)
	visit = func(room string, trail []string) {
		if state[room] == 1 {
			t.Fatalf("cycle: %s", strings.Join(append(trail, room), " -> "))
		}
		if state[room] == 2 {
			return
		}
		state[room] = 1
		for _, next := range layers[room] {
			visit(next, append(trail, room))
		}
		state[room] = 2
	}
	for room := range layers {
		visit(room, nil)
	}
}

func TestLayerTableIsTrue(t *testing.T) {
	rooms := load(t).rooms()
	for room := range layers {
		if !slices.Contains(rooms, "internal/"+room) {
			t.Errorf("the layer table has %q, but there is no internal/%s", room, room)
		}
	}
	for room := range programs {
		if !slices.Contains(rooms, room) {
			t.Errorf("the layer table has %q, but there is no such directory", room)
		}
	}
}

// pure rooms decide and describe; what they need of the machine is given to
// them. They must behave alike on every system.
var pure = map[string][]string{
	"internal/policy":   {"os", "io/fs", "net", "net/http", "os/exec", "os/user", "syscall", "path/filepath", "golang.org/x/sys/unix"},
	"internal/protect":  {"os", "io/fs", "net", "net/http", "os/exec", "os/user", "syscall", "time", "path/filepath", "golang.org/x/sys/unix"},
	"internal/api":      {"os", "net", "net/http", "os/exec", "syscall", "golang.org/x/sys/unix"},
	"internal/taskplan": {"os", "io/fs", "net", "net/http", "os/exec", "os/user", "syscall", "path/filepath", "golang.org/x/sys/unix"},
}

func TestPureRoomsStayPure(t *testing.T) {
	for _, s := range load(t).code() {
		for _, i := range s.imports() {
			if slices.Contains(pure[s.room], i) {
				t.Errorf("%s: %s must not import %s: it is pure", s.path, s.room, i)
			}
		}
		if s.room == "internal/policy" && s.nameOf("time") != "" {
			for _, use := range selectors(s, "time") {
				if use == "Now" || use == "Since" || use == "Sleep" {
					t.Errorf("%s uses time.%s: package policy has no clock", s.path, use)
				}
			}
		}
	}
}

// TestClosures holds what the small faces of the program may link: their start
// is part of the start of every command, and what they do not contain cannot be
// turned against them.
func TestClosures(t *testing.T) {
	heavy := []string{"github.com/spf13/cobra", "github.com/spf13/pflag", "go.yaml.in/yaml/v4", "net/http", "crypto/tls", "os/exec", "text/template", "html/template", "encoding/json", "github.com/bmatcuk/doublestar/v4", module + "/internal/config"}
	client := []string{ // what asks a workspace that stays
		"github.com/spf13/cobra", "go.yaml.in/yaml/v4", "net/http", "crypto/tls", "encoding/gob", "golang.org/x/crypto/ssh",
		module + "/internal/decide", module + "/internal/config",
	}
	early := append([]string{ // each would have many packages initialised before an exec
		"net", "encoding/json", "encoding/binary", "path/filepath", "bufio", "regexp", "golang.org/x/sys/unix", module + "/internal/api",
	}, client...)
	for room, banned := range map[string][]string{
		"internal/quickexec/first":  early,
		"internal/sandbox/stage":    heavy,
		"internal/sandbox/landlock": append([]string{"net"}, heavy...),
		"internal/policy":           append([]string{"net", "golang.org/x/sys/unix"}, heavy...),
		"internal/seccomp":          heavy,
		"internal/inside":           {"github.com/spf13/cobra", "go.yaml.in/yaml/v4", "net/http", "crypto/tls", "os/exec", module + "/internal/policy"},
		"internal/fileops":          append([]string{"net", module + "/internal/policy"}, client...),
		"internal/attach":           client,
		"internal/tools":            client,
		"internal/session":          {"github.com/spf13/cobra", "github.com/spf13/pflag", module + "/internal/cli"},
		"sandbox":                   {"github.com/spf13/cobra", "github.com/spf13/pflag", module + "/internal/cli"},
		"cmd/carrel":                {"pgregory.net/rapid", "github.com/rogpeppe/go-internal/testscript", "net/http/httptest"},
	} {
		for _, dep := range closure(t, room) {
			if slices.Contains(banned, dep) {
				t.Errorf("%s links %s", room, dep)
			}
		}
	}
}

// closure lists all packages that a room links on linux/amd64.
func closure(t *testing.T, room string) []string {
	t.Helper()
	tr := load(t)
	cmd := exec.Command("go", "list", "-mod=readonly", "-deps", "./"+room)
	cmd.Dir = tr.root
	cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		if x, ok := err.(*exec.ExitError); ok {
			t.Fatalf("go list %s: %s", room, x.Stderr)
		}
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, path.Join(module, room)) {
		t.Fatalf("go list %s does not name the room itself: %q", room, deps)
	}
	return deps
}
