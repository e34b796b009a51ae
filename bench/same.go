package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// nameSame is bubblewrap with the mounts of carrel's own plan, one for one.
const nameSame = "bwrap, same mounts"

// step is what is read of one line of `carrel explain --plan --json`.
type step struct {
	Kind, Flags, Target, Source string
}

// bwrapSame gives bubblewrap the mounts that carrel makes in a directory, as its
// own plan lists them. A generated file costs bubblewrap the bind of another
// file, a mask that of /dev/null, an overlay that of the directory: it has none.
func bwrapSame(program, carrel string, env []string) peer {
	p := prefixed(nameSame, program, []string{"--version"}, "the mounts of `carrel explain --plan`, one for one (a bind for each overlay, mask and generated file), all namespaces; no seccomp, no Landlock")
	if program == "" {
		return p
	}
	views := make(map[string][]string)
	p.argv = func(dir string, c []string) []string {
		view, known := views[dir]
		if !known {
			view = sameView(planOf(carrel, dir, env))
			views[dir] = view
		}
		return slices.Concat([]string{program, "--unshare-all", "--die-with-parent"}, view, []string{"--chdir", dir}, c)
	}
	return p
}

// planOf asks carrel for its plan; an answer that cannot be read is no plan.
func planOf(carrel, dir string, env []string) []step {
	cmd := exec.Command(carrel, "explain", "--plan", "--json", "--", "true")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	var answer struct {
		Plan struct{ Steps []step }
	}
	if json.Unmarshal(out, &answer) != nil {
		return nil
	}
	return answer.Plan.Steps
}

func sameView(steps []step) []string {
	var args []string
	for _, s := range steps {
		readOnly := slices.Contains(strings.Split(s.Flags, ","), "ro")
		switch s.Kind {
		case "proc":
			args = append(args, "--proc", s.Target)
		case "tmpfs":
			if s.Target == "/dev" {
				args = append(args, "--dev", s.Target)
			} else if !strings.HasPrefix(s.Target, "/dev/") {
				args = append(args, "--tmpfs", s.Target)
			}
		case "symlink":
			if !strings.HasPrefix(s.Target, "/dev/") {
				args = append(args, "--symlink", s.Source, s.Target)
			}
		case "bind", "overlay", "pin":
			source := s.Source
			if s.Kind == "pin" {
				source = s.Target
			}
			if readOnly {
				args = append(args, "--ro-bind-try", source, s.Target)
			} else {
				args = append(args, "--bind-try", source, s.Target)
			}
		case "cover", "file":
			args = append(args, "--ro-bind", "/dev/null", s.Target)
		case "mask":
			if st, err := os.Stat(s.Target); err == nil && st.IsDir() {
				args = append(args, "--tmpfs", s.Target)
			} else if err == nil {
				args = append(args, "--ro-bind", "/dev/null", s.Target)
			}
		}
	}
	return args
}
