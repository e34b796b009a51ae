// Package hostprogram finds and runs helper programs of the host, such as git, gh and gpg:
// outside of the walls, by an absolute path, with an environment of their own. Each is bounded
// in time and output, has no terminal, and ends with all that it has started.
//
// What a helper is told to do is its caller's to decide. This package imports no other that
// decides something.
package hostprogram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"carrel/internal/capped"
)

// Limit is how long a helper may take. Some ask the person.
const Limit = 90 * time.Second

// grace is how long a helper's output is waited for after its end: what it has left
// behind, as an agent, may hold it.
const grace = 2 * time.Second

// dirs are where helpers are looked for, and the PATH that they get.
var dirs = []string{"/usr/local/bin", "/usr/bin", "/bin", "/run/current-system/sw/bin"}

// Dirs are the directories in which helpers are looked for, in this order.
func Dirs() []string { return slices.Clone(dirs) }

// Program is a helper of the host.
type Program struct {
	Path string   // absolute
	Env  []string // all of its environment
}

// passed are the variables that helpers get: where they keep things, and how they
// reach the person's keyring. None that names a program, a key or a configuration that
// git would take from a project.
var passed = []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME",
	"XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"}

// Find looks for a helper in the system's directories: a PATH may have been written by anybody.
// also names variables that this one gets beside the usual ones.
func Find(name string, getenv func(string) string, also ...string) (*Program, error) {
	for _, dir := range dirs {
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
			continue
		}
		p := &Program{Path: at, Env: []string{"PATH=" + strings.Join(dirs, ":"), "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=",
			"SSH_ASKPASS=", "GCM_INTERACTIVE=never", "GH_PROMPT_DISABLED=1"}}
		for _, v := range append(slices.Clone(passed), also...) {
			if text := getenv(v); text != "" {
				p.Env = append(p.Env, v+"="+text)
			}
		}
		return p, nil
	}
	return nil, fmt.Errorf("there is no %s in %s", name, strings.Join(dirs, ", "))
}

// Run starts it in the root directory, where no project is, and gives what it says on its two
// streams, each of at most most bytes. in is its standard input. What it says about errors is not part of the
// error: it may name secrets. Where it ended with a status, the error is an [exec.ExitError].
func (p *Program) Run(ctx context.Context, in []byte, most int, args ...string) (out, told []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	said, wrong := &capped.Buffer{Most: most, Over: cancel}, &capped.Buffer{Most: most, Over: cancel}
	cmd := exec.CommandContext(ctx, p.Path, args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Env, "/", bytes.NewReader(in), said, wrong
	cmd.WaitDelay = grace
	apart(cmd)
	name := filepath.Base(p.Path)
	runtime.LockOSThread() // its death signal comes when the thread ends that started it
	defer runtime.UnlockOSThread()
	switch err = cmd.Run(); {
	case said.Full() || wrong.Full():
		return nil, nil, fmt.Errorf("%s outside said more than %d bytes", name, most)
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("%s outside took longer than %s, or nobody waits for it any more", name, Limit)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return said.Bytes(), wrong.Bytes(), fmt.Errorf("%s outside: %w", name, err)
	}
	return said.Bytes(), wrong.Bytes(), nil
}
