//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// smallImage is the image of the tests: busybox, bash, git and wmctrl of this machine with
// their libraries, a script that stands for agents, and a file by which it is known.
const (
	smallImage  = "localhost/carrel-e2e:small"
	imageMarker = "the image's own"
)

// pageAgents are the scripts that stand for agents in the image and in machines: known ones, and one that
// is none.
var pageAgents = []string{"claude", "codex", "gemini", "opencode", "noagent"}

// containers is an engine for one person, with a storage of its own.
type containers struct {
	engine string // podman or docker
	who    person
	dir    string
	env    []string
	daemon *exec.Cmd // docker's
	err    error
	once   sync.Once
	alone  sync.Mutex // of tests that change all images, or remove all
}

// engines are podman as root, podman of an ordinary user, and docker for that one.
var (
	rootContainers   = &containers{engine: "podman"}
	namedContainers  = &containers{engine: "podman"}
	dockerContainers = &containers{engine: "docker"}
	smallTar         = sync.OnceValues(makeSmallTar)
	hostTar          = sync.OnceValues(makeHostTar)
)

// ready gives the engine with the small image, for root or for a user with a name: only
// those have ids for containers.
func (c *containers) ready(t *testing.T) *containers {
	t.Helper()
	c.once.Do(func() {
		c.err = errors.New("there is no user for it")
		if c.who = (person{"root", 0, 0}); c != rootContainers {
			c.who, _ = namedPerson(t)
		}
		if c.err = nil; c.engine == "docker" {
			c.err = c.startDocker()
		} else {
			c.err = c.preparePodman()
		}
		archive, err := smallTar()
		if c.err = errors.Join(c.err, err); c.err == nil {
			_, c.err = c.tell("import", archive, smallImage)
		}
		if archive, err = hostTar(); c.err == nil && err == nil {
			_, c.err = c.tell("import", archive, hostImage)
		}
	})
	if c.err != nil {
		t.Fatalf("%s for the tests: %v", c.engine, c.err)
	}
	return c
}

// startDocker starts a daemon of the tests' own, which changes nothing of the machine's network.
func (c *containers) startDocker() error {
	c.dir = filepath.Join(built.base, "docker")
	if err := errors.Join(os.Mkdir(c.dir, 0o755), os.Mkdir(c.dir+"/home", 0o755)); err != nil {
		return err
	}
	socket := "unix://" + c.dir + "/docker.sock"
	c.env = []string{"DOCKER_HOST=" + socket}
	c.daemon = exec.Command("/usr/sbin/dockerd", "--data-root", c.dir+"/data", "--exec-root", c.dir+"/exec", "--pidfile", c.dir+"/pid",
		"--host", socket, "--group", strconv.Itoa(c.who.gid), "--iptables=false", "--bridge=none")
	c.daemon.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + c.dir + "/home"}
	log, err := os.Create(c.dir + "/log")
	if err != nil {
		return err
	}
	defer log.Close()
	c.daemon.Stdout, c.daemon.Stderr = log, log
	if err := c.daemon.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		_, err := c.tell("version")
		if err == nil {
			return nil
		}
		if time.Now().After(end) {
			said, _ := os.ReadFile(c.dir + "/log")
			return fmt.Errorf("the daemon does not answer: %w: %s", err, said)
		}
	}
}

// preparePodman makes a storage in a place whose name is short: podman takes 50 bytes for that of what runs.
func (c *containers) preparePodman() error {
	dir := filepath.Join(built.base, "p"+strconv.Itoa(c.who.uid))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return c.configurePodman(dir)
}

// configurePodman writes the configuration that this kind of machine needs.
func (c *containers) configurePodman(dir string) error {
	c.dir = dir
	if err := os.Mkdir(c.dir+"/home", 0o700); err != nil {
		return err
	}
	engine := "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\ntmp_dir = \"" + c.dir + "/tmp\"\n" +
		"[network]\nnetwork_backend = \"netavark\"\nnetwork_config_dir = \"" + c.dir + "/networks\"\n" +
		"[containers]\ndefault_ulimits = [\"nofile=1024:4096\", \"nproc=1000:2000\"]\n"
	storage := "[storage]\ndriver = \"overlay\"\nrunroot = \"" + c.dir + "/runroot\"\ngraphroot = \"" + c.dir + "/graph\"\n" +
		"rootless_storage_path = \"" + c.dir + "/graph\"\n"
	for name, text := range map[string]string{"containers.conf": engine, "storage.conf": storage} {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for _, dir := range []string{c.dir, c.dir + "/home"} {
		if err := os.Chown(dir, c.who.uid, c.who.gid); err != nil {
			return err
		}
	}
	c.env = []string{"CONTAINERS_CONF=" + c.dir + "/containers.conf", "CONTAINERS_STORAGE_CONF=" + c.dir + "/storage.conf"}
	return nil
}

// tell runs the engine's program as the person.
func (c *containers) tell(args ...string) (string, error) {
	program, err := exec.LookPath(c.engine)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = "/"
	own := []string{"HOME=" + c.dir + "/home", "USER=" + c.who.name, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=" + c.dir}
	cmd.Env = append(own, c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.who.credential()}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", c.engine, args[0], err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// of lists the containers of a world, by what of the host they have.
func (c *containers) of(w *world) (found []string) {
	w.t.Helper()
	out, err := c.tell("ps", "--all", "--no-trunc", "--format", "{{.ID}} {{.State}} {{.Mounts}}")
	w.must(err)
	for line := range strings.Lines(out) {
		if strings.Contains(line, w.base+"/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// gone waits until a world has no container any more.
func (c *containers) gone(w *world, within time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		left := c.of(w)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			w.t.Errorf("left after %s: %q", within, left)
			return
		}
	}
}

// removeContainers takes away what the fixtures have made.
func removeContainers() error {
	var errs []error
	for _, c := range []*containers{rootContainers, namedContainers} {
		if c.dir == "" {
			continue
		}
		_, err := c.tell("system", "reset", "--force") // with the pause process of a person without root
		errs = append(errs, err)
	}
	if d := dockerContainers.daemon; d != nil && d.Process != nil {
		_ = d.Process.Signal(syscall.SIGTERM)
		_ = d.Wait()
		for point := range mountPoints() { // of containers without a network, which it leaves
			if strings.HasPrefix(point, dockerContainers.dir+"/exec/netns/") {
				errs = append(errs, syscall.Unmount(point, 0))
			}
		}
	}
	return errors.Join(errs...)
}

// makeSmallTar makes the archive of the small image.
func makeSmallTar() (string, error) {
	root := built.base + "/image"
	for _, dir := range []string{"bin", "etc", "usr/bin", "home", "opt", "var"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	script := `set -eu
cp /bin/busybox bin/busybox
for name in $(bin/busybox --list); do [ $name = busybox ] || ln -sf busybox bin/$name; done
for program in /bin/bash /usr/bin/git /usr/bin/wmctrl; do
	rm -f .$program; cp -L $program .$program
	for lib in $(ldd $program | grep -o '/[^ ]*'); do mkdir -p .$(dirname $lib); cp -L $lib .$lib; done
done
printf '%s' "$1" >etc/marker
for name in $2; do printf '#!/bin/bash\n%s\n' "$3" >usr/bin/$name; chmod 755 usr/bin/$name; done
echo 'root:x:0:0:root:/root:/bin/sh' >etc/passwd
echo 'root:x:0:' >etc/group
tar -cf ../image.tar .
chmod 644 ../image.tar`
	cmd := exec.Command("/bin/bash", "-c", script, "bash", imageMarker, strings.Join(pageAgents, " "), obedient)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("making the image: %w: %s", err, out)
	}
	return built.base + "/image.tar", os.RemoveAll(root)
}

// contained is a world in which everything runs in containers of the small image.
func contained(t *testing.T, c *containers) *world {
	t.Helper()
	c.ready(t)
	w := bareWorld(t, c.who)
	w.env = append(w.env, c.env...)
	switch c {
	case namedContainers: // podman without root has its state there
		w.env = append(w.env, "XDG_RUNTIME_DIR="+c.dir)
	case dockerContainers:
		w.write(w.home+"/.config/carrel/config.yaml", "container:\n  engine: docker\n")
	}
	return w
}

// inContainer are the flags.
var inContainer = []string{"--backend", "container", "--image", smallImage}
