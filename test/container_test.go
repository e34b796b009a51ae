//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eachEngine runs a scenario with podman as root and without root, and with docker for an
// ordinary user.
func eachEngine(t *testing.T, scenario func(t *testing.T, w *world, c *containers)) {
	eachPodman(t, scenario)
	if os.Getuid() == 0 { // the daemon takes root
		t.Run("docker", func(t *testing.T) { scenario(t, contained(t, dockerContainers), dockerContainers) })
	}
}

// eachPodman does so without docker.
func eachPodman(t *testing.T, scenario func(t *testing.T, w *world, c *containers)) {
	if os.Getuid() == 0 {
		t.Run("root", func(t *testing.T) { scenario(t, contained(t, rootContainers), rootContainers) })
	}
	t.Run("rootless", func(t *testing.T) { scenario(t, contained(t, namedContainers), namedContainers) })
}

// TestContainerRun: a command sees the image's system and the project, and nothing else of
// the host; its changes are recorded and taken back; no container is left.
func TestContainerRun(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, w *world, c *containers) {
		secret := w.write(w.outside+"/secret", "secret")
		w.write(w.project+"/kept", "as it was")
		script := "cat /etc/marker; echo; pwd; id -u; echo made >made; echo changed >kept; " +
			"cat " + secret + " || echo hidden; touch /usr/x /etc/x || echo fixed"
		got := strings.Fields(w.sh(script, inContainer...))
		want := strings.Fields(imageMarker + " " + w.project + " " + strconv.Itoa(w.who.uid) + " hidden fixed")
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("inside: %q, want %q", got, want)
		}
		if w.read(w.project+"/made") != "made\n" || w.read(w.project+"/kept") != "changed\n" {
			t.Error("the project was not written")
		}
		if out := w.carrel("history", "--json"); !strings.Contains(out.out, `"done"`) {
			t.Errorf("the history: %s", out)
		}
		w.plain(w.bin, "undo")
		if exists(w.project+"/made") || w.read(w.project+"/kept") != "as it was" {
			t.Error("the run was not taken back")
		}
		c.gone(w, 0)
	})
}

// TestContainerOfKilledRun: when the supervisor is killed, its container is gone within two
// seconds, and the next run finds nothing that it has left.
func TestContainerOfKilledRun(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, w *world, c *containers) {
		w.litter = true // what a killed supervisor leaves in its runtime directory is swept
		args := append(append([]string{"run"}, inContainer...), "--", "sh", "-c", "echo ready; sleep 300")
		cmd := w.command(w.bin, args...)
		out, err := cmd.StdoutPipe()
		w.must(err)
		w.must(cmd.Start())
		waitFor(t, out, "ready\n")
		if len(c.of(w)) == 0 {
			t.Error("canary: there is no container")
		}
		w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
		_ = cmd.Wait()
		c.gone(w, 2*time.Second)
		w.sh("true", inContainer...)
		if entries, err := os.ReadDir(w.home + "/.local/state/carrel/containers"); err != nil || len(entries) > 0 {
			t.Errorf("left in the state directory: %v %v", entries, err)
		}
	})
}

// TestContainerStays: a workspace that stays runs its commands in one container, answers as
// every other one, and takes the container with it.
func TestContainerStays(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, w *world, c *containers) {
		w.litter = true
		if r := w.carrel(append([]string{"start"}, append(inContainer, "box")...)...); r.code != 0 {
			t.Fatalf("start: %s", r)
		}
		stopped := false
		defer func() {
			if !stopped {
				w.carrel("stop", "box")
			}
		}()
		r := w.carrel("exec", "box", "--", "sh", "-c", "cat /etc/marker; echo named >named")
		if r.out != imageMarker || w.read(w.project+"/named") != "named\n" {
			t.Errorf("exec: %s", r)
		}
		if r := w.carrel("list", "--json"); !strings.Contains(r.out, `"backend": "container"`) {
			t.Errorf("the list does not name the backend: %s", r)
		}
		if n := len(c.of(w)); n != 1 {
			t.Errorf("%d containers", n)
		}
		if r := w.carrel("stop", "box"); r.code != 0 {
			t.Errorf("stop: %s", r)
		}
		stopped = true
		c.gone(w, 2*time.Second)
	})
}

// TestContainerRefusals: what a container cannot hold is refused before one is started, and
// no project's file asks for one.
func TestContainerRefusals(t *testing.T) {
	t.Parallel()
	c := namedContainers
	w := contained(t, c)
	for _, tt := range []struct {
		flags []string
		says  string
	}{
		{[]string{"--backend", "container"}, "no image is named"},
		{append([]string{"--engine", "bubblewrap"}, inContainer...), "the stage makes the walls"},
		{[]string{"--backend", "container", "--image", "-v"}, "it is no name of an image"},
		{[]string{"--backend", "container", "--image", "localhost/carrel-e2e:absent"}, "podman has no such image"},
		{append([]string{"--device", "/dev/urandom"}, inContainer...), "a container gets no device of the host's"},
	} {
		r := w.run(append(tt.flags, "--", "touch", w.project+"/started")...)
		if r.code != 125 || !strings.Contains(r.err, tt.says) || !strings.Contains(r.err+"hint: ", "hint: ") || exists(w.project+"/started") {
			t.Errorf("%q: want %q: %s", tt.flags, tt.says, r)
		}
	}
	r := w.run(append(inContainer, "--", "nothing-of-that-name")...)
	if r.code != 127 || !strings.Contains(r.err, "is not in the image "+smallImage) {
		t.Errorf("a program that is not there: %s", r)
	}
	w.write(w.project+"/.carrel.yaml", "backend: container\ncontainer:\n  image: "+smallImage+"\n")
	r = w.run("--", "cat", "/etc/marker")
	ignored := strings.Contains(r.err, "backend: ignored") && strings.Contains(r.err, "container: ignored")
	if r.code == 0 || strings.Contains(r.out, imageMarker) || !ignored {
		t.Errorf("a project's file: %s", r)
	}
	c.gone(w, 0)
}

// noContainerLeft ends runs by SIGKILL of the supervisor and of the container's processes.
func noContainerLeft(d *desk) {
	before := d.outsideSh("find . | sort")
	c := namedContainers
	for _, victim := range []string{"supervisor", sandboxStage + " container", sandboxStage + " nested"} {
		args := append(append([]string{"run"}, d.flags...), "--", "bash", "-c", "echo ready; (setsid sleep 300 &); sleep 300")
		cmd := d.command(d.bin, args...)
		out, err := cmd.StdoutPipe()
		d.must(err)
		d.must(cmd.Start())
		waitFor(d.t, out, "ready\n")
		pid := cmd.Process.Pid
		if victim != "supervisor" {
			pid = d.stageOf(c, victim)
		}
		d.must(syscall.Kill(pid, syscall.SIGKILL))
		_ = cmd.Wait()
		c.gone(d.world, 2*time.Second)
		eventually(d.t, "the processes are gone", func() bool { return len(d.processes()) == 0 })
	}
	if after := d.outsideSh("find . | sort"); after != before {
		d.t.Errorf("the project was\n%sand is\n%s", before, after)
	}
	d.plain(d.bin, "ps")
	d.litter = true // what a killed supervisor leaves in its runtime directory is swept
}

// sandboxStage is the name of the stage.
const sandboxStage = "carrel-stage"

// stageOf finds a process of the world's one container by its command line.
func (d *desk) stageOf(c *containers, command string) int {
	d.t.Helper()
	found := c.of(d.world)
	if len(found) != 1 {
		d.t.Fatalf("containers: %q", found)
	}
	id, _, _ := strings.Cut(found[0], " ")
	first, err := c.tell("inspect", "--format", "{{.State.Pid}}", id)
	d.must(err)
	pid, err := strconv.Atoi(first)
	d.must(err)
	if strings.HasSuffix(command, "nested") {
		pid = childOf(d.t, pid)
	}
	if line := d.read("/proc/" + strconv.Itoa(pid) + "/cmdline"); !strings.Contains(strings.ReplaceAll(line, "\x00", " "), command) {
		d.t.Fatalf("process %d is %q, not %q", pid, line, command)
	}
	return pid
}
