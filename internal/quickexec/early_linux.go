package quickexec

import (
	"os"
	"path"
	"strings"
	"syscall"

	"carrel/internal/registry"
	"carrel/internal/stdio"
)

// taken is what came of a command that Early ran and did not end with.
var taken *Result

// Taken gives what came of the command of this process where Early has run it already: then
// main tells it, and does not run it again.
func Taken() (Result, bool) {
	if taken == nil {
		return Result{}, false
	}
	return *taken, true
}

// Early runs the command of this process where its command line is an exec that needs nothing
// else of the program. Then the process is to end at once with the status that it gives. Not
// done: something else is wanted, or there is something to tell.
func Early() (status int, done bool) {
	a, ok := understand(os.Args)
	if !ok || heldOrSet(os.Environ()) || !a.noTerminal && stdio.IsTerminal(0) && stdio.IsTerminal(1) {
		return 0, false
	}
	w, project, ok := find(registry.Dirs(os.Getenv("XDG_RUNTIME_DIR"), registry.State(os.Getenv)), a.name)
	if !ok {
		return 0, false
	}
	at, err := os.Getwd()
	if err != nil && a.dir != "" && !path.IsAbs(a.dir) {
		return 0, false
	}
	c, err := NewCommand(project, Caller{Dir: at, Lookup: os.LookupEnv}, a.argv, a.dir, a.env)
	if err != nil {
		return 0, false
	}
	r, signals := run(w, c)
	status, signal, ok := r.plain()
	if !ok {
		if taken = &r; signals != nil {
			signals.Release()
		}
		return 0, false
	}
	if signal {
		stdio.DieBy(syscall.Signal(status - 128))
	}
	return status, true
}

// plain reads how a command ended, and by a signal or not; ok is false where there is more to
// tell.
func (r *Result) plain() (status int, signal, ok bool) {
	app := field(r.Last, "app")
	exit, isNumber := number(field(app, "exit"))
	name := field(app, "signal")
	signal = len(name) > 2
	if r.Err != nil || string(field(r.Last, "ok")) != "true" || !isNumber || exit > 255 || signal && exit <= 128 {
		return 0, false, false
	}
	return int(exit), signal, true
}

// arguments are those of an exec.
type arguments struct {
	name       string
	argv       []string
	dir        string
	env        []string
	noTerminal bool
}

// understand reads `carrel exec NAME [flags] [--] COMMAND [ARG...]` with the flags that are
// known here.
func understand(argv []string) (a arguments, ok bool) {
	if len(argv) < 4 || path.Base(argv[0]) != "carrel" || argv[1] != "exec" || argv[2] == "" || argv[2][0] == '-' {
		return a, false
	}
	a.name = argv[2]
	rest := argv[3:]
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		flag, value, joined := strings.Cut(rest[0], "=")
		rest = rest[1:]
		switch flag {
		case "--":
			a.argv = rest
			return a, !joined && len(rest) > 0
		case "-T", "--no-tty":
			if a.noTerminal = true; joined {
				return a, false
			}
			continue
		case "--cwd", "--env":
		default:
			return a, false
		}
		if !joined {
			if len(rest) == 0 {
				return a, false
			}
			value, rest = rest[0], rest[1:]
		}
		if flag == "--cwd" {
			a.dir = value
		} else {
			a.env = append(a.env, value)
		}
	}
	a.argv = rest
	return a, len(rest) > 0
}

// heldOrSet reports whether a variable may hold this process to a ceiling, or set something
// else: that is for package config to read.
func heldOrSet(environ []string) bool {
	for _, v := range environ {
		if strings.HasPrefix(v, "CARREL_") || strings.HasPrefix(v, "AGENT_WORKSPACE_") {
			return true
		}
	}
	return false
}

// maxEntries bounds how many names of a place are looked at. With more, main looks.
const maxEntries = 1024

// find finds the running workspace of a name. It takes no notice of ids, and where anything
// is unusual, such as what a dead supervisor left, it leaves the search to main.
func find(places []string, name string) (w Workspace, project string, ok bool) {
	me, err := registry.Self()
	if err != nil {
		return w, "", false
	}
	for _, place := range places {
		dir, names, err := listed(place)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return w, "", false
		}
		for _, entry := range names {
			id, isManifest := strings.CutSuffix(entry, ".json")
			if !isManifest || !registry.WellFormed(id) {
				continue
			}
			text, err := registry.ReadManifest(dir, entry)
			if err != nil {
				dir.Close()
				return w, "", false
			}
			if has, _ := plain(field(text, "name")); has != name {
				continue
			}
			one, its, valid := manifest(text, place)
			if !valid || ok || one.ID != id || one.Gone(me) {
				dir.Close()
				return w, "", false
			}
			one.Name = name
			w, project, ok = one, its, true
		}
		dir.Close()
	}
	return w, project, ok
}

// manifest reads what is needed of a manifest.
func manifest(text []byte, place string) (w Workspace, project string, ok bool) {
	all := true
	word := func(name string) string {
		s, ok := plain(field(text, name))
		all = all && ok
		return s
	}
	count := func(name string) uint64 {
		n, ok := number(field(text, name))
		all = all && ok
		return n
	}
	w.Dir, w.ID, w.Boot, w.PIDNamespace = place, word("id"), word("boot"), word("pid_namespace")
	w.PID, w.Start = int(count("pid")), count("start")
	project = word("project")
	return w, project, all
}

// listed opens a place and lists what is in it.
func listed(place string) (*os.File, []string, error) {
	dir, err := registry.OpenPlace(place)
	if err != nil {
		return nil, nil, err
	}
	names, err := dir.Readdirnames(maxEntries)
	if len(names) == maxEntries || len(names) == 0 {
		dir.Close()
		return nil, nil, syscall.E2BIG
	}
	return dir, names, err
}
