//go:build linux

package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving is what a server in the background does: it writes into the project all
// the time, by programs of its own, and keeps a log open.
const serving = `exec 5>> log; n=0; while :; do n=$((n+1)); echo line $n >&5; mkdir -p dist; sh -c "echo $n > dist/part; mv dist/part dist/page"; echo $n > n; sleep 0.1; done`

// inSteps are words for scripts inside: marks, and waiting for a server's work.
const inSteps = `set -e; m() { /run/carrel/bin/carrel step "$@"; }
served() { for i in $(seq 200); do test "$(cat n 2>/dev/null || echo 0)" -ge "$1" && return; sleep 0.05; done; echo "the server does nothing: $(cat n)"; exit 1; }
more() { served $(( $(cat n) + 3 )); }
`

// byLabel finds the steps whose label begins with a text.
func byLabel(list []toldStep, label string) (out []toldStep) {
	for _, s := range list {
		if strings.HasPrefix(s.Label, label) {
			out = append(out, s)
		}
	}
	return out
}

// pathsOf gives the paths of a step, in the project.
func (w *world) pathsOf(step uint64) (out []string) {
	w.t.Helper()
	for _, line := range strings.Split(w.fine("show", strconv.FormatUint(step, 10)), "\n") {
		if words := strings.Fields(line); len(words) == 2 && slices.Contains([]string{"A", "M", "D", "R", "mode"}, words[0]) {
			out = append(out, words[1])
		}
	}
	return out
}

// background are ways to leave something behind in a step: how it is started, and
// what the job is called.
var background = []struct{ name, start, label string }{
	{"in a subshell", `(bash server.sh) &`, "job: bash server.sh"},
	{"with a program before it", `nohup env A=b bash server.sh > /tmp/out 2>&1 &`, "job: bash server.sh"},
	{"a daemon", `(setsid sh -c 'bash server.sh < /dev/null > /tmp/out 2>&1 & exit') ; sleep 0.1`, "job: bash server.sh"},
	{"a daemon of a daemon", "python3 -c '" + program("steps_jobs/a_daemon_of_a_daemon.py") + "'; sleep 0.1", "job: bash server.sh"},
	{"a child of what is left", `(trap "" HUP; bash server.sh; :) &`, "job: bash -c "},
}

// TestJobs: what a step has left running has a step of its own, and either is
// taken back without the other.
func TestJobs(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, way := range background {
			t.Run(way.name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, p)
				w.need("python3")
				w.write(w.project+"/a", "as it was\n")
				w.write(w.project+"/server.sh", "until test -e /tmp/go; do sleep 0.02; done; "+serving)
				w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0)))
				before := w.scene()
				w.sh(inSteps + "m begin --label start; " + way.start + "\nm end; touch /tmp/go; served 3\n" +
					"m begin --label edit; echo edited > a; more; echo new > b; m end; more")
				w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0)))
				after := w.scene()

				list := w.steps()
				edit, job := byLabel(list, "edit"), byLabel(list, way.label)
				if len(list) != 2 || len(edit) != 1 || len(job) != 1 || job[0].Kind != "job" || edit[0].Kind != "run" {
					t.Fatalf("steps: %+v", list)
				}
				if got := w.pathsOf(edit[0].Step); !slices.Equal(got, []string{"a", "b"}) {
					t.Errorf("the edit has %q", got)
				}
				got := slices.DeleteFunc(w.pathsOf(job[0].Step), func(p string) bool { return p == "dist/part" }) // the end of the run may find it
				if !slices.Equal(got, []string{"dist/", "dist/page", "log", "n"}) {
					t.Errorf("the job has %q", got)
				}
				if r := w.fine("history"); !strings.Contains(r, way.label) {
					t.Errorf("history: %s", r)
				}
				for _, order := range [][]uint64{{edit[0].Step, job[0].Step}, {job[0].Step, edit[0].Step}} {
					for i, step := range order {
						w.fine("undo", "--step", strconv.FormatUint(step, 10))
						got := w.outsideSh("cat a; ls")
						want := map[uint64]string{edit[0].Step: "as it was\na\ndist\nlog\nn\nserver.sh\n", job[0].Step: "edited\na\nb\nserver.sh\n"}[step]
						w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0))) // new where two steps have changed names beside each other
						if i == 0 && got != want {
							t.Errorf("after undo of %d: %q, want %q", step, got, want)
						}
					}
					w.isAgain("after both were taken back", before)
					w.fine("redo", "2")
					w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0)))
					w.isAgain("after both were made again", after)
				}
			})
		}
	})
}

// TestJobsEnd: a job that is gone has a closed step while the run goes on, with
// bursts of its own; what is started later in the same session is no part of it.
func TestJobsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", `until test -e /tmp/go; do sleep 0.02; done; echo 1 > out; sleep 4; echo 2 > out; sleep 0.3`)
	w.sh(inSteps + `m begin; bash server.sh & m end; touch /tmp/go; wait; sleep 2
m begin --label edit; echo x > a; m end; echo y > out`)
	list := w.steps()
	var told []string
	for _, s := range list {
		told = append(told, fmt.Sprintf("%s %s %d+%d", s.Kind, s.Label, s.Added, s.Modified))
	}
	if got := strings.Join(told, "|"); got != "job job: bash server.sh 1+0|job job: bash server.sh 0+1|run edit 1+0|run  0+1" {
		t.Errorf("steps: %s", got)
	}
	for _, want := range []string{"2\n", "2\n", "1\n"} {
		if r := w.plain(w.bin, "undo"); r.code != 0 || w.read(w.project+"/out") != want {
			t.Errorf("undo: %s, %q", r, w.read(w.project+"/out"))
		}
	}
}

// TestJobsOfAWorkspace: what is open and what is over while the run goes on, and
// that nothing is taken back meanwhile.
func TestJobsOfAWorkspace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", "until test -e /tmp/go; do sleep 0.02; done; echo 1 > $1; $2")
	cmd, _ := w.desk("--", "bash", "-c", inSteps+"m begin; bash server.sh short true & bash server.sh long 'sleep 2009' & m end; touch /tmp/go; sleep 2010")
	states := func() string {
		list := w.steps()
		slices.SortFunc(list, func(a, b toldStep) int { return strings.Compare(a.Label, b.Label) })
		var out []string
		for _, s := range list {
			out = append(out, s.Label+" "+s.State)
		}
		return strings.Join(out, "|")
	}
	eventually(t, "the short one to be over", func() bool {
		return states() == "job: bash server.sh long sleep 2009 running|job: bash server.sh short true done"
	})
	if r := w.plain(w.bin, "undo", "--step", "1"); r.code != 125 || !strings.Contains(r.err, "is running") {
		t.Errorf("undo meanwhile: %s", r)
	}
	eventually(t, "the other's burst to be over", func() bool { return strings.Count(states(), "done") == 2 })
	w.must(cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	w.fine("undo", "2")
	if got := w.outsideSh("ls"); got != "server.sh\n" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestJobsThatNeverRest: what a program is about to change while its step ends is
// the job's already.
func TestJobsThatNeverRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", `while :; do echo > served; done`)
	w.sh(inSteps + `for i in 1 2 3 4 5; do m begin --label start; bash server.sh & m end; sleep 0.1; m begin --label edit; echo > a$i; m end; kill $!; wait || :; sleep 1; done`)
	edits := 0
	for _, s := range w.steps() {
		got := w.pathsOf(s.Step)
		switch {
		case s.Kind == "run" && s.Label == "edit":
			if edits++; len(got) != 1 || got[0] != fmt.Sprint("a", edits) {
				t.Errorf("edit %d has %q", edits, got)
			}
		case s.Kind == "run" && s.Label != "start", s.Kind == "job" && !slices.Equal(got, []string{"served"}):
			t.Errorf("%+v: %q", s, got)
		}
	}
	if edits != 5 {
		t.Errorf("%d edits", edits)
	}
}

// TestJobsWithMuchOpen: nothing is copied again and again for the bursts of a job
// that keeps a large file open.
func TestJobsWithMuchOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", `until test -e /tmp/go; do sleep 0.02; done; exec 7>> big; head -c 17000000 /dev/zero >&7; echo 1 > out; sleep 4; echo 2 > out; sleep 4; echo 3 > out; sleep 0.2`)
	w.sh(inSteps + `m begin; bash server.sh & m end; touch /tmp/go; wait`)
	if list := w.steps(); len(list) != 1 || list[0].Kind != "job" || list[0].Added != 2 || list[0].Kept != 0 {
		t.Errorf("steps: %+v", list)
	}
}

// TestManyJobs: more jobs than are kept apart, and a job that starts a thousand
// programs whose parents are gone at once.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", `until test -e /tmp/go; do sleep 0.1; done; echo 1 > by$1; sleep 60`)
	w.sh(inSteps + `m begin; for i in $(seq 40); do bash server.sh $i & done; m end
m begin --label edit; touch /tmp/go; echo x > a; for i in $(seq 40); do until test -e by$i; do sleep 0.05; done; done; m end; kill $(jobs -p); wait || :`)
	list := w.steps()
	if edit := byLabel(list, "edit"); len(edit) != 1 || edit[0].Added != 1 || len(byLabel(list, "job: bash server.sh")) != 32 || len(list) != 33 {
		t.Errorf("40 jobs: %+v", list)
	}
	w.write(w.project+"/many.sh", `until test -e /tmp/go; do sleep 0.02; done; sleep 1; for i in $(seq 1000); do (sh -c "echo $i > made/$i" &); done; sleep 0.5; echo > made/all; sleep 60`)
	w.sh(inSteps + `mkdir made; m begin; setsid bash many.sh & m end; touch /tmp/go; m begin --label edit; until test -e made/all; do sleep 0.1; done; echo y > a; m end; kill -- -$!; wait || :`)
	list = w.steps()
	if edit, job := byLabel(list, "edit"), byLabel(list, "job: bash many.sh"); len(edit) != 2 || edit[1].Modified != 1 || edit[1].Added != 0 || len(job) == 0 || job[0].Added != 1001 {
		t.Errorf("1,000 programs: %+v", list)
	}
}

// TestRollBackOfAJob: what is refused to a job takes back the job's step and
// nobody else's; and a step of the run leaves the job's.
func TestRollBackOfAJob(t *testing.T) {
	t.Parallel()
	for who, c := range map[string]struct{ then, left string }{
		"the job":  {`touch /tmp/go; sleep 2006`, "a\nf\nserver.sh\nedited\n"},
		"the step": {`touch /tmp/go; served 2; rm -f f; sleep 2006`, "a\nf\nn\nserver.sh\nas it was\n"},
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.unreadable("f")
			w.write(w.project+"/a", "as it was\n")
			server := "echo 1 > n; rm -f f; sleep 2007"
			if who == "the step" {
				server = "echo 1 > n; echo 2 > n; sleep 2007"
			}
			w.write(w.project+"/server.sh", "until test -e /tmp/go; do sleep 0.02; done; "+server)
			cmd, one := w.desk("--", "bash", "-c", inSteps+"m begin; bash server.sh & m end; m begin --label edit; echo edited > a; "+c.then)
			r := w.plain(w.bin, "deny", w.held().ID, "--rollback")
			if r.code != 0 || !strings.Contains(r.out, "stopped "+one.ID) {
				t.Fatalf("deny --rollback: %s", r)
			}
			_ = cmd.Wait()
			if got := w.outsideSh("ls; cat a"); got != c.left {
				t.Errorf("afterwards: %q, want %q", got, c.left)
			}
		})
	}
}

// TestJobsOfAKilledRun: the steps of the run and of its jobs are found by the next
// command, and each is taken back by itself.
func TestJobsOfAKilledRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/a", "as it was\n")
	w.write(w.project+"/server.sh", "until test -e /tmp/go; do sleep 0.02; done; "+serving)
	w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0)))
	before := w.scene()
	cmd := w.command(w.bin, "run", "--", "bash", "-c", inSteps+"m begin; bash server.sh & m end; touch /tmp/go; served 2; m begin --label edit; echo edited > a; more; mkdir ready; sleep 2008")
	w.must(cmd.Start())
	eventually(t, "the changes to be made", func() bool { return exists(w.project + "/ready") })
	w.must(cmd.Process.Kill())
	_ = cmd.Wait()
	r := w.plain(w.bin, "history")
	if r.code != 0 || strings.Count(r.err, "was interrupted") != 2 || !strings.Contains(r.out, "job: bash server.sh") {
		t.Errorf("history: %s", r)
	}
	edit := byLabel(w.steps(), "edit")
	if len(edit) != 1 {
		t.Fatalf("steps: %+v", w.steps())
	}
	w.fine("undo", "--step", strconv.FormatUint(edit[0].Step, 10))
	if got := w.outsideSh("cat a; ls"); got != "as it was\na\ndist\nlog\nn\nserver.sh\n" {
		t.Errorf("after undo of the edit: %q", got)
	}
	w.fine("undo")
	w.must(os.Chtimes(w.project, time.Time{}, time.Unix(1e9, 0)))
	w.isAgain("after undo of both", before)
}

// TestBurstsAndJobs: at a terminal, what is in the background when a burst ends
// becomes a job; what is in the foreground does not.
func TestBurstsAndJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", `sleep 17; echo 1 > by-$1; sleep 60`)
	w.write(w.project+"/front.sh", `until test -e by-daemon -a -e by-background; do sleep 0.1; done; echo x > b`)
	tm := w.openTerminal(w.command(w.bin, "run", "--", "bash", "--norc", "-i"))
	tm.send("setsid -f bash server.sh daemon; bash server.sh background & echo 1 > a; bash front.sh; kill %1; exit\r")
	if code := tm.wait(); code != 0 {
		t.Fatalf("status %d: %s", code, tm.all())
	}
	told := make(map[string]string)
	for _, s := range w.steps() {
		told[strings.Join(w.pathsOf(s.Step), " ")] = s.Kind + " " + s.Label
	}
	want := map[string]string{"a": "run ", "b": "run ", "by-daemon": "job job: bash server.sh daemon", "by-background": "job job: bash server.sh background"}
	if !maps.Equal(told, want) {
		t.Errorf("steps: %q, want %q", told, want)
	}
}

// TestJobsKeepWriting: what is written by a descriptor or a mapping from the time
// when there was no job yet belongs to the job, if nobody else can write there.
func TestJobsKeepWriting(t *testing.T) {
	t.Parallel()
	const waits = `touch /tmp/ready; until test -e /tmp/go; do sleep 0.02; done`
	for name, c := range map[string]struct{ server, want string }{
		"a descriptor":      {`bash -c 'exec 5>> log; echo one >&5; ` + waits + `; echo two >&5; touch /tmp/two; sleep 60' &`, "start:log|job:log|edit:a"},
		"a mapping":         {"python3 -c '" + program("steps_jobs/a_mapping.py") + "' &", "start:log|job:log|edit:a"},
		"somebody else too": {`exec 6>> log; bash -c 'echo one >&6; ` + waits + `; echo two >&6; touch /tmp/two; sleep 60' &`, "start:log|edit:a log"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("python3")
			w.sh(inSteps + "m begin --label start; " + c.server + "\nuntil test -e /tmp/ready; do sleep 0.02; done; m end\n" +
				"m begin --label edit; touch /tmp/go; until test -e /tmp/two; do sleep 0.02; done; echo x > a; m end; kill %1")
			var told []string
			for _, s := range w.steps() {
				label, _, _ := strings.Cut(s.Label, ":")
				told = append(told, label+":"+strings.Join(w.pathsOf(s.Step), " "))
			}
			if got := strings.Join(told, "|"); got != c.want {
				t.Errorf("steps: %s, want %s", got, c.want)
			}
			if name == "somebody else too" {
				return
			}
			w.fine("undo", "--step", "2")
			if got := strings.Fields(w.outsideSh("cat log a")); !slices.Equal(got, []string{"one", "x"}) {
				t.Errorf("without the job: %q", got)
			}
			w.fine("undo")
			w.fine("undo")
			if got := w.outsideSh("ls"); got != "" {
				t.Errorf("without any: %q", got)
			}
		})
	}
}

// TestNamesOfJobs: a job is called what its process says, whatever that is.
func TestNamesOfJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.write(w.project+"/server.sh", "echo > /tmp/up.$1; until test -e /tmp/go; do sleep 0.02; done; echo > $1; sleep 60")
	w.sh(inSteps + `m begin
(exec -a $'evil\e[31m\n\xff\t' bash server.sh 1) & (exec -a '' bash server.sh 2) & bash server.sh 3 $(seq 100000 110000) &
for i in 1 2 3; do until test -e /tmp/up.$i; do sleep 0.02; done; done; m end
touch /tmp/go; for i in 1 2 3; do until test -e $i; do sleep 0.02; done; done; kill $(jobs -p)`)
	var told []string
	for _, s := range w.steps() {
		told = append(told, w.pathsOf(s.Step)[0]+" "+s.Label)
	}
	slices.Sort(told)
	if len(told) != 3 || !strings.HasPrefix(told[0], "1 job: evil\x1b[31m\n\ufffd\t server.sh 1") || !strings.HasPrefix(told[1], "2 job:  server.sh 2") ||
		!strings.HasPrefix(told[2], "3 job: bash server.sh 3 100000 100001") || len(told[2]) != 2+200 {
		t.Errorf("steps: %q", told)
	}
	for _, out := range []string{w.fine("history"), w.fine("show", "1"), w.fine("history", "--all")} {
		if strings.ContainsAny(out, "\x1b\t") || strings.Contains(out, "\xff") || !strings.Contains(out, "job: ") {
			t.Errorf("shown: %q", out)
		}
	}
}

// TestSafeguardsOfJobs: what jobs destroy counts to the run's bounds: to have much
// destroyed by many is no way around them.
func TestSafeguardsOfJobs(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"at once":         `m begin; for i in 1 3 5 7; do bash server.sh $i 3 & done; m end; touch /tmp/go; for i in $(seq 8); do until ! test -e f$i; do sleep 0.05; done; done`,
		"after the other": `for i in 1 3 5 7; do m begin; bash server.sh $i 0.5 & m end; touch /tmp/go; wait; rm /tmp/go; sleep 1.5; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.outsideSh("for i in $(seq 8); do echo $i > f$i; done")
			w.write(w.home+"/.config/carrel/config.yaml", "safeguards: {removed_files: 5}\n")
			w.write(w.project+"/server.sh", "until test -e /tmp/go; do sleep 0.02; done; rm f$1 f$(($1 + 1)); sleep $2")
			r := w.run("--", "bash", "-c", inSteps+script)
			if r.code != 0 || !strings.Contains(r.err, "more than 5 files removed") {
				t.Errorf("four jobs: %s", r)
			}
		})
	}
}
