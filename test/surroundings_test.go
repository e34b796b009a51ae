//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Who makes surroundings: nobody, as they need no making; the person, in a user
// and mount namespace of their own, as its root; or root, in a mount namespace,
// who then becomes the person.
const (
	byNobody = iota
	byUser
	byRoot
)

// surroundings are another machine than the one that the tests run on, as far
// as that can be made from it: a script makes them, in namespaces that end with
// what is started there.
type surroundings struct {
	name   string
	made   int
	script string // shell lines; $PERSON is the person's user number
	under  string // a seccomp filter around all of it, see attackUnder
}

// coverProc is how container managers leave /proc: a fresh one is refused then.
const coverProc = "mount --bind /dev/null /proc/interrupts\nmount -t tmpfs -o ro none /proc/tty"

// start runs a program there, after more shell lines. sudo, in these, is
// whoever makes the surroundings.
func (s *surroundings) start(w *world, more []string, program ...string) result {
	w.t.Helper()
	person := strconv.Itoa(w.who.uid)
	lines := slices.Concat([]string{"set -e", "PERSON=" + person, `sudo() { "$@"; }`, s.script, "{", ":"}, more, []string{"} >/dev/null"})
	line := []string{"bash", "-c"}
	switch s.made {
	case byUser:
		line = append([]string{"unshare", "-Urm"}, line...)
	case byRoot:
		line = append([]string{"unshare", "-m"}, line...)
	}
	last := `exec "$@"`
	if s.made == byRoot && w.who.uid != 0 {
		last = fmt.Sprintf(`exec setpriv --reuid %s --regid %d --clear-groups -- "$@"`, person, w.who.gid)
	}
	line = slices.Concat(line, []string{strings.Join(append(lines, last), "\n"), "bash"}, program)
	if s.under != "" {
		line = append([]string{built.attack, "under", s.under}, line...)
		for i := range line {
			if line[i] == "--" {
				line[i] = "=="
			}
		}
	}
	cmd := w.command(line[0], line[1:]...)
	if s.made == byRoot {
		cmd.SysProcAttr.Credential = nil
	}
	return w.finish(cmd)
}

// removeDelegated takes away the control groups that doctor's advice makes.
func removeDelegated(w *world) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		dir := fmt.Sprintf("/sys/fs/cgroup/%s%s/user-%d", parts[1], strings.TrimSuffix(parts[2], "/"), w.who.uid)
		for deadline := time.Now().Add(2 * time.Second); exists(dir) && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			_ = os.Remove(dir)
		}
		if exists(dir) {
			w.t.Errorf("control group left behind: %s", dir)
		}
	}
}
