//go:build linux && vm

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// vmImage makes the image of machines once, of the package that .ci/setup has fetched, with a kernel
// and an archive that each person can read.
var vmImage = sync.OnceValues(func() (dir string, err error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(home + "/.cache/carrel-test/kernel/*.deb")
	if err != nil || len(found) == 0 {
		return "", errors.Join(err, errors.New("there is no package with a kernel: .ci/setup vm fetches it"))
	}
	dir = built.base + "/vm"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	var digests [2]string
	for i := range digests {
		cmd := exec.Command(built.carrel, "vm", "build-image", "--kernel-deb", found[len(found)-1])
		cmd.Env = []string{"HOME=" + built.base, "XDG_CACHE_HOME=" + dir + "/cache"}
		out, err := cmd.CombinedOutput()
		if digests[i] = strings.TrimSpace(string(out)); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	if digests[0] != digests[1] {
		return "", fmt.Errorf("two images of one package: %q", digests)
	}
	at := dir + "/cache/carrel/vm/" + digests[0]
	return dir, errors.Join(copyFile(at+"/kernel", dir+"/kernel", 0o644), copyFile(at+"/initrd", dir+"/initrd", 0o644))
})

// inMachines gives a world whose machines are translated: no test machine need have KVM.
func inMachines(t *testing.T, p person) *world {
	t.Helper()
	dir, err := vmImage()
	if err != nil {
		t.Fatal(err)
	}
	w := bareWorld(t, p)
	w.must(copyFile(filepath.Dir(built.carrel)+"/carrel-relay", filepath.Dir(w.bin)+"/carrel-relay", 0o755))
	w.programs = w.lookAtPrograms()
	boots := "kernel: " + dir + "/kernel, initrd: " + dir + "/initrd"
	w.write(w.home+"/.config/carrel/config.yaml", "backend: vm\nvm: {accel: tcg, cpus: 1, memory: 512MiB, "+boots+"}\n")
	return w
}

// TestRunUnderAnotherKernel: a command in a machine of QEMU has this machine's programs, as the policy
// shows them, and a kernel of its own. Its changes are decided outside, recorded and undone.
func TestRunUnderAnotherKernel(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := inMachines(t, p)
		for path, text := range map[string]string{
			w.project + "/keep": "old\n", w.project + "/denied": "hunter2\n", w.project + "/.env": "TOKEN=hunter2\n",
			w.home + "/.ssh/id_rsa": "hunter2\n", w.outside + "/secret": "hunter2\n",
		} {
			w.write(path, text)
		}
		w.outsideSh("git init -q -b main . && mkdir many && seq 40 | while read i; do echo $i >many/$i; done; ln -s keep link; chmod 600 keep")
		before := w.outsideSh("find . -path ./.git -prune -o -printf '%p %m %s %T@ %l\\n' | sort")
		r := w.run("--deny", ":project/denied", "--env", "WORD=a b", "--", "bash", "-c", `
			echo "kernel $(uname -r)"; echo "home $HOME $(pwd)"; echo "word $WORD"; id -u
			python3 -c 'print("python", 6 * 7)'; git status --short | head -3
			echo new >keep; echo made >made; mkdir d; mv link d/; rm -rf many; chmod 755 keep
			cat denied .env ~/.ssh/id_rsa `+w.outside+`/secret /etc/shadow
			ls -a ~ ; ls `+w.outside+`; ls ~/.local/state
			echo x >.git/hooks/pre-commit && echo hooked
			echo x >/usr/bin/new; echo x >/etc/new; echo x >/tmp/new && echo tmp; echo x >~/new
			ls /sys/class/net; cat /proc/1/comm; ls /dev/vport* | head -1; cat /dev/vport0p1
			[ $(date +%s) -ge `+fmt.Sprint(time.Now().Unix())+` ] && [ $(date +%s) -lt `+fmt.Sprint(time.Now().Unix()+3600)+` ] && echo clock
			exit 7`)
		if r.code != 7 {
			t.Fatalf("%s", r)
		}
		host := strings.TrimSpace(w.outsideSh("uname -r"))
		for _, want := range []string{"home " + w.home + " " + w.project + "\n", "word a b\n", "python 42\n", "tmp\n", "clock\n", "lo\n"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%q is missing: %s", want, r)
			}
		}
		for _, not := range []string{"kernel " + host + "\n", "hunter2", "hooked", "carrel/", "eth"} {
			if strings.Contains(r.out, not) {
				t.Errorf("%q is there: %s", not, r)
			}
		}
		if p.uid != 0 && !strings.Contains(r.out, fmt.Sprintf("\n%d\n", p.uid)) {
			t.Errorf("another user: %s", r)
		}
		after := w.outsideSh("cat keep made; stat -c %a keep; readlink d/link; ls many 2>&1; ls .git/hooks/pre-commit ~/new 2>&1; true")
		if !strings.HasPrefix(after, "new\nmade\n755\nkeep\n") || strings.Count(after, "No such file") != 3 {
			t.Errorf("outside: %s", after)
		}
		for _, path := range []string{"/usr/bin/new", "/etc/new", "/tmp/new"} {
			if _, err := os.Lstat(path); err == nil && path != "/tmp/new" {
				t.Errorf("%s was made on the host", path)
			}
		}
		if u := w.carrel("undo"); u.code != 0 {
			t.Fatalf("undo: %s", u)
		}
		if now := w.outsideSh("find . -path ./.git -prune -o -printf '%p %m %s %T@ %l\\n' | sort"); notTimes(now) != notTimes(before) {
			t.Errorf("after undo:\n%s\nbefore:\n%s", now, before)
		}
	})
}

// notTimes leaves the times of directories out of a listing, which an undo does not bring back.
func notTimes(list string) (out string) {
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) > 3 {
			words[3] = ""
		}
		out += strings.Join(words, " ") + "\n"
	}
	return out
}

// TestWorkspaceUnderAnotherKernel: a workspace stays in a machine of QEMU, with its commands, its
// network and its end. A second one has a machine of its own.
func TestWorkspaceUnderAnotherKernel(t *testing.T) {
	t.Parallel()
	w := inMachines(t, ordinary(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from outside") }))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://")
	s := w.stays("dev", "--network", "filtered", "--allow-host", at, "--publish", "8080:18080")
	s.sh("echo one >one; echo $$ >/tmp/mine")
	s.sh("echo two >two")
	if r := s.do("exec", "--", "sh", "-c", "cat; echo err >&2; exit 5"); r.code != 5 || r.err != "err\n" {
		t.Errorf("exec: %s", r)
	}
	if got := s.sh("cat /tmp/mine >/dev/null && head -c 1000000 /dev/zero | wc -c"); got != "1000000\n" {
		t.Errorf("in the same machine: %q", got)
	}
	out := s.sh(`curl -sS -m 240 --noproxy none -x "$http_proxy" http://` + at + `/; echo
		curl -sS -m 20 --noproxy '*' http://` + at + `/ || echo no other way; cat /sys/class/net/*/address`)
	if !strings.Contains(out, "from outside\n") || !strings.Contains(out, "no other way\n") {
		t.Errorf("network: %q", out)
	}
	s.launch("server", "cd /tmp && echo published >page && exec python3 -m http.server 8080")
	w.outsideSh(`for i in $(seq 1000); do
		curl -sS -m 5 http://127.0.0.1:18080/page 2>/dev/null | grep -q published && exit; sleep 0.2
	done; exit 1`)
	if r := w.run("--", "cat", "one", "/tmp/mine"); !strings.HasPrefix(r.out, "one\n") || r.code == 0 {
		t.Errorf("a second machine: %s", r)
	}
	if r := w.carrel("undo"); r.code != 0 {
		t.Errorf("undo: %s", r)
	}
	if got := w.outsideSh("cat one; ls two 2>&1; true"); !strings.HasPrefix(got, "one\n") || !strings.Contains(got, "No such file") {
		t.Errorf("after undo: %s", got)
	}
	if r := w.carrel("ps", "--json"); !strings.Contains(r.out, `"backend": "vm"`) {
		t.Errorf("ps: %s", r)
	}
}

// TestMachineAndSupervisorDie: a machine that is killed ends its workspace, and a supervisor that is
// killed takes its machine with it. What was changed is kept and can be undone.
func TestMachineAndSupervisorDie(t *testing.T) {
	t.Parallel()
	w := inMachines(t, ordinary(t))
	for _, victim := range []string{"machine", "supervisor"} {
		file := w.project + "/" + victim
		cmd := w.command(w.bin, "run", "--", "sh", "-c", "echo there >"+victim+"; exec sleep 600")
		if err := w.start(cmd); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, file)
		supervisor := strconv.Itoa(cmd.Process.Pid)
		machine := strings.TrimSpace(w.outsideSh("pgrep -f qemu-system -P " + supervisor))
		killed := map[string]string{"machine": machine, "supervisor": supervisor}[victim]
		if out, err := exec.Command("kill", "-KILL", killed).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		began := time.Now()
		if err := cmd.Wait(); err == nil {
			t.Errorf("%s: it ended well", victim)
		}
		for there := true; there && time.Since(began) < 2*time.Minute; time.Sleep(20 * time.Millisecond) {
			_, err := os.Stat("/proc/" + machine)
			there = err == nil || len(w.processes()) > 0
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: the end took %s; there is %v", victim, took, w.processes())
		}
		if r := w.carrel("undo", "--force"); r.code != 0 {
			t.Errorf("%s: undo: %s", victim, r)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Errorf("%s: the file is there after an undo", victim)
		}
	}
}

func awaitFile(t *testing.T, at string) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Lstat(at); err == nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("%s does not come", at)
		}
	}
}

// TestMachinesThatAreRefused: what a machine of QEMU does not carry is refused with its fix, before
// one is started; and without a word for it none is translated.
func TestMachinesThatAreRefused(t *testing.T) {
	t.Parallel()
	w := inMachines(t, ordinary(t))
	for want, flags := range map[string][]string{
		"no network card":          {"--network", "open"},
		"a machine has no display": {"--display", "virtual"},
		"goes through the history": {"--history", "off"},
		"leave --engine out":       {"--engine", "bubblewrap"},
		"vm.kernel":                {"--image", "x"},
	} {
		if r := w.run(append(flags, "--", "true")...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%q: %s", flags, r)
		}
	}
	config := w.home + "/.config/carrel/config.yaml"
	for want, text := range map[string]string{
		"carrel vm build-image": "backend: vm\nvm: {accel: tcg}\n",
		"is no program":         "backend: vm\nvm: {accel: tcg, qemu: /etc/passwd}\n",
		"no such file":          "backend: vm\nvm: {accel: tcg, kernel: /absent}\n",
	} {
		w.write(config, text)
		if r := w.run("--", "true"); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%q: %s", text, r)
		}
	}
	if _, err := os.Stat("/dev/kvm"); err != nil {
		dir, _ := vmImage()
		w.write(config, "backend: vm\nvm: {kernel: "+dir+"/kernel}\n")
		if r := w.run("--", "true"); r.code == 0 || !strings.Contains(r.err, "accel: tcg") {
			t.Errorf("without KVM: %s", r)
		}
	}
}

// TestStepsByMarksInMachine: programs in a machine of QEMU mark steps.
func TestStepsByMarksInMachine(t *testing.T) {
	t.Parallel()
	inMachines(t, ordinary(t)).marksSteps()
}
