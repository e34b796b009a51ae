//go:build linux

package e2e

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

//go:embed testdata/container/seccomp.json
var containerFiles embed.FS

// inside is a container as docker's default profile and a restricted pod have it: the
// profile refuses namespaces, mounts and unshare(2); no capabilities, no privilege to gain.
type inside struct {
	*world
	rootfs string
}

func newInside(t *testing.T) *inside {
	if os.Getuid() != 0 {
		t.Skip("starting the container takes root")
	}
	w := newWorld(t, ordinary(t))
	c := &inside{w, w.base + "/rootfs"}
	for _, dir := range []string{"/usr", "/etc", "/dev", "/proc", "/sys", "/run", "/tmp", "/var/tmp"} {
		w.must(os.MkdirAll(c.rootfs+dir, 0o755))
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		w.must(os.Symlink("usr/"+name, c.rootfs+"/"+name))
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		w.must(os.Chmod(c.rootfs+dir, 0o777|os.ModeSticky))
	}
	profile, err := containerFiles.ReadFile("testdata/container/seccomp.json")
	w.must(err)
	w.must(os.WriteFile(w.base+"/seccomp.json", profile, 0o644))
	return c
}

// run starts a script in a container of its own. The store is the test's, too: podman
// leaves nothing elsewhere.
func (c *inside) run(user, script string, flags ...string) result {
	c.t.Helper()
	args := []string{"--root", c.base + "/podman/store", "--runroot", c.base + "/podman/run", "--tmpdir", c.base + "/podman/tmp",
		"--storage-driver", "vfs", "--runtime", "runc", "--cgroup-manager", "cgroupfs",
		"run", "--rm", "--ulimit", "nofile=1024:4096", "--ulimit", "nproc=1000:2000", "--network", "none", "--user", user,
		"--cap-drop", "all", "--security-opt", "no-new-privileges", "--security-opt", "seccomp=" + c.base + "/seccomp.json",
		"-v", "/usr:/usr:ro", "-v", c.base + ":" + c.base, "-w", c.project}
	for _, e := range c.env {
		args = append(args, "-e", e)
	}
	args = append(args, flags...)
	cmd := exec.Command("podman", append(args, "--rootfs", c.rootfs, "bash", "-c", script)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		c.t.Fatal(err)
	}
	return result{out: out.String(), err: errs.String(), code: cmd.ProcessState.ExitCode()}
}

func (c *inside) user() string { return fmt.Sprintf("%d:%d", c.who.uid, c.who.gid) }

// TestInsideContainer: a run in a container that refuses namespaces has its history, its
// protected names and its undo; the modes of what is made are those of a run without carrel.
func TestInsideContainer(t *testing.T) {
	c := newInside(t)
	c.write(c.project+"/tree/deep/f", "as it was\n")
	c.write(c.project+"/kept", "as it was\n")
	c.write(c.outside+"/secret", "CANARY\n")
	c.write(c.project+"/modes.py", program("container/modes.py"))
	seed := rand.Uint64()
	modes := fmt.Sprintf("python3 modes.py %d ", seed)
	r := c.run(c.user(), "set -e; git init -q .\n"+modes+c.outside+"/bare >"+c.outside+"/modes\n"+
		"carrel run -- sh -c '"+modes+"held >held.txt; rm -rf tree; echo new >kept; echo x >.git/hooks/post-commit; "+
		"cat "+c.outside+"/secret; echo x >"+c.outside+"/made; true' 2>"+c.outside+"/said\n")
	said := c.read(c.outside + "/said")
	if r.code != 0 || !strings.Contains(said, "engine landlock, because") {
		t.Fatalf("%s\n%s", r, said)
	}
	if strings.Contains(r.out+said, "CANARY") || exists(c.outside+"/made") || exists(c.project+"/.git/hooks/post-commit") {
		t.Errorf("the walls: %s\n%s", r, said)
	}
	if bare, held := c.read(c.outside+"/modes"), c.read(c.project+"/held.txt"); bare != held || strings.Count(bare, "\n") != 300 {
		t.Errorf("seed %d: modes of a bare run:\n%s\nbehind walls:\n%s", seed, bare, held)
	}
	if exists(c.project+"/tree") || c.read(c.project+"/kept") != "new\n" {
		t.Error("the run changed nothing on the host")
	}
	r = c.run(c.user(), "carrel undo")
	if r.code != 0 || c.read(c.project+"/tree/deep/f")+c.read(c.project+"/kept") != "as it was\nas it was\n" || exists(c.project+"/held") {
		t.Errorf("undo: %s", r)
	}
}

// TestInsideContainerRefused: what does not work in such a container is refused with what
// its starter has to change, and doctor says the same.
func TestInsideContainerRefused(t *testing.T) {
	c := newInside(t)
	r := c.run(c.user(), "git init -q .; carrel run --history off -- touch made; echo $?; carrel doctor", "-e", "GITHUB_ACTIONS=true")
	for _, want := range []string{
		"125\n", ".git (Landlock's rules add up", "leave --history off out", "podman run --security-opt seccomp=unconfined",
		"engine landlock holds commands of this user", "podman container, in a GitHub Actions job",
	} {
		if !strings.Contains(r.out+r.err, want) {
			t.Errorf("no %q: %s", want, r)
		}
	}
	r = c.run("0:0", "mkdir -p /root/desk; cd /root/desk; carrel run -- touch "+c.project+"/made; echo $?; carrel doctor",
		"-e", "HOME=/root", "-w", "/")
	for _, want := range []string{"125\n", "cannot hold: user 0", "podman run --user 1000:1000", "engine landlock does not hold root"} {
		if !strings.Contains(r.out+r.err, want) {
			t.Errorf("root: no %q: %s", want, r)
		}
	}
	if exists(c.project + "/made") {
		t.Error("a refused command ran")
	}
}
