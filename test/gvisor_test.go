//go:build linux

package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inGvisor are the flags of a run in a sandbox.
var inGvisor = []string{"--backend", "gvisor"}

// gvisorWorld is a world with the programs of backend gvisor. An ordinary user has a device of FUSE
// that all may open, as distributions have it.
func gvisorWorld(t *testing.T, p person) *world {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making a device takes root")
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("no /dev/fuse here")
	}
	w := bareWorld(t, p)
	for _, name := range []string{"carrel-relay", "carrel-gvisor"} {
		w.must(copyFile(filepath.Join(filepath.Dir(built.carrel), name), w.base+"/bin/"+name, 0o755))
	}
	if p.uid != 0 {
		w.wrap = w.withFUSE()
	}
	return w
}

// withFUSE starts the program where all users may open /dev/fuse.
func (w *world) withFUSE() func(*exec.Cmd) {
	device := w.base + "/fuse"
	w.must(unix.Mknod(device, unix.S_IFCHR|0o666, int(unix.Mkdev(10, 229))))
	w.must(os.Chmod(device, 0o666))
	script := `mount --bind ` + device + ` /dev/fuse && exec setpriv --reuid "$1" --regid "$1" --clear-groups -- "${@:2}"`
	return func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"sh", "-c", script, "sh", strconv.Itoa(w.who.uid), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = "/bin/bash"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Unshareflags: unix.CLONE_NEWNS}
	}
}

// TestGvisorRun: a command in a sandbox runs under another kernel, and changes the project by way of
// the history; nothing else of this machine.
func TestGvisorRun(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := gvisorWorld(t, p)
		w.write(w.project+"/keep", "old\n")
		w.write(w.project+"/dir/deep/file", "content\n")
		w.write(w.project+"/.env", "TOKEN=hunter2\n")
		w.write(w.home+"/.ssh/id_ed25519", "key of the host")
		secret := w.write(w.outside+"/secret", "not yours")
		if p.uid != 0 {
			w.filesOfOthers()
		}
		before := w.described(w.project)
		script := `uname -r; id -u; echo new >keep; rm -rf dir; mkdir made; echo hi >made/f; mv made/f g; cat g; pwd; echo "$HOME"
			echo mine >"$HOME/mine" && cat "$HOME/mine"; echo x >/tmp/x; echo y >"$HOME/y"; ls "$HOME"`
		out := w.sh(script, inGvisor...)
		for _, want := range []string{"4.4.0", "\n" + strconv.Itoa(p.uid) + "\n", "hi\n" + w.project + "\n" + w.home + "\nmine\n", "\ny\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("want %q: %s", want, out)
			}
		}
		if w.read(w.project+"/keep") != "new\n" || exists(w.project+"/dir") || w.read(w.project+"/g") != "hi\n" {
			t.Error("the project is not as the command has made it")
		}
		if exists(w.home+"/mine") || exists(w.home+"/y") {
			t.Error("something of this machine was changed")
		}
		for _, script := range []string{"cat .env", "cat " + secret, "cat " + w.home + "/.ssh/id_ed25519", "cat " + w.base + "/outside/secret",
			"ls " + w.home + "/.local/state/carrel", "echo x >.git/config", "touch /etc/mine /usr/mine", "ls /sys/served", "mount -t tmpfs x /mnt", "umount /sys",
			"mknod n c 1 3", "cat /proc/1/environ"} {
			w.t.Helper()
			if r := w.run(append(inGvisor, "--", "sh", "-c", script)...); r.code == 0 || strings.Contains(r.out, "hunter2") {
				t.Errorf("%s: %s", script, r)
			}
		}
		if r := w.carrel("undo"); r.code != 0 {
			t.Fatalf("undo: %s", r)
		}
		if after := w.described(w.project); after != before {
			t.Errorf("after undo:\n%s\nwant\n%s", after, before)
		}
		if r := w.run(append(inGvisor, "--", "sh", "-c", "exit 7")...); r.code != 7 {
			t.Errorf("exit: %s", r)
		}
	})
}

// filesOfOthers: what another user has in the project is read and removed as outside, and a removal is undone.
func (w *world) filesOfOthers() {
	w.t.Helper()
	for name, mode := range map[string]os.FileMode{"theirs": 0o644, "hidden": 0o600} {
		w.must(os.WriteFile(w.project+"/"+name, []byte("of root\n"), mode))
	}
	got := w.sh(`cat theirs; test -w theirs || echo x >theirs || echo held; cat hidden || echo held; rm -f theirs; ls`, inGvisor...)
	if got != "of root\nheld\nheld\ndir\nhidden\nkeep\n" || exists(w.project+"/theirs") {
		w.t.Errorf("files of another user: %q", got)
	}
	if w.fine("undo"); w.read(w.project+"/theirs") != "of root\n" {
		w.t.Error("their removal was not undone")
	}
	for _, name := range []string{"theirs", "hidden"} {
		w.must(os.Remove(w.project + "/" + name))
	}
}

// described describes the files below a directory.
func (w *world) described(dir string) string {
	w.t.Helper()
	return w.outsideSh(`cd "` + dir + `" && find . ! -name . -printf '%P %M %s %T@ %l\n' | sort && find . -type f | sort | xargs cat`)
}

// TestGvisorNetwork: a sandbox reaches what its mode lets it reach, and no loopback of this machine.
func TestGvisorNetwork(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, person{"root", 0, 0})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from outside") }))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := net.SplitHostPort(at)
	direct := "curl -sS -m 5 --noproxy '*' http://" + at + "/"
	for _, mode := range []string{"closed", "local", "filtered"} {
		if r := w.run(append(inGvisor, "--network", mode, "--", "sh", "-c", direct)...); r.code == 0 || strings.Contains(r.out, "from outside") {
			t.Errorf("%s: %s", mode, r)
		}
	}
	proxied := `curl -sS -m 20 --noproxy none -x "$http_proxy" http://` + at + `/
		curl -sS -m 20 --noproxy none -x "$http_proxy" http://127.0.0.1:9/`
	r := w.run(append(inGvisor, "--network", "filtered", "--allow-host", at, "--", "sh", "-c", proxied)...)
	if strings.Count(r.out, "from outside") != 1 || !strings.Contains(r.err, "127.0.0.1:9 was not reached") {
		t.Errorf("filtered: %s", r)
	}
	if r := w.run(append(inGvisor, "--network", "local", "--host-port", port, "--", "sh", "-c", direct)...); r.out != "from outside" {
		t.Errorf("a port of the host: %s", r)
	}
	w.publishes(inGvisor...)
	r = w.run(append(inGvisor, "--network", "open", "--", "true")...)
	if r.code != 125 || !strings.Contains(r.err, "no network but its own loopback") {
		t.Errorf("open: %s", r)
	}
}

// publishes has a program in a workspace serve a port, which has to be the host's.
func (w *world) publishes(flags ...string) {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	at := l.Addr().String()
	w.must(l.Close())
	_, port, _ := net.SplitHostPort(at)
	serve := `from socket import create_server
for c in iter(create_server(("127.0.0.1", 3000)).accept, 0): c[0].sendall(b"from inside\n")`
	w.background(append(flags, "--network", "local", "--publish", "3000:"+port, "--", "python3", "-I", "-S", "-c", serve)...)
	eventually(w.t, "what is published to be reached", func() bool {
		c, err := net.Dial("tcp", at)
		if err != nil {
			return false
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		got := make([]byte, 20)
		n, _ := c.Read(got)
		return string(got[:n]) == "from inside\n"
	})
}

// TestGvisorStays: a workspace stays in a sandbox, with commands that have their own streams, exit
// status and steps.
func TestGvisorStays(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := gvisorWorld(t, p)
		s := w.stays("dev", inGvisor...)
		r := s.do("exec", "--", "sh", "-c", "cat; echo to stderr >&2; exit 5")
		if r.code != 5 || r.err != "to stderr\n" {
			t.Errorf("exec: %s", r)
		}
		s.sh("echo one >one")
		s.sh("echo two >two")
		if r := w.carrel("undo"); r.code != 0 || exists(w.project+"/two") || !exists(w.project+"/one") {
			t.Errorf("undo of the last command: %s", r)
		}
		id := s.launch("sleeper", "sleep 600 & sleep 600")
		s.fine("kill", id)
		for began := time.Now(); s.app(id).Processes > 0; time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 10*time.Second {
				t.Fatal("what an app has started lives on")
			}
		}
		if got := s.fine("status", "--json"); !strings.Contains(got, `"backend": "gvisor"`) || !strings.Contains(got, `"isolation": "kernel"`) {
			t.Errorf("status: %s", got)
		}
		if got := w.carrel("ps"); !strings.Contains(got.out, "running, isolation kernel") {
			t.Errorf("ps: %s", got)
		}
		if got := s.events()[0].Text; got != "isolation kernel (backend gvisor)" {
			t.Errorf("the event of the start: %q", got)
		}
		tm := w.openTerminal(w.command(w.bin, "exec", "dev", "--", "sh", "-c", "stty size; tty; read x; echo got $x"))
		tm.expect("/dev/pts/")
		tm.send("word\n")
		tm.expect("got word")
	})
}

// TestGvisorEnds: of a sandbox nothing is left when its supervisor is killed.
func TestGvisorEnds(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, person{"root", 0, 0})
	cmd := w.command(w.bin, append(append([]string{"run"}, inGvisor...), "--", "sh", "-c", "echo ready >there; exec sleep 1000")...)
	w.must(cmd.Start())
	for began := time.Now(); !exists(w.project + "/there"); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > patience {
			t.Fatal("the command does not begin")
		}
	}
	var program syscall.Stat_t
	w.must(syscall.Stat(w.base+"/bin/carrel-gvisor", &program))
	sandboxes := func() (left []string) {
		list, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, exe := range list {
			var st syscall.Stat_t
			if syscall.Stat(exe, &st) == nil && st.Ino == program.Ino && st.Dev == program.Dev {
				left = append(left, exe)
			}
		}
		return left
	}
	if len(sandboxes()) < 3 {
		t.Fatalf("canary: %v", sandboxes())
	}
	w.must(cmd.Process.Kill())
	_ = cmd.Wait()
	for began := time.Now(); len(sandboxes()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 2*time.Second {
			t.Fatalf("left after 2 seconds: %v", sandboxes())
		}
	}
}

// TestGvisorRefusals: what a sandbox does not hold, and what is missing, is refused with its fix.
func TestGvisorRefusals(t *testing.T) {
	t.Parallel()
	w := gvisorWorld(t, ordinary(t))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--display", "virtual"}, "a sandbox has no display"},
		{[]string{"--history", "off"}, "goes through the history"},
		{[]string{"--engine", "bubblewrap"}, "leave --engine out"},
		{[]string{"--image", "x"}, "leave --image out"},
	} {
		r := w.run(append(append(inGvisor, c.args...), "--", "touch", "started")...)
		if r.code != 125 || !strings.Contains(r.err, c.want) {
			t.Errorf("%q: %s", c.args, r)
		}
	}
	w.wrap = nil
	r := w.run(append(inGvisor, "--", "touch", "started")...)
	st, err := os.Stat("/dev/fuse")
	if w.must(err); st.Mode().Perm()&0o006 == 0 && (r.code != 125 || !strings.Contains(r.err, "chmod 666 /dev/fuse")) {
		t.Errorf("/dev/fuse: %s", r)
	}
	w.must(os.Remove(w.base + "/bin/carrel-gvisor"))
	r = w.run(append(inGvisor, "--", "touch", "started")...)
	if r.code != 125 || !strings.Contains(r.err, "carrel-gvisor has to lie beside carrel") || !strings.Contains(r.err, "./cmd/...") {
		t.Errorf("no program: %s", r)
	}
	if exists(w.project + "/started") {
		t.Error("something was started")
	}
}
