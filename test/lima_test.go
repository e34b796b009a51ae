//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limaUser is an ordinary user with limactl. It is a script, with machines that are mount
// namespaces and which takes a user who may mount; or the real one, which `make test-lima` names.
type limaUser struct {
	t             *testing.T
	home, project string
	real          bool
}

func newLimaUser(t *testing.T) *limaUser {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	limactl, image := os.Getenv("CARREL_LIMACTL"), os.Getenv("CARREL_LIMA_IMAGE")
	if _, err := os.Stat("/dev/fuse"); err != nil && limactl == "" {
		t.Skip("no /dev/fuse here")
	}
	home, err := os.MkdirTemp("/home", "carrel-lima-")
	if err != nil {
		t.Fatal(err)
	}
	u := &limaUser{t: t, home: home, project: home + "/project", real: limactl != ""}
	settings := "lima: {image: /images/debian.qcow2}\n"
	if u.real {
		settings = "lima: {image: " + image + ", memory: 1GiB, disk: 4GiB}\n"
	}
	for path, text := range map[string]string{
		"project/keep": "old\n", "project/denied": "no\n", "project/.git/config": "[core]\n",
		"project/.env":               "TOKEN=hunter2\n",
		"project/.git/HEAD":          "ref: refs/heads/main\n",
		".config/carrel/config.yaml": settings + "deny: [':project/denied']\n",
	} {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(os.Mkdir(home+"/lima", 0o755), os.Mkdir(home+"/bin", 0o755), os.Chmod(u.project, 0o700))
	if u.real {
		err = errors.Join(err, copyFile(limactl, home+"/bin/limactl", 0o755), os.Symlink(filepath.Dir(limactl)+"/../share", home+"/share"))
	} else {
		err = errors.Join(err, copyLimactl(home+"/bin"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("chown", "-R", "61001:61001", home).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		if list, err := filepath.Glob(home + "/lima/carrel-*"); err == nil && len(list) > 0 {
			_ = os.RemoveAll(u.project)
			out, err := u.carrelIn(home, "lima", "prune")
			if left, _ := filepath.Glob(home + "/lima/carrel-*"); err != nil || len(left) > 0 {
				t.Errorf("prune: %v: %s", err, out)
			}
			for _, at := range list { // of a machine that has just been killed ssh ends by itself
				var left []byte
				for began := time.Now(); time.Since(began) < 20*time.Second; time.Sleep(200 * time.Millisecond) {
					if left, err = exec.Command("pgrep", "-a", "-f", at).Output(); err != nil {
						break
					}
				}
				if err == nil {
					t.Errorf("processes are left: %s", left)
					_ = exec.Command("pkill", "-KILL", "-f", at).Run()
				}
			}
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
	cmd.Env = []string{"HOME=" + u.home, "PATH=" + u.home + "/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LIMA_HOME=" + u.home + "/lima", "USER=lima",
		"SHELL=" + u.home + "/shell"} // which no machine has
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 61001, Gid: 61001}}
	if u.real {
		cmd.Env = append(cmd.Env, "QEMU_SYSTEM_X86_64="+os.Getenv("QEMU_SYSTEM_X86_64"))
	} else {
		cmd.SysProcAttr.AmbientCaps = limactlCaps
	}
	return cmd
}

// patience is how long something may take: a machine that boots takes minutes.
func (u *limaUser) patience(d time.Duration) time.Duration {
	if u.real {
		return d + 15*time.Minute
	}
	return d
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
	for _, script := range []string{"cat denied", "echo x >denied", "echo x >.git/config",
		"mkdir -p .git/hooks && echo x >.git/hooks/pre-commit"} {
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
	if out, err := u.carrel("lima", "shell", "--", "sh", "-c", "echo inside; exit 3"); err == nil || out != "inside\n" {
		t.Errorf("shell: %v: %s", err, out)
	}
	if out, err := u.carrel("run", "--backend", "lima", "--network", "open", "--", "true"); err == nil || !strings.Contains(out,
		"carrel lima recreate") {
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
		{[]string{"--display", "virtual"}, "a machine has no display"},
		{[]string{"--history", "off"}, "goes through the history"},
		{[]string{"--read", "/etc/hosts"}, "that the machine has itself"},
		{[]string{"--engine", "bubblewrap"}, "leave --engine out"},
		{[]string{"--image", "x"}, "lima.image"},
		{[]string{"--memory", "1GiB"}, "lima.memory"},
	} {
		args := append([]string{"run", "--backend", "lima"}, c.args...)
		if out, err := u.carrel(append(args, "--", "true")...); err == nil || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v: %s", c.args, err, out)
		}
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
		if data, _ := os.ReadFile(u.project + "/f"); string(data) == "there\n" {
			break
		} else if time.Since(began) > u.patience(20*time.Second) {
			t.Fatal("the command does not begin")
		}
	}
	elsewhere := u.command(u.project, append(run, "true")...)
	elsewhere.Env = append(elsewhere.Env, "XDG_STATE_HOME="+u.home+"/elsewhere")
	if out, err := elsewhere.CombinedOutput(); err == nil || !strings.Contains(string(out), "another command uses the machine") {
		t.Errorf("with another state directory: %v: %s", err, out)
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
	if err := first.Wait(); err == nil || time.Since(began) > u.patience(15*time.Second) {
		t.Errorf("after TERM: %v, %s", err, time.Since(began))
	}
	if out, err := u.carrel(append(run, "cat", "f")...); err != nil || !strings.Contains(out, "there") {
		t.Errorf("the next: %v: %s", err, out)
	}
}

// TestMachineAnswers: a command in a machine is listed, paused, continued and stopped as any other.
func TestMachineAnswers(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	run := u.command(u.project, "run", "--backend", "lima", "--network", "closed", "--", "sh", "-c",
		"for i in $(seq 3000); do echo $i >f; sleep 0.02; done")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	count := func() string {
		data, _ := os.ReadFile(u.project + "/f")
		return string(data)
	}
	goesOn := func(what string) {
		t.Helper()
		for began, was := time.Now(), count(); count() == was || count() == ""; time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > u.patience(20*time.Second) {
				t.Fatal(what)
			}
		}
	}
	goesOn("the command does not begin")
	out, err := u.carrel("ps", "--json")
	var list []struct{ ID, Backend string }
	if json.Unmarshal([]byte(out), &list) != nil || len(list) != 1 || list[0].Backend != "lima" {
		t.Fatalf("ps: %v: %s", err, out)
	}
	id := list[0].ID
	if out, err := u.carrel("pause", id); err != nil {
		t.Errorf("pause: %v: %s", err, out)
	}
	was := count()
	if time.Sleep(300 * time.Millisecond); count() != was {
		t.Error("it goes on while it is paused")
	}
	if out, err := u.carrel("resume", id); err != nil {
		t.Errorf("resume: %v: %s", err, out)
	}
	goesOn("it does not go on")
	if out, err := u.carrel("stop", id); err != nil {
		t.Errorf("stop: %v: %s", err, out)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended by itself")
		}
	case <-time.After(u.patience(20 * time.Second)):
		t.Error("stop does not end it")
	}
}

// TestMachineNetwork: programs in a machine reach what is listed by the proxy of the supervisor, and
// nothing else.
func TestMachineNetwork(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from outside") }))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	script := `curl -sS -m 20 --noproxy none -x "$http_proxy" http://` + at + `/; echo; curl -sS -m 20 --noproxy none -x "$http_proxy" http://127.0.0.1:9/
		curl -sS -m 20 --noproxy '*' http://` + at + `/ || echo no other way`
	out, err := u.carrel("run", "--backend", "lima", "--network", "filtered", "--allow-host", at, "--", "sh", "-c", script)
	if err != nil || strings.Count(out, "from outside") != 1 || !strings.Contains(out, "no other way") || !strings.Contains(out,
		"127.0.0.1:9 was not reached") {
		t.Errorf("filtered: %v: %s", err, out)
	}
	if out, err := u.carrel("net", "log"); err != nil || !strings.Contains(out, at) {
		t.Errorf("log: %v: %s", err, out)
	}
	_, port, _ := strings.Cut(at, ":")
	out, err = u.carrel("run", "--backend", "lima", "--network", "local", "--host-port", port, "--", "sh", "-c",
		`curl -sS -m 20 http://localhost:`+port+`/`)
	if err != nil || !strings.Contains(out, "from outside") {
		t.Errorf("a port of the host: %v: %s", err, out)
	}
	if out, err := u.carrel("net", "log"); err != nil || !strings.Contains(out, "host-port") {
		t.Errorf("log: %v: %s", err, out)
	}
	out, err = u.carrel("run", "--backend", "lima", "--network", "closed", "--", "sh", "-c", `echo "proxy:$http_proxy"; `+script)
	if err != nil || strings.Contains(out, "from outside") || !strings.Contains(out, "proxy:\n") {
		t.Errorf("closed: %v: %s", err, out)
	}
}
