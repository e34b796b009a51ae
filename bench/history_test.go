package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestWriteTreeIsDeterministic(t *testing.T) {
	var first, second bytes.Buffer
	if err := errors.Join(writeTree(&first), writeTree(&second)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two tarballs differ")
	}
	contents := make(map[string]bool)
	for from := tar.NewReader(&first); ; {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		text, err := io.ReadAll(from)
		if err != nil || len(text) < 200 || len(text) > 4096+100 {
			t.Fatalf("%s: %d bytes, %v", h.Name, len(text), err)
		}
		contents[string(text)] = true
	}
	if len(contents) != 3000 {
		t.Errorf("%d different files, want 3000", len(contents))
	}
}

func TestPairs(t *testing.T) {
	off := &contender{took: []took{{10, 30, 20}, {12, 40, 20}, {50, 90, 20}}}
	on := &contender{took: []took{{24, 80, 50}, {24, 80, 50}}}
	broken := &contender{took: []took{{1, 1, 1}}, problem: errors.New("a | b")}
	tb := table{title: "T", unit: "ms", ways: [2]string{wayOff, wayOn},
		pairs: []pair{pairOf("job", off, on), pairOf("bad", off, broken)}}
	if r := tb.pairs[1].ratio(inside); !math.IsNaN(r) {
		t.Errorf("a ratio of what failed: %v", r)
	}
	var b strings.Builder
	tb.write(&b)
	for _, want := range []string{
		"| ms | inside: off | on | ratio | of minima | start to end: off | on | ratio | of minima | CPU: off | on | ratio | of minima |",
		"| job | 12.0 | 24.0 | 2.00x | 2.40x | 40.0 | 80.0 | 2.00x | 2.67x | 20.0 | 50.0 | 2.50x | 2.50x | 2 |  |",
		`| bad | 12.0 | - | - | - | 40.0 | - | - | - | 20.0 | - | - | - | 0 | a \| b |`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

func TestAndLater(t *testing.T) {
	list := andLater([]job{{name: "a", kind: reads}, {name: "b", kind: writes}})
	if len(list) != 3 || list[0].later || list[2].name != "a"+laterOn || !list[2].later {
		t.Errorf("%+v", list)
	}
	if got := kindOf("git status" + laterOn); got != reads {
		t.Errorf("a job later on is of kind %d", got)
	}
}

func TestHistoryVerdicts(t *testing.T) {
	pairOfKind := func(k kind, off, on float64) pair {
		for _, j := range jobs {
			if j.kind == k {
				return pair{name: j.name, ways: [2][]took{{{off, off, off}}, {{on, on, on}}}}
			}
		}
		t.Fatalf("no job of kind %d", k)
		return pair{}
	}
	tb := table{pairs: []pair{pairOfKind(writes, 10, 10), pairOfKind(writes, 10, 40), pairOfKind(unheld, 1, 9), pairOfKind(reads, 100, 104)}}
	tb.pairs[0].floor, tb.pairs[1].floor = []took{{inside: 20}}, []took{{inside: 80}}
	tb.pairs[0].least, tb.pairs[1].least = []took{{inside: 20}}, []took{{inside: 80}}
	tb.historyVerdicts()
	all := strings.Join(tb.verdicts, "\n")
	for _, want := range []string{
		"inside: **4.00x**, to reach 2x: not met", "inside: **1.04x**, to reach 1.05x: met",
		"geometric mean of 2 writing jobs, inside: **2.00x**, to reach 1.4x: not met",
		"geometric mean of 2 writing jobs, CPU: **2.00x**", "the same of minima, inside: 2.00x",
		"inside, floor: 8.00x, a broker's least: 8.00x", "geometric mean of 2 writing jobs, inside, floor: **4.00x**, a broker's least: **4.00x**",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in\n%s", want, all)
		}
	}
	if strings.Contains(all, "9.00x") {
		t.Errorf("a job that is not held to anything is:\n%s", all)
	}
	tb.verdicts, tb.pairs[0].ways[1] = nil, nil
	tb.historyVerdicts()
	if all := strings.Join(tb.verdicts, "\n"); !strings.Contains(all, "geometric mean of 2 writing jobs, inside: not measured") {
		t.Errorf("a mean without one of its jobs:\n%s", all)
	}
}

func TestStateOf(t *testing.T) {
	text := []byte(`{"steps": [{"step": 1}, {"step": 2}], "journals_disk_bytes": 104000000}`)
	if got, err := stateOf(text, 2); err != nil || got != "2 steps and the last run, 104.0 MB of journals" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := stateOf(text, 3); err == nil {
		t.Error("a state of two steps passes for one of three")
	}
	if _, err := stateOf([]byte("no steps"), 0); err == nil {
		t.Error("text passes for a state")
	}
}

func TestMountedIn(t *testing.T) {
	const text = "36 35 98:0 / /mnt/a rw,noatime master:1 - ext3 /dev/root rw\n37 35 98:0 /b /mnt/a/b rw - tmpfs none rw\n"
	for dir, want := range map[string]bool{"/mnt/a": true, "/mnt/a/b": true, "/mnt": false, "/b": false, "": false} {
		if got := mountedIn(text, dir); got != want {
			t.Errorf("%q: %v, want %v", dir, got, want)
		}
	}
}

// TestClockedCountsGrandchildren: the time of a child that was waited for counts.
func TestClockedCountsGrandchildren(t *testing.T) {
	const work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	one, out, err := clocked(t.TempDir(), os.Environ(), []string{"/bin/sh", "-c", "sh -c '" + work + "'; echo done"})
	if err != nil || out != "done\n" {
		t.Fatalf("%q, %v", out, err)
	}
	idle, _, err := clocked(t.TempDir(), os.Environ(), []string{"/bin/sh", "-c", "true"})
	if err != nil || one.cpu <= idle.cpu || one.whole <= 0 {
		t.Errorf("%+v, idle %+v, %v", one, idle, err)
	}
}

func freshBench(t *testing.T) *bench {
	t.Helper()
	f, err := newFixture(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{fixture: f, order: rand.New(rand.NewPCG(1, 2)), rounds: 1, progress: io.Discard}
}

// TestAnew: each run has an empty project with what is prepared, and nothing of
// it is left, whatever fails.
func TestAnew(t *testing.T) {
	b := freshBench(t)
	fs, _ := b.orPlain(ext4)
	list := []*contender{
		{name: "works", prepare: "touch made", argv: []string{"/bin/sh", "-c", "ls; touch more"}},
		{name: "unprepared", prepare: "false", argv: []string{"true"}},
		{name: "broken", argv: []string{"false"}},
	}
	var outs []string
	b.anew("test", fs, 2, list, func(c *contender, _ took, out string) error {
		outs = append(outs, out)
		return nil
	})
	if strings.Join(outs, "") != "made\nmade\n" {
		t.Errorf("the runs saw %q, want the same file each", outs)
	}
	if list[0].problem != nil || list[1].problem == nil || list[2].problem == nil {
		t.Errorf("problems %v, %v, %v", list[0].problem, list[1].problem, list[2].problem)
	}
	for _, path := range []string{b.placeRoot(), b.fixture.root + "/image"} {
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
}

func TestFreshLeavesNothingWhenItFails(t *testing.T) {
	b := freshBench(t)
	if _, err := b.fresh(fileSystem{"nothing", "touch \"$1\"; false"}); err == nil {
		t.Fatal("no error")
	}
	if left, err := filepath.Glob(b.fixture.root + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// fixtureEnv names the directory for the process that TestSignalRemovesEverything starts.
const fixtureEnv = "BENCH_TEST_FIXTURE"

// TestSignalRemovesEverything: a program that is asked to end while it measures
// leaves no mount, no directory and no command.
func TestSignalRemovesEverything(t *testing.T) {
	if parent := os.Getenv(fixtureEnv); parent != "" {
		measureForEver(t, parent)
		return
	}
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestSignalRemovesEverything$")
	cmd.Env = append(os.Environ(), fixtureEnv+"="+parent)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	running := func() []string {
		found, _ := filepath.Glob(parent + "/carrel-bench-*/fresh/p/running")
		return found
	}
	for len(running()) == 0 {
		select {
		case err := <-ended:
			t.Fatalf("it ended before it was asked: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	text, err := os.ReadFile(running()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended as if it had not been asked")
	}
	if left, err := filepath.Glob(parent + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	if strings.Contains(string(mounts), parent) {
		t.Errorf("something is still mounted below %s", parent)
	}
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(text))); err == nil {
		t.Errorf("process %s still runs", text)
	}
}

func measureForEver(t *testing.T, parent string) {
	signal.Reset(syscall.SIGTERM)
	f, err := newFixture(parent, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{fixture: f, order: rand.New(rand.NewPCG(1, 2)), progress: io.Discard}
	b.whenAsked()
	defer b.finish()
	fs, _ := b.orPlain(tmpfs)
	list := []*contender{{name: "sleep", argv: []string{"/bin/sh", "-c", "echo $$ > written; mv written running; exec sleep 60"}}}
	b.anew("test", fs, 1, list, func(*contender, took, string) error { return nil })
}
