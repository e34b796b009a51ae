//go:build linux

package e2e

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// firstProcess gives what the first process in a run's walls was started from.
func (w *world) firstProcess() string {
	w.t.Helper()
	waits := "echo up > up; while [ ! -e " + w.project + "/go ]; do sleep 0.02; done; rm -f up go"
	cmd := w.command(w.bin, "run", "--", "sh", "-c", waits)
	w.must(cmd.Start())
	eventually(w.t, "the command runs", func() bool { return exists(w.project + "/up") })
	found := ""
	pids, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, comm := range pids {
		name, _ := os.ReadFile(comm)
		exe, _ := os.Readlink(filepath.Dir(comm) + "/exe")
		if string(name) == "carrel-stage\n" && strings.HasPrefix(exe, w.base+"/bin/") {
			found += filepath.Base(exe)
		}
	}
	w.must(os.WriteFile(w.project+"/go", nil, 0o666))
	w.must(cmd.Wait())
	return found
}

// TestStageProgram: the first process in the walls is the small program beside carrel, where
// that is of the same build, and changed by those alone who may change carrel.
func TestStageProgram(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("what a process was started from is shown to root alone, where it cannot be traced")
	}
	w := newWorld(t, ordinary(t))
	build, err := buildinfo.ReadFile(w.bin)
	w.must(err)
	small := "carrel-stage"
	if v := build.Main.Version; v == "" || v == "(devel)" || strings.Contains(v, "dirty") {
		small = "carrel" // what was built from changed files is not known to be the same
	}
	beside := w.base + "/bin/carrel-stage"
	if got := w.firstProcess(); got != small {
		t.Errorf("started from %q, want %q", got, small)
	}
	w.must(os.Remove(beside))
	w.must(copyFile(w.base+"/bin/carrel", beside, 0o755))
	if got := w.firstProcess(); got != "carrel" {
		t.Errorf("another program by that name: started from %q", got)
	}
	w.must(os.Remove(beside))
	w.must(copyFile(filepath.Dir(built.carrel)+"/carrel-stage", beside, 0o777))
	if got := w.firstProcess(); got != "carrel" {
		t.Errorf("one that everybody may change: started from %q", got)
	}
	w.must(os.Remove(beside))
	w.symlink(filepath.Dir(built.carrel)+"/carrel-stage", beside)
	if got := w.firstProcess(); got != "carrel" {
		t.Errorf("a link: started from %q", got)
	}
	w.must(os.Remove(beside))
	if got := w.firstProcess(); got != "carrel" {
		t.Errorf("without it: started from %q", got)
	}
}

// TestStageProgramStays: carrel in a project, where programs inside could put another first
// process beside it.
func TestStageProgramStays(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		for _, name := range []string{"carrel", "carrel-stage"} {
			w.must(copyFile(filepath.Dir(built.carrel)+"/"+name, w.project+"/"+name, 0o755))
			w.own(w.project + "/" + name)
		}
		own := w.project + "/carrel"
		tries := "for f in carrel carrel-stage carrel-file other; do echo x > $f; ln -s / $f; done 2>/dev/null;" +
			"echo y > new; mv new carrel-stage 2>/dev/null; echo done"
		before := w.read(w.project + "/carrel-stage")
		if r := w.plain(own, "run", "--", "sh", "-c", tries); r.code != 0 || !exists(w.project+"/other") {
			t.Fatalf("canary: nothing was written: %s", r)
		}
		if w.read(w.project+"/carrel-stage") != before {
			t.Error("the program beside carrel was changed")
		}
		w.must(os.Remove(w.project + "/carrel-stage"))
		if r := w.plain(own, "run", "--", "sh", "-c", tries); r.code != 0 {
			t.Fatalf("%s", r)
		}
		if exists(w.project+"/carrel-stage") || exists(w.project+"/carrel-file") {
			t.Error("a program was put beside carrel")
		}
	})
}

// sameBuild says whether two programs say that they are of one build.
func (w *world) sameBuild(a, b string) bool {
	w.t.Helper()
	one, err := buildinfo.ReadFile(a)
	w.must(err)
	other, err := buildinfo.ReadFile(b)
	w.must(err)
	v := one.Main.Version
	return v != "" && v != "(devel)" && !strings.Contains(v, "dirty") && v == other.Main.Version && slices.Equal(one.Settings, other.Settings)
}

// TestFileProgram: the small program beside carrel carries out the requests of file tools, where
// it is of the same build, and does what carrel does.
func TestFileProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[1])
	beside := w.base + "/bin/carrel-file"
	build := exec.Command("go", "build", "-o", beside, "carrel/cmd/carrel-file")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w.must(os.Chmod(beside, 0o755))
	want := "the program\n"
	if !w.sameBuild(w.bin, beside) {
		want = "/run/carrel/bin/carrel\n"
	}
	s := w.stays("small")
	if got := s.sh("readlink /run/carrel/bin/carrel-file || echo the program"); got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	if a := s.tool("write_file", `{"path":"new","content":"made\n"}`); !a.Answer.Created || w.read(w.project+"/new") != "made\n" {
		t.Errorf("write: %+v", a)
	}
	if a := s.tool("read_file", `{"path":"new"}`); a.Answer.Content != "made\n" {
		t.Errorf("read: %+v", a)
	}
	if got := s.sh("echo x > /run/carrel/bin/carrel-file && echo written || echo refused"); got != "refused\n" {
		t.Errorf("the program inside: %q", got)
	}
	w.must(os.Chmod(beside, 0o777))
	other := w.stays("other")
	if got := other.sh("readlink /run/carrel/bin/carrel-file"); got != "/run/carrel/bin/carrel\n" {
		t.Errorf("one that everybody may change: %q", got)
	}
}
