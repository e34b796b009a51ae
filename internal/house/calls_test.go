package house

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// call is a function that needs a reason: where it may stand, and why there.
type call struct {
	pkg, name string
	instead   string            // what to use, for the one who meets this rule
	in        map[string]string // file: reason
}

// calls are forbidden outside the listed files. Tests are free.
var calls = []call{
	{"path/filepath", "EvalSymlinks", "resolve once through a descriptor: what is checked and what is used must be the same object", map[string]string{
		"internal/gitdir/gitdir.go":             "names of the start; what they lead to is compared with what the other end says",
		"internal/hostfacts/place.go":           "names of the start; the stage opens each source again without following links",
		"internal/statedir/state.go":            "our own directory, checked for its owner",
		"internal/decide/history_place.go":      "the user's own directory for histories, checked for its owner and mode; the store opens what is in it without following",
		"internal/hostsockets/sockets_linux.go": "where a socket lies that the kernel names; it is then looked at without following",
		"internal/doctor/machine_linux.go":      "a directory just made, under the name that the kernel shows; a path to print in a profile, where AppArmor sees the file",
		"internal/protectednames/protect.go":    "finds out that a name is a link, which is then left alone",
		"internal/agents/host_os.go":            "recognition decides on what would run; it opens nothing",
		"internal/agents/state.go":              "the host's home, outside; the private copy goes through os.Root",
		"internal/agents/follow.go":             "agents: a place of home where one link of the user's own may lead, and none behind it",
		"bench/fixture.go":                      "a directory just made, under the name that the kernel shows",
		"internal/op/historyop/open.go":         "a path to compare with those of the history; nothing is opened by it",
		"internal/explain/ceilings.go":          "advice on where a ceiling lies; nothing is opened by it",
		"internal/settings/file.go":             "the user's own file may be a link into a dotfiles directory; what it leads to is opened without following and has to be the user's own",
		"internal/cli/agentcmd/stdio.go":        "the place of a client's own histories, to compare with what the history says of itself; the store opens what is in it without following",
		"internal/jsonapi/session.go":           "the user's own directories, for which `carrel start` resolves them anew and checks them",
		"internal/config/edit.go":               "the user's own file may be a link into a dotfiles directory, which has to stay one",
		"internal/container/refuse.go":          "where the socket of an engine lies, to compare with mounts; nothing is opened by it",
	}},
	{"os/exec", "Command", "give an absolute path and an environment of your own", map[string]string{
		"internal/clipboard/carry_linux.go": "our own binary, as the user would: it stays behind to hand out what they copied",
		"internal/qemu/machine_linux.go":    "QEMU, by its absolute path, with an environment of its own",
		"bench/fresh.go":                    "umount, by its absolute path and without an environment",
		"bench/same.go":                     "the carrel that is measured, with the bench's environment",
		"bench/hostexec.go":                 "what is measured inside, with the environment there",
		"bench/stdio.go":                    "the carrel that is measured, with the bench's environment",
		"bench/mcp.go":                      "the carrel that is measured, with the bench's environment",
		"bench/listener_linux.go":           "this program itself, for the command that is measured, with its environment",
		"bench/desktopx.go":                 "an X server and programs to compare with, with the bench's environment",
	}},
	{"os/exec", "CommandContext", "give an absolute path and an environment of your own", map[string]string{
		"internal/session/inside_linux.go":        "the host's link opener: an absolute path, an environment of its own",
		"internal/clipboard/host_linux.go":        "wl-clipboard's programs on the host: absolute paths, an environment of their own",
		"internal/sound/host.go":                  "the host's players: absolute paths, an environment of their own",
		"internal/cli/containercmd/installdev.go": "go, by an absolute path, as its user would start it in the source tree",
		"internal/container/exec.go":              "podman and docker on the host: absolute paths, an environment of their own",
		"internal/hostprogram/program.go":         "git, gh and gpg on the host: absolute paths, an environment of their own",
		"internal/fileops/ripgrep.go":             "ripgrep, inside the walls: an absolute path, an environment of its own",
		"sandbox/sandbox.go":                      "the program itself, or a carrel by the absolute path that the caller gives, with the environment that the caller gives",
		"bench/run.go":                            "measures programs found at fixed places",
		"internal/qemu/program.go":                "QEMU, by its absolute path, with an environment of its own",
		"internal/lima/program.go":                "limactl, by its absolute path, with an environment of its own",
		"internal/lima/machine.go":                "the same",
		"internal/lima/inside.go":                 "the same",
	}},
	{"os/exec", "LookPath", "look in the directories that you trust", map[string]string{
		"bench/peers.go":          "finds the programs to measure",
		"bench/listener_linux.go": "finds the command that is measured",
	}},
	{"os", "StartProcess", "the stage starts what runs inside", map[string]string{
		"internal/guestinit/main_linux.go":     "the first program of a machine starts itself",
		"internal/doctor/machine_linux.go":     "our own binary, to see whether namespaces can be made and memory read",
		"internal/sandbox/bubblewrap_linux.go": "looks at the system's bubblewrap: an absolute path, root's file, no environment of the user",
	}},
	{"syscall", "Exec", "the stage starts what runs inside", map[string]string{
		"internal/inside/gh.go": "inside: the helper before gh becomes the real one, with a token in its environment alone",
	}},
	{"syscall", "StartProcess", "the stage starts what runs inside", nil},
	{"syscall", "ForkExec", "the stage starts what runs inside", map[string]string{
		"internal/sandbox/start_linux.go":           "starts the stage: our own binary, no environment of the user",
		"internal/sandbox/bubblewrap_linux.go":      "starts the system's bubblewrap: an absolute path, root's file, no environment of the user",
		"internal/sandbox/stage/serve_linux.go":     "starts what runs inside",
		"internal/gvisor/start_linux.go":            "starts carrel-gvisor: our own program, without an environment",
		"internal/gvisor/starts_linux.go":           "a sandbox's first process starts the others: our own binary",
		"internal/guestagent/main_linux.go":         "the agent in a machine starts the stage: our own binary",
		"internal/sandbox/stage/alone_linux.go":     "the guard starts the stage: our own binary",
		"internal/sandbox/stage/container_linux.go": "a container's first process starts the stage: our own binary",
		"internal/session/deskstart_linux.go":       "starts the supervisor of a workspace that stays: our own binary, as the user would",
	}},
	{"os", "Exit", "return an exit status to main", map[string]string{
		"cmd/carrel/main.go":                    "main",
		"cmd/carrel-file/main.go":               "main",
		"cmd/carrel-gvisor/main.go":             "main",
		"cmd/carrel-gvisor/main_other.go":       "main",
		"cmd/carrel-relay/main.go":              "main",
		"cmd/carrel-shim/main.go":               "main",
		"cmd/carrel-stage/main.go":              "main",
		"bench/main.go":                         "main",
		"internal/testcount/main.go":            "main",
		"internal/quickexec/first/first.go":     "before main: the command has ended",
		"sandbox/init.go":                       "the process is a supervisor or a helper, and not its program",
		"internal/sandbox/stage/main_linux.go":  "the stage is a process of its own",
		"internal/sandbox/stage/stage_other.go": "the stage is a process of its own",
		"internal/sandbox/stage/serve_linux.go": "the supervisor is gone: end everything inside",
	}},
	{"log", "Fatal", "return an error", nil},
	{"log", "Fatalf", "return an error", nil},
	{"log", "Print", "return a note", nil},
	{"log", "Printf", "return a note", nil},
	{"log", "Println", "return a note", nil},
	{"os", "Chdir", "the working directory is the whole process's: give paths", map[string]string{
		"internal/fileops/stay_linux.go": "the directory of the one request that the process carries out",
	}},
	{"os", "Setenv", "the environment is the whole process's: give a list", nil},
	{"os", "MkdirTemp", "state lies in the state directory, generated files in memory", map[string]string{
		"internal/dirlist/deeptree/deeptree_linux.go": "tests alone use it, as another user than the tests are",
		"bench/fixture.go":                            "projects to measure in",
		"internal/container/dockerfile.go":            "the directory of a build, in the state directory",
		"internal/statedir/private_linux.go":          "a run's own directory in the state directory",
		"internal/doctor/machine_linux.go":            "directories to try an overlay in, taken away again",
	}},
	{"os", "CreateTemp", "state lies in the state directory, generated files in memory", nil},
	{"os", "TempDir", "the user's /tmp is shared: state lies in the state directory", nil},
}

func TestCallsThatNeedAReason(t *testing.T) {
	tr := load(t)
	for _, c := range calls {
		used := make(map[string]bool)
		for _, s := range tr.code() {
			for _, pos := range uses(s, c.pkg, c.name) {
				used[s.path] = true
				if c.in[s.path] == "" {
					t.Errorf("%s: %s.%s needs a reason here (listed in calls_test.go); instead: %s", tr.at(pos), c.pkg, c.name, c.instead)
				}
			}
		}
		for path := range c.in {
			if !used[path] {
				t.Errorf("%s does not use %s.%s (any more): take it off the list", path, c.pkg, c.name)
			}
		}
	}
}

// importers are the rooms that may import a package at all.
var importers = map[string]map[string]string{
	"os/exec":   {"internal/session": "the link opener on the host", "internal/machine": "how the command of limactl ended", "internal/machine/linuxcarrel": "how the call ended", "internal/cli/limacmd": "how the command of limactl ended", "internal/fileops": "ripgrep, inside", "internal/lima": "limactl on the host", "internal/qemu": "QEMU on the host", "internal/container": "podman and docker on the host", "internal/cli/containercmd": "go builds this program", "internal/clipboard": "wl-clipboard on the host, and this program to hold a clipboard", "internal/hostprogram": "git, gh and gpg on the host", "internal/task": "how a call of git ended", "internal/sound": "the host's players", "internal/tools": "this program, for what the command line does", "sandbox": "starts the supervisor, as the program's own process", "bench": "measures programs"},
	"net/http":  {"internal/egress": "reads requests and answers of plain HTTP; no server and no client of it", "internal/mcpserver": "MCP over HTTP, on a socket or loopback", "test/fakemodel": "a scripted model server for the end-to-end tests"},
	"unsafe":    {"internal/qemu": "the structures of KVM, to see whether it runs on the processor", "internal/stdio": "one system call without a wrapper: the default action of a signal", "internal/sandbox/stage": "system calls without a wrapper", "internal/sandbox/landlock": "system calls without a wrapper", "internal/seccomp": "the requests of a listener", "internal/seccomp/install": "installing a filter", "internal/broker": "system calls without a wrapper, kernel structures", "internal/broker/ownfs": "a thread that is none of the runtime's", "internal/history/store": "counters in mapped memory that all writers share", "internal/history/disk": "a system call without a wrapper", "internal/sandbox": "the system calls of a fork", "bench": "installing a filter"},
	"io/ioutil": {},
	"reflect":   {"internal/mcpserver": "the schema library asks for types by it", "internal/jsonapi": "the same"},
	"plugin":    {},
	"C":         {},
	"os/user": {"internal/doctor": "the name of a group",
		"internal/guestagent": "the user for commands in a machine has a home and a name there"},
	"math/rand": {},
	"embed": {
		"internal/op/taskop":    "a script of the shell that runs inside",
		"internal/hostview":     "the table of secret places is a data file",
		"internal/hooks":        "a plugin of OpenCode is a program of JavaScript",
		"internal/secrets":      "the table of the names of secret files is one",
		"internal/toolchain":    "what enters an environment is a program of bash",
		"internal/container":    "Dockerfiles are files, and what looks into an image is a program of sh",
		"internal/devcontainer": "what runs lifecycle commands is a program of sh",
		"bench":                 "jobs and the state of an age are programs of bash",
	},
	"math/rand/v2": {
		"bench": "random order of runs",
	},
}

func TestImportsThatNeedAReason(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		for _, i := range s.imports() {
			if rooms, listed := importers[i]; listed && rooms[s.room] == "" {
				t.Errorf("%s imports %s, which needs a reason in calls_test.go", s.path, i)
			}
		}
	}
}

// TestProgramsAreAbsolute holds that no program is found through a PATH that
// somebody else wrote.
func TestProgramsAreAbsolute(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		name := s.nameOf("os/exec")
		if name == "" || s.room == "bench" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			i := map[string]int{"Command": 1, "CommandContext": 2}[selected(c.Fun, name)]
			if i == 0 || len(c.Args) < i {
				return true
			}
			if lit, ok := c.Args[i-1].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if v, err := strconv.Unquote(lit.Value); err != nil || !strings.HasPrefix(v, "/") {
					t.Errorf("%s: program %s is not an absolute path", tr.at(c.Pos()), lit.Value)
				}
			}
			return true
		})
	}
}

// early are the files with work before main.
var early = map[string]string{
	"internal/sandbox/stage/main_linux.go": "keeps the stage on the thread that main began on, which only works before main",
	"internal/quickexec/first/first.go":    "an exec in a workspace, before the rest is initialised; only cmd/carrel imports it",
}

// TestNoHiddenState holds habit 3: no work before main, no way out but errors.
func TestNoHiddenState(t *testing.T) {
	tr := load(t)
	for _, s := range tr.code() {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" && early[s.path] == "" {
				t.Errorf("%s: func init runs before main, in the stage too: call it where it is needed", tr.at(f.Pos()))
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "panic" {
					t.Errorf("%s: panic: return an error", tr.at(c.Pos()))
				}
			}
			return true
		})
	}
}

// TestErrorsNameTheStep holds habit 4: "opening X: ...", never "failed to".
func TestErrorsNameTheStep(t *testing.T) {
	tr := load(t)
	bad := []string{"failed to ", "could not ", "unable to ", "error while ", "something went wrong"}
	// A message that begins so says that something went wrong and not what was
	// being done; inside a sentence the words may be the plain truth.
	for _, s := range tr.code() {
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			low := strings.ToLower(strings.Trim(lit.Value, "`\""))
			for _, b := range bad {
				if strings.HasPrefix(low, b) || strings.Contains(low, ": "+b) {
					t.Errorf("%s: %s: name the step and the object instead of %q", tr.at(lit.Pos()), lit.Value, b)
				}
			}
			return true
		})
	}
}

// uses gives the places where a file names pkg.name.
func uses(s *source, pkg, name string) []token.Pos {
	local := s.nameOf(pkg)
	if local == "" {
		return nil
	}
	var out []token.Pos
	ast.Inspect(s.file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok && selected(x, local) == name {
			out = append(out, x.Pos())
		}
		return true
	})
	return out
}

// selectors gives every name that a file takes from a package.
func selectors(s *source, pkg string) []string {
	local := s.nameOf(pkg)
	var out []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			if name := selected(x, local); name != "" {
				out = append(out, name)
			}
		}
		return true
	})
	return out
}

// selected gives X of an expression local.X, else "".
func selected(e ast.Expr, local string) string {
	x, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := x.X.(*ast.Ident)
	if !ok || id.Name != local {
		return ""
	}
	return x.Sel.Name
}
