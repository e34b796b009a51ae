//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// withoutMachine has Lima know no machine of a world any more, as after limactl delete.
func (p *pageWorld) withoutMachine() {
	p.t.Helper()
	_ = exec.Command("pkill", "-KILL", "-f", p.base+"/limactl/mounts.py").Run() // which keeps machines
	dirs, _ := filepath.Glob(p.base + "/lima/carrel-*")
	for _, dir := range dirs {
		p.must(os.RemoveAll(dir))
	}
}

// TestKilledWhileItStarts ends supervisors by SIGKILL at moments all over a start, that of the machine's
// first one too: no container, engine, limactl and command is left, and the next start works.
func TestKilledWhileItStarts(t *testing.T) {
	eachBox(t, func(t *testing.T, w *pageWorld) {
		w.set("network: closed\n")
		began := time.Now()
		w.sh("true")
		whole := time.Since(began)
		marked := "sleep 301." + w.number()
		tries := often(6, 60)
		for i := range tries {
			if w.name == limaColumn {
				w.withoutMachine()
			}
			cmd := w.command(w.bin, "run", "--", "bash", "-c", marked)
			w.must(cmd.Start())
			after := whole * time.Duration(i) / time.Duration(tries)
			time.Sleep(after)
			w.must(syscall.Kill(cmd.Process.Pid, syscall.SIGKILL))
			_ = cmd.Wait()
			if r := w.run("--", "echo", "works"); r.code != 0 || r.out != "works\n" {
				t.Errorf("the next after a kill at %s of %s: %s", after, whole, r)
			}
		}
		for _, what := range []string{marked, w.base + "/limactl/limactl (create|start|shell)", w.base + "/bin/carrel-gvisor"} {
			eventually(t, what+" is gone", func() bool { return exec.Command("pgrep", "-f", what).Run() != nil })
		}
		if w.name != containerColumn {
			return
		}
		namedContainers.gone(w.world, 10*time.Second)
		left, err := os.ReadDir(w.home + "/.local/state/carrel/containers")
		if err != nil || len(left) > 0 {
			t.Errorf("left in the state directory: %v %v", left, err)
		}
	})
}

// fill takes all space of a file system until the given function is called.
func (p *pageWorld) fill(dir string) (empty func()) {
	p.t.Helper()
	at := filepath.Join(dir, "full")
	f, err := os.Create(at)
	p.must(err)
	defer f.Close()
	for _, size := range []int{64 << 10, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			p.t.Fatalf("filling %s: %v", dir, err)
		}
	}
	return func() { p.must(os.Remove(at)) }
}

// TestFullDiskWhileItStarts: where a disk is full that a start takes, the message says so and what to do,
// nothing is left, and the next start works.
func TestFullDiskWhileItStarts(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting takes root")
	}
	eachBox(t, func(t *testing.T, w *pageWorld) {
		w.set("network: closed\n")
		places := []string{w.home + "/.local/state"}
		w.mount("tmpfs", places[0], "mode=0700,size=8m") // podman without root sees no mount that comes later
		switch w.name {
		case limaColumn:
			w.withoutMachine()
			w.mount("tmpfs", w.base+"/lima", "mode=0755,size=64k")
			places = append(places, w.base+"/lima")
		case containerColumn:
			own := &containers{engine: "podman", who: w.who}
			w.mount("tmpfs", w.base+"/p", "size=120m,mode=0700")
			w.must(own.configurePodman(w.base + "/p"))
			defer func() { _, _ = own.tell("system", "reset", "--force") }()
			archive, err := smallTar()
			w.must(err)
			_, err = own.tell("import", archive, smallImage)
			w.must(err)
			for _, e := range append(own.env, "XDG_RUNTIME_DIR="+w.base+"/p") {
				name, value, _ := strings.Cut(e, "=")
				w.setenv(name, value)
			}
			places = append(places, w.base+"/p")
		}
		for _, dir := range places {
			w.sh("true") // what it makes once is there
			if w.name == limaColumn {
				w.withoutMachine()
			}
			empty := w.fill(dir)
			r := w.run("--", "touch", "started")
			if r.code == 0 || !strings.Contains(strings.ToLower(r.err), "no space left") || exists(w.project+"/started") {
				t.Errorf("%s is full: %s", dir, r)
			}
			empty()
			if r := w.run("--", "echo", "works"); r.code != 0 || r.out != "works\n" {
				t.Errorf("%s has space again: %s", dir, r)
			}
		}
	})
}
