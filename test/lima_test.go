//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limaUser is an ordinary user with a limactl that is a script: its machines are mount
// namespaces, which takes a user who may mount.
type limaUser struct {
	t             *testing.T
	home, project string
}

func newLimaUser(t *testing.T) *limaUser {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here")
	}
	fake, err := os.ReadFile("../internal/lima/testdata/limactl")
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/home", "carrel-lima-")
	if err != nil {
		t.Fatal(err)
	}
	u := &limaUser{t: t, home: home, project: home + "/project"}
	for path, text := range map[string]string{
		"bin/limactl": string(fake), "project/keep": "old\n", "project/denied": "no\n", "project/.git/config": "[core]\n",
		"project/.env":               "TOKEN=hunter2\n",
		"project/.git/HEAD":          "ref: refs/heads/main\n",
		".config/carrel/config.yaml": "lima: {image: /images/debian.qcow2}\ndeny: [':project/denied']\n",
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(home+"/lima", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", "61001:61001", home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if list, err := filepath.Glob(home + "/lima/*/pid"); err == nil && len(list) > 0 {
			_ = os.RemoveAll(u.project)
			u.carrelIn(home, "lima", "prune")
		}
		_ = os.RemoveAll(home)
	})
	return u
}

func (u *limaUser) carrelIn(dir string, args ...string) (string, error) {
	out, err := u.command(dir, args...).CombinedOutput()
	return string(out), err
}

func (u *limaUser) command(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command(built.carrel, args...)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + u.home + "/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LIMA_HOME=" + u.home + "/lima", "USER=lima"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential:  &syscall.Credential{Uid: 61001, Gid: 61001},
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_SYS_CHROOT, unix.CAP_SYS_PTRACE},
	}
	return cmd
}

func (u *limaUser) carrel(args ...string) (string, error) { return u.carrelIn(u.project, args...) }

// TestRunInMachine: a command in a machine changes the project by way of the history.
func TestRunInMachine(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	run := func(script string) (string, error) {
		return u.carrel("run", "--backend", "lima", "--network", "closed", "--", "sh", "-c", script)
	}
	if out, err := run("echo hi >f && echo new >keep && cat f"); err != nil || !strings.Contains(out, "hi\n") {
		t.Fatalf("%v: %s", err, out)
	}
	if data, err := os.ReadFile(u.project + "/keep"); err != nil || string(data) != "new\n" {
		t.Errorf("outside: %q %v", data, err)
	}
	if out, err := u.carrel("undo"); err != nil {
		t.Errorf("undo: %v: %s", err, out)
	}
	if data, err := os.ReadFile(u.project + "/keep"); err != nil || string(data) != "old\n" {
		t.Errorf("after undo: %q %v", data, err)
	}
	if _, err := os.Stat(u.project + "/f"); !os.IsNotExist(err) {
		t.Errorf("after undo f: %v", err)
	}
	for _, script := range []string{"cat denied", "echo x >denied", "echo x >.git/config", "mkdir -p .git/hooks && echo x >.git/hooks/pre-commit"} {
		if out, err := run(script); err == nil {
			t.Errorf("%s: %s", script, out)
		}
	}
	if data, err := os.ReadFile(u.project + "/denied"); err != nil || string(data) != "no\n" {
		t.Errorf("denied: %q %v", data, err)
	}
	if out, _ := run("cat .env; cp .env copy; cat copy"); strings.Contains(out, "hunter2") {
		t.Errorf("a secret: %s", out)
	}
	out, err := run("exit 7")
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 7 {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := u.carrel("lima", "list", "--json"); err != nil || !strings.Contains(out, `"project": "`+u.project+`"`) {
		t.Errorf("list: %v: %s", err, out)
	}
	if out, err := u.carrel("lima", "shell", "--", "sh", "-c", "echo inside; exit 3"); err == nil || !strings.Contains(out, "inside") {
		t.Errorf("shell: %v: %s", err, out)
	}
	if out, err := u.carrel("run", "--backend", "lima", "--network", "open", "--", "true"); err == nil || !strings.Contains(out, "carrel lima recreate") {
		t.Errorf("another template: %v: %s", err, out)
	}
	if out, err := u.carrel("lima", "recreate", "--network", "open"); err != nil {
		t.Errorf("recreate: %v: %s", err, out)
	}
	if out, err := u.carrel("run", "--backend", "lima", "--network", "open", "--", "true"); err != nil {
		t.Errorf("after recreate: %v: %s", err, out)
	}
	if out, err := u.carrel("lima", "prune"); err != nil || !strings.Contains(out, "nothing to remove") {
		t.Errorf("prune of a project that is there: %v: %s", err, out)
	}
}

// TestMachineRefusals: what a machine does not carry or hold is refused before it is made.
func TestMachineRefusals(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--network", "filtered"}, "--network closed or open"},
		{[]string{"--display", "virtual"}, "a machine has no display"},
		{[]string{"--history", "off"}, "goes through the history"},
		{[]string{"--read", "/srv"}, "outside of the project"},
		{[]string{"--engine", "bubblewrap"}, "leave --engine out"},
		{[]string{"--image", "x"}, "lima.image"},
		{[]string{"--memory", "1GiB"}, "lima.memory"},
	} {
		args := append([]string{"run", "--backend", "lima"}, c.args...)
		if out, err := u.carrel(append(args, "--", "true")...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v: %s", c.args, err, out)
		}
	}
	if out, err := u.carrel("run", "--backend", "lima", "--", "claude"); err == nil || !strings.Contains(out, "of the agent claude") {
		t.Errorf("agent: %v: %s", err, out)
	}
	if out, err := u.carrel("start", "--backend", "lima", "x"); err == nil || !strings.Contains(out, "named workspace") {
		t.Errorf("start: %v: %s", err, out)
	}
	if err := os.Remove(u.home + "/bin/limactl"); err != nil {
		t.Fatal(err)
	}
	if out, err := u.carrel("run", "--backend", "lima", "--", "true"); err == nil || !strings.Contains(out, "no limactl in PATH") {
		t.Errorf("no limactl: %v: %s", err, out)
	}
	if list, err := filepath.Glob(u.home + "/lima/*"); err != nil || len(list) != 0 {
		t.Errorf("made: %q %v", list, err)
	}
}

// TestMachineHasOneRun: while one command runs in a machine no other starts, and the machine is
// not taken away. A signal ends the command, and the next one can start.
func TestMachineHasOneRun(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	run := []string{"run", "--backend", "lima", "--network", "closed", "--"}
	first := u.command(u.project, append(run, "sh", "-c", "echo there >f; exec sleep 60")...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(u.project + "/f"); err == nil {
			break
		} else if time.Since(began) > 20*time.Second {
			t.Fatal("the command does not begin")
		}
	}
	for _, args := range [][]string{append(run, "true"), {"lima", "recreate", "--network", "closed"}} {
		if out, err := u.carrel(args...); err == nil || !strings.Contains(out, "another command uses the machine") {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := first.Wait(); err == nil || time.Since(began) > 15*time.Second {
		t.Errorf("after TERM: %v, %s", err, time.Since(began))
	}
	if out, err := u.carrel(append(run, "cat", "f")...); err != nil || !strings.Contains(out, "there") {
		t.Errorf("the next: %v: %s", err, out)
	}
}
