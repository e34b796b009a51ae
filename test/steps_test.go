//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestStepsByMarks: what a program inside says begins and ends steps; a
// descriptor that stays open writes into whatever step there is, and each can be
// taken back by itself.
func TestStepsByMarks(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "1\n")
		w.sh(program("steps/steps_by_marks.bash"))
		list := w.steps()
		var labels []string
		for _, s := range list {
			labels = append(labels, s.Label)
		}
		if got := strings.Join(labels, "|"); got != "first|second||third" {
			t.Fatalf("steps: %q", got)
		}
		for _, want := range []string{"a=2 log=one+two b=", "a=2 log=one b=", "a=2 log= b=", "a=1 log= b="} {
			if r := w.plain(w.bin, "undo"); r.code != 0 {
				t.Fatalf("undo: %s", r)
			}
			got := w.outsideSh(`echo "a=$(cat a) log=$(test -e log && paste -sd+ log) b=$(test -e b && cat b)"`)
			if got != want+"\n" {
				t.Errorf("after undo: %q, want %q", got, want)
			}
		}
	})
}

// TestMarksAreOnlyMarks: a flood of them makes no steps and holds nobody up, and
// outside there is nothing to mark.
func TestMarksAreOnlyMarks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("python3")
	r := w.run(append(historyOn, "--", "sh", "-c", `echo 1 > a; python3 -c "$0"; echo 2 > a`, program("steps/marks.py"))...)
	if n, err := strconv.Atoi(strings.TrimSpace(r.out)); err != nil || n < 20 || n > 40 {
		t.Errorf("of 60 marks were refused: %s", r)
	}
	if got := w.steps(); len(got) > 2 {
		t.Errorf("60 marks and two changes made %d steps", len(got))
	}
	if r := w.plain(w.bin, "step", "begin"); r.code != 125 || !strings.Contains(r.err, "inside") {
		t.Errorf("outside: %s", r)
	}
}

// unreadable makes a file in the project that its person may remove and not
// read, so that nothing can keep it.
func (w *world) unreadable(name string) {
	w.t.Helper()
	at := w.write(w.project+"/"+name, "precious")
	w.must(os.Chown(at, 4711, 4711))
	w.must(os.Chmod(at, 0))
}

type waits struct{ ID, Subject, Reason, Workspace string }

// held waits until something waits for an answer.
func (w *world) held() waits {
	w.t.Helper()
	var list []waits
	eventually(w.t, "an operation to wait", func() bool {
		r := w.plain(w.bin, "approvals", "--json")
		return json.Unmarshal([]byte(r.out), &list) == nil && len(list) == 1
	})
	return list[0]
}

// TestWhatCannotBeKeptIsHeld: nothing is destroyed that undo could not bring
// back, unless a person says so; meanwhile the workspace stands still.
func TestWhatCannotBeKeptIsHeld(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.unreadable("f")
		cmd, one := w.desk("--", "sh", "-c", "sleep 2003 & rm -f f; echo $? > status; kill $!")
		ask := w.held()
		if ask.Subject != w.project+"/f" || ask.Workspace != one.ID || !strings.Contains(ask.Reason, "read") {
			t.Errorf("asked: %+v", ask)
		}
		if got := w.ps(); len(got) != 1 || got[0].State != "paused" || states(cmd.Process.Pid)["2003"] != 'T' {
			t.Errorf("meanwhile: %+v %q", got, states(cmd.Process.Pid))
		}
		if r := w.plain(w.bin, "deny", ask.ID); r.code != 0 {
			t.Fatalf("deny: %s", r)
		}
		_ = cmd.Wait()
		if got := w.read(w.project + "/status"); got != "1\n" {
			t.Errorf("rm ended with %q", got)
		}
		if st, err := os.Stat(w.project + "/f"); err != nil || st.Size() != int64(len("precious")) {
			t.Errorf("the file: %v %v", st, err)
		}
		if r := w.plain(w.bin, "denials"); !strings.Contains(r.out, "undo could not bring it back") {
			t.Errorf("denials: %s", r)
		}
	})
}

// TestDenyAndRollBack: the step of what was refused is taken back, and whoever
// made it is gone.
func TestDenyAndRollBack(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.unreadable("f")
		w.write(w.project+"/a", "as it was\n")
		cmd, one := w.desk("--", "sh", "-c", "trap '' TERM; echo other > a; mkdir made; rm -f f; echo late > made/late; sleep 2004")
		r := w.plain(w.bin, "deny", w.held().ID, "--rollback")
		if r.code != 0 || !strings.Contains(r.out, "stopped "+one.ID) || !strings.Contains(r.out, "restored  a\n") {
			t.Fatalf("deny --rollback: %s", r)
		}
		_ = cmd.Wait()
		if got := w.outsideSh("ls; cat a"); got != "a\nf\nas it was\n" {
			t.Errorf("afterwards: %q", got)
		}
	})
}

// TestKilledRunIsFound: the next command tells of the step of a run whose
// supervisor was killed, and takes it back.
func TestKilledRunIsFound(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "as it was\n")
		cmd := w.command(w.bin, "run", "--", "sh", "-c", "rm a; mkdir d; echo x > d/x; mv d e; echo > ready; sleep 2005")
		w.must(cmd.Start())
		eventually(t, "the changes to be made", func() bool { return exists(w.project + "/ready") })
		w.must(cmd.Process.Signal(syscall.SIGKILL))
		_ = cmd.Wait()
		r := w.plain(w.bin, "history")
		if r.code != 0 || !strings.Contains(r.err, "was interrupted") || !strings.Contains(r.out, "interrupted") {
			t.Errorf("history: %s", r)
		}
		if r := w.plain(w.bin, "undo"); r.code != 0 {
			t.Fatalf("undo: %s", r)
		}
		if got := w.outsideSh("ls; cat a"); got != "a\nas it was\n" {
			t.Errorf("afterwards: %q", got)
		}
	})
}

// TestBursts: what a person or an agent does at a terminal becomes a step when it
// has been quiet for a while.
func TestBursts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("script", "python3")
	body := w.script(w.base+"/tool/burst.py", "#!/usr/bin/python3\nimport time\nopen('a', 'w').write('1\\n'); time.sleep(4); open('a', 'w').write('2\\n')\n")
	cmd := w.command("script", "-qec", w.bin+" run --read "+body+" -- python3 "+body, "/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list := w.steps()
	if len(list) != 2 || list[0].Added != 1 || list[1].Modified != 1 {
		t.Fatalf("steps: %+v", list)
	}
	if r := w.plain(w.bin, "undo", "--to", strconv.FormatUint(list[0].Step, 10)); r.code != 0 || w.read(w.project+"/a") != "1\n" {
		t.Errorf("undo: %s", r)
	}
	if w.run("--read", body, "--", "python3", body); len(w.steps()) != 3 {
		t.Errorf("without a terminal a run is one step: %+v", w.steps())
	}
}

// TestSafeguards: beyond a bound of the user's the step is told of, or held; what
// is always asked for is held at once. What the step made itself does not count.
func TestSafeguards(t *testing.T) {
	const many = "for i in $(seq 8); do echo $i > f$i; done"
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh(many)
		config := w.home + "/.config/carrel/config.yaml"
		w.write(config, "safeguards: {removed_files: 5}\n")
		r := w.run("--", "sh", "-c", "mkdir d; cd d; "+many+"; cd ..; rm -r d; rm f1 f2 f3 f4 f5; echo told")
		if r.code != 0 || strings.Contains(r.err, "safeguard") {
			t.Errorf("five of five: %s", r)
		}
		w.outsideSh(many)
		r = w.run("--", "sh", "-c", "rm f*; ls")
		if r.code != 0 || !strings.Contains(r.err, "more than 5 files removed") || strings.Contains(r.out, "f8") {
			t.Errorf("notified: %s", r)
		}
		w.outsideSh(many)
		w.write(config, "safeguards: {removed_files: 5, then: ask}\n")
		cmd, _ := w.desk("--", "sh", "-c", "rm -f f*; ls > left")
		if ask := w.held(); !strings.Contains(ask.Reason, "more than 5 files removed") {
			t.Errorf("asked: %+v", ask)
		}
		if r := w.plain(w.bin, "deny", w.held().ID); r.code != 0 {
			t.Errorf("deny: %s", r)
		}
		_ = cmd.Wait()
		if got := strings.Count(w.read(w.project+"/left"), "f"); got != 4 {
			t.Errorf("%d files left of the name, want left, the one that was refused and those after it", got)
		}
		w.outsideSh(many)
		w.write(config, "safeguards: {always_ask: ['*3'], answer_within: 1s}\n")
		r = w.run("--", "sh", "-c", "rm f1 f2 || echo no; rm -f f3; echo x >> f3; echo x > f4; mv f5 f3; cat f3; rm -f f6; ls")
		if !strings.Contains(r.out, "3\n") || strings.Contains(r.out, "no") || strings.Contains(r.out, "f6") || strings.Count(r.err, "always_ask") < 3 {
			t.Errorf("always asked for, and nobody answers: %s", r)
		}
	})
}

// TestSafeguardsHoldInSlices: what a command says about the ends of its steps, and
// pauses between them, do not begin the bounds anew.
func TestSafeguardsHoldInSlices(t *testing.T) {
	t.Parallel()
	const slices = "for i in $(seq 8); do /run/carrel/bin/carrel step begin --label s$i; rm -f f$i; /run/carrel/bin/carrel step end; sleep 0.1; done; ls"
	w := newWorld(t, ordinary(t))
	config := w.home + "/.config/carrel/config.yaml"
	w.outsideSh("for i in $(seq 8); do echo $i > f$i; done")
	w.write(config, "safeguards: {removed_files: 5, then: ask, answer_within: 1s}\n")
	r := w.run("--", "sh", "-c", slices)
	if r.out != "f6\nf7\nf8\n" || !strings.Contains(r.err, "more than 5 files removed") {
		t.Errorf("asked, and nobody answers: %s", r)
	}
	w.outsideSh("for i in $(seq 8); do echo $i > f$i; done")
	w.write(config, "safeguards: {removed_files: 2}\n")
	r = w.run("--", "sh", "-c", slices)
	if r.out != "" || strings.Count(r.err, "files removed") != 2 {
		t.Errorf("told of every three: %s", r)
	}
	w.outsideSh("for i in $(seq 8); do echo $i > f$i; done")
	w.write(config, "safeguards: {overwritten_bytes: 8, then: ask, answer_within: 1s}\n")
	r = w.run("--", "sh", "-c", strings.ReplaceAll(slices, "rm -f f$i", "echo x >> f$i")+"; cat f*")
	if !strings.HasSuffix(r.out, "1\nx\n2\nx\n3\nx\n4\nx\n5\n6\n7\n8\n") {
		t.Errorf("overwritten in slices: %s", r)
	}
}

// TestAlwaysAskedByAnotherName: what is asked for is not destroyed unasked under a
// name that it was given before.
func TestAlwaysAskedByAnotherName(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for name, c := range map[string]struct {
			do   string
			asks int
		}{
			"renamed":                         {"mv a.key x; rm -f x", 1},
			"linked":                          {"ln a.key x; echo junk > x", 1},
			"exchanged":                       {"echo junk > x; python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\"x\", -100, b\"a.key\", 2) == 0)'", 1},
			"its directory renamed":           {"mv d e; rm -rf e/f", 1},
			"its directory exchanged":         {"mkdir e; python3 -c 'import ctypes; exit(ctypes.CDLL(None).renameat2(-100, b\"e\", -100, b\"d\", 2) == 0)'", 1},
			"its directory moved into others": {"mkdir e; mv d e/; rm -rf e/d/f", 1},
			"removed as it is":                {"rm -rf d", 1},
			"what may be":                     {"mv plain x; mv empty e; mv e empty; rm -rf empty; ln x y; rm x", 0},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, p)
				w.need("python3")
				w.outsideSh("mkdir -p d/f empty/g; echo secret > a.key; echo deep > d/f/b.key; echo other > d/f/c; echo p > plain")
				w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {always_ask: ['**/*.key', 'd/f/c'], answer_within: 300ms}\n")
				r := w.run("--", "sh", "-c", c.do)
				if asks := strings.Count(r.err, "always_ask"); asks < c.asks || c.asks == 0 && (asks > 0 || r.code != 0) {
					t.Errorf("asked %d times: %s", asks, r)
				}
				if got := w.outsideSh("cat a.key d/f/b.key"); got != "secret\ndeep\n" {
					t.Errorf("afterwards: %q", got)
				}
			})
		}
	})
}
