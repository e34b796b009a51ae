//go:build linux

package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// greeting is what every listener outside says to whoever reaches it.
const greeting = "reached"

// listen starts a server outside that greets. A path starting with "@" is an
// abstract name.
func (w *world) listen(network, address string) net.Listener {
	w.t.Helper()
	if network == "unix" && address[0] == '/' {
		if err := os.MkdirAll(filepath.Dir(address), 0o755); err != nil {
			w.t.Fatal(err)
		}
	}
	l, err := net.Listen(network, address)
	w.must(err)
	if network == "unix" && address[0] == '/' {
		w.must(os.Chmod(address, 0o777))
	}
	w.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte(greeting))
			c.Close()
		}
	}()
	return l
}

// number is unique to the world, for names that all worlds share.
func (w *world) number() string {
	return strconv.Itoa(os.Getpid()) + filepath.Base(w.base)[1:]
}

// hostTemp makes a directory in the host's /tmp.
func (w *world) hostTemp() string {
	w.t.Helper()
	dir, err := os.MkdirTemp("/tmp", "carrel-e2e-")
	w.must(err)
	w.t.Cleanup(func() { os.RemoveAll(dir) })
	w.must(os.Chmod(dir, 0o777))
	return dir
}

// hostSockets starts listeners where the services of a session have theirs.
func (w *world) hostSockets() []string {
	w.t.Helper()
	paths := []string{
		w.runtime + "/bus", w.runtime + "/systemd/private", w.runtime + "/wayland-0", w.runtime + "/pipewire-0",
		w.runtime + "/gnupg/S.gpg-agent", w.runtime + "/podman/podman.sock", w.runtime + "/keyring/ssh",
		w.hostTemp() + "/agent.1", w.hostTemp() + "/tmux/default", w.outside + "/agent.sock",
		w.home + "/.docker/run/docker.sock", w.project + "/dev-server.sock", w.project + "/sub/docker.sock",
	}
	if os.Getuid() == 0 {
		run := "/run/carrel-e2e-" + w.number()
		w.t.Cleanup(func() { os.RemoveAll(run) })
		paths = append(paths, run+"/docker.sock")
	}
	for _, p := range paths {
		w.listen("unix", p)
		w.own(p)
	}
	return append(paths, w.x11Socket())
}

// display is a display number that nobody else has.
func (w *world) display() string {
	n, _ := strconv.Atoi(filepath.Base(w.base)[1:])
	return strconv.Itoa(20000 + n)
}

// x11Socket listens where an X server would, at a number that nobody has.
func (w *world) x11Socket() string {
	w.t.Helper()
	const dir = "/tmp/.X11-unix"
	if os.Mkdir(dir, 0o777) == nil {
		w.must(os.Chmod(dir, 0o1777))
		w.t.Cleanup(func() { os.Remove(dir) })
	}
	path := dir + "/X" + w.display()
	w.listen("unix", path)
	return path
}

func TestHostSocketsAreOutOfReach(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		paths := w.hostSockets()
		w.setenv("SSH_AUTH_SOCK", w.outside+"/agent.sock")
		w.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path="+w.runtime+"/bus")
		w.setenv("DOCKER_HOST", "unix://"+w.home+"/.docker/run/docker.sock")
		var args []string
		for _, path := range paths {
			args = append(args, "connect", path, "--")
		}
		args = args[:len(args)-1]
		for _, network := range []string{"closed", "local", "open"} {
			w.refused([]string{"--network", network}, args, "ENOENT", "EACCES", "ECONNREFUSED", "EPERM")
		}
		w.fails([]string{"--home", "full"}, args, "ENOENT", "EACCES", "ECONNREFUSED", "EPERM")
	})
}

func TestAbstractSocketsAreOutOfReach(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		names := []string{"carrel-e2e-" + w.number(), "/tmp/.X11-unix/X" + w.number(), "/tmp/dbus-" + w.number(), "/tmp/.ICE-unix/" + w.number()}
		for _, name := range names {
			w.listen("unix", "@"+name)
			for _, network := range []string{"closed", "local", "open"} {
				for _, nested := range []string{"none", "userns", "full"} {
					w.refused([]string{"--network", network, "--nested", nested}, []string{"abstract", name}, "ECONNREFUSED", "EPERM")
				}
			}
		}
	})
}

func TestHostLoopback(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		l := w.listen("tcp4", "127.0.0.1:0")
		port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		w.refused([]string{"--network", "closed"}, []string{"tcp", port}, "ENETUNREACH")
		w.refused([]string{"--network", "local"}, []string{"tcp", port}, "ECONNREFUSED")
		w.refused(nil, []string{"tcp", port}, "ENETUNREACH", "ECONNREFUSED")
		if got := w.attack([]string{"--network", "open"}, "tcp", port); got != "ok "+greeting {
			t.Errorf("--network open: %q", got)
		}
	})
}

// TestHostFilesInTmpAndRun: /tmp and /run inside are the workspace's own.
func TestHostFilesInTmpAndRun(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		dir := w.hostTemp()
		w.must(os.WriteFile(dir+"/left.txt", []byte("SECRET"), 0o666))
		w.must(os.Chmod(dir+"/left.txt", 0o666))
		w.write(w.runtime+"/secret", "SECRET")
		w.refused(nil, []string{"read", dir + "/left.txt"}, "ENOENT")
		w.refused(nil, []string{"read", w.runtime + "/secret"}, "ENOENT")
		mine := "carrel-e2e-" + w.number()
		w.sh("for d in /tmp /var/tmp $XDG_RUNTIME_DIR /dev/shm; do echo mine > $d/" + mine + " || exit 1; done")
		for _, dir := range []string{"/tmp", "/var/tmp", w.runtime, "/dev/shm"} {
			if os.Remove(dir+"/"+mine) == nil {
				t.Errorf("%s was written outside", dir)
			}
		}
		if out := w.sh("ls -A /tmp /dev/shm $XDG_RUNTIME_DIR | grep -v :$" + " || true"); len(out) > 5 {
			t.Errorf("a fresh workspace is not empty: %q", out)
		}
	})
}

// TestProjectBelowTmp: the private /tmp must not hide a project in it.
func TestProjectBelowTmp(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		other := w.hostTemp()
		w.must(os.WriteFile(other+"/secret", []byte("SECRET"), 0o666))
		dir := w.hostTemp() + "/desk"
		w.must(os.Mkdir(dir, 0o755))
		w.must(os.Lchown(dir, p.uid, p.gid))
		cmd := w.command(w.bin, "run", "--", "bash", "-c", "echo here > made; cat "+other+"/secret; ls /tmp | wc -l")
		cmd.Dir = dir
		if r := w.finish(cmd); r.out != "1\n" {
			t.Errorf("inside: %s", r)
		}
		if data, err := os.ReadFile(dir + "/made"); string(data) != "here\n" {
			t.Errorf("outside: %q %v", data, err)
		}
	})
}
