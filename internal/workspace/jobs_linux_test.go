package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"carrel/internal/broker"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// Processes of a workspace: 10 is the stage, 20 the command, an agent in the
// session and group of its terminal.
func testDesk(more ...process) processes {
	all := processes{10: {pid: 10, parent: 1, session: 1, group: 5, front: 5, start: 100}}
	for _, p := range append([]process{{pid: 20, parent: 10, session: 1, group: 5, front: 5, start: 101}}, more...) {
		if p.session == 0 {
			p.session, p.group, p.front = 1, 5, 5
		}
		all[p.pid] = p
	}
	return all
}

// grouped tells which processes are in jobs together, by what the first is.
func (j *jobs) grouped(inside processes) string {
	var out []string
	for _, one := range j.list {
		var pids []int
		for pid, p := range inside {
			if j.jobOf(inside.look, p) == one {
				pids = append(pids, pid)
			}
		}
		slices.Sort(pids)
		out = append(out, strings.Trim(fmt.Sprint(pids), "[]"))
	}
	return strings.Join(out, " | ")
}

func TestWhatOutlivesAStep(t *testing.T) {
	mark := outlived{since: 200, marker: 31}
	burst := outlived{burst: true}
	for name, c := range map[string]struct {
		o      outlived
		inside processes
		want   string
	}{
		"nothing":                   {mark, testDesk(), ""},
		"who makes the mark":        {mark, testDesk(process{pid: 30, parent: 20, start: 210}, process{pid: 31, parent: 30, start: 211}), ""},
		"a server":                  {mark, testDesk(process{pid: 30, parent: 20, start: 210}, process{pid: 31, parent: 20, start: 211}), "30"},
		"started before":            {mark, testDesk(process{pid: 30, parent: 20, start: 199}, process{pid: 31, parent: 20, start: 211}), ""},
		"of one started before":     {mark, testDesk(process{pid: 30, parent: 20, start: 199}, process{pid: 40, parent: 30, start: 211}), "40"},
		"in the same moment":        {mark, testDesk(process{pid: 30, parent: 20, start: 200}), "30"},
		"ended and not collected":   {mark, testDesk(process{pid: 30, parent: 20, start: 210, gone: true}), ""},
		"with children":             {mark, testDesk(process{pid: 30, parent: 20, start: 210}, process{pid: 29, parent: 30, start: 210}, process{pid: 28, parent: 29, start: 215}), "28 29 30"},
		"two":                       {mark, testDesk(process{pid: 30, parent: 20, start: 210}, process{pid: 40, parent: 20, start: 210}), "30 | 40"},
		"two in a group":            {mark, testDesk(process{pid: 30, parent: 20, start: 210, session: 1, group: 30}, process{pid: 40, parent: 20, start: 210, session: 1, group: 30}), "30 40"},
		"two daemons of a session":  {mark, testDesk(process{pid: 30, parent: 10, start: 210, session: 25, group: 25}, process{pid: 40, parent: 10, start: 210, session: 25, group: 25}), "30 40"},
		"the stage's own":           {mark, testDesk(process{pid: 30, parent: 10, start: 210}), "30"},
		"a mark without a caller":   {outlived{since: 200}, testDesk(process{pid: 30, parent: 20, start: 210}), "30"},
		"a burst: in front":         {burst, testDesk(process{pid: 30, parent: 20, start: 210, session: 1, group: 5, front: 5}), ""},
		"a burst: a foreground job": {burst, testDesk(process{pid: 30, parent: 20, start: 210, session: 1, group: 30, front: 30}), ""},
		"a burst: behind":           {burst, testDesk(process{pid: 30, parent: 20, start: 210, session: 1, group: 30, front: 5}), "30"},
		"a burst: a daemon":         {burst, testDesk(process{pid: 30, parent: 10, start: 102, session: 30, group: 30, front: -1}), "30"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJobs(&keeper{}, 10)
			j.take(c.inside, &c.o)
			if got := j.grouped(c.inside); got != c.want {
				t.Errorf("jobs: %q, want %q", got, c.want)
			}
			if j.take(c.inside, &c.o) != 0 {
				t.Error("and once more")
			}
			if gone := j.gone(testDesk(), 77); len(gone) != 0 {
				t.Error("gone, for a look from before there was a job")
			}
		})
	}
}

// TestWhoseAChangeIs: by parents, and where these are gone by session or group; a
// number that somebody else has by now is nobody's.
func TestWhoseAChangeIs(t *testing.T) {
	server := process{pid: 30, parent: 20, start: 210, session: 30, group: 30}
	beside := process{pid: 32, parent: 20, start: 210}
	j := newJobs(&keeper{}, 10)
	j.take(testDesk(server, beside), &outlived{since: 200})
	if len(j.list) != 2 {
		t.Fatalf("%d jobs", len(j.list))
	}
	for name, c := range map[string]struct {
		inside []process
		p      process
		want   int // of the list, -1 for none
	}{
		"a child":                          {[]process{server}, process{pid: 50, parent: 30, start: 300}, 0},
		"a grandchild":                     {[]process{server, {pid: 49, parent: 30, start: 300}}, process{pid: 50, parent: 49, start: 300}, 0},
		"a child in a session of its own":  {[]process{server}, process{pid: 50, parent: 30, start: 300, session: 50, group: 50}, 0},
		"reparented, in the job's session": {[]process{server}, process{pid: 50, parent: 10, start: 300, session: 30, group: 44}, 0},
		"the same, the leader has gone":    {nil, process{pid: 50, parent: 10, start: 300, session: 30, group: 44}, 0},
		"the same, the leader is another":  {[]process{{pid: 30, parent: 20, start: 299}}, process{pid: 50, parent: 30, start: 300, session: 30, group: 30}, -1},
		"its child":                        {[]process{{pid: 50, parent: 10, start: 300, session: 30, group: 44}}, process{pid: 51, parent: 50, start: 301, session: 51, group: 51}, 0},
		"another has its number":           {nil, process{pid: 30, parent: 20, start: 299}, -1},
		"a child of that":                  {[]process{{pid: 30, parent: 20, start: 299}}, process{pid: 50, parent: 30, start: 300}, -1},
		"a parent that came later":         {[]process{{pid: 30, parent: 20, start: 210}}, process{pid: 50, parent: 32, start: 300}, -1},
		"reparented, in the command's":     {[]process{beside}, process{pid: 50, parent: 10, start: 300}, -1},
		"a child of the other":             {[]process{beside}, process{pid: 50, parent: 32, start: 300}, 1},
		"of the command":                   {[]process{server}, process{pid: 50, parent: 20, start: 300}, -1},
		"its own parent":                   {nil, process{pid: 50, parent: 50, start: 300}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			want := (*job)(nil)
			if c.want >= 0 {
				want = j.list[c.want]
			}
			inside := testDesk(append(c.inside, c.p)...)
			if got := j.jobOf(inside.look, inside[c.p.pid]); got != want {
				t.Errorf("belongs to %v, want %v", got, want)
			}
		})
	}
}

// TestJobsAreBounded: what is too much belongs to the newest.
func TestJobsAreBounded(t *testing.T) {
	var many []process
	for i := range 2 * maxJobs {
		many = append(many, process{pid: 100 + i, parent: 20, start: 300})
	}
	j := newJobs(&keeper{}, 10)
	j.take(testDesk(many...), &outlived{since: 200})
	if len(j.list) != maxJobs || j.jobOf(testDesk(many...).look, many[len(many)-1]) != j.list[maxJobs-1] {
		t.Errorf("%d jobs", len(j.list))
	}
}

// TestCallers: real threads and processes, from the number that a trapped call
// has. One that was remembered and whose number is another's is looked at again.
func TestCallers(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	self, _ := readProcess(os.Getpid())
	child, _ := readProcess(cmd.Process.Pid)
	run := &keeper{}
	j := newJobs(run, 1)
	enter := func(tid int) *keeper {
		ch := &broker.Change{TID: uint32(tid)}
		u := j.enter(ch)
		k := u.keeper
		j.leave(k)
		if ch.Memo != u {
			t.Error("the change does not know its keeper")
		}
		return k
	}
	if enter(child.pid) != run {
		t.Error("without jobs")
	}
	j.mu.Lock()
	one := j.room(self)
	j.callers[self.pid] = caller{start: self.start, job: one}
	j.mu.Unlock()
	j.epoch.Add(1)
	done := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid := unix.Gettid()
		done <- tid
		<-done
	}()
	tid := <-done
	for what, pid := range map[string]int{"itself": self.pid, "a thread": tid, "a child": child.pid} {
		for range 2 { // found, and remembered
			if enter(pid) != one.line {
				t.Errorf("%s: not the job's", what)
			}
		}
	}
	if p, ok := readProcess(tid); ok && processOf(p.pid) != self.pid {
		t.Errorf("thread %d is of process %d", tid, processOf(p.pid))
	}
	done <- 0
	j.mu.Lock()
	j.forget(func(int, caller) bool { return true })
	j.callers = map[int]caller{child.pid: {start: child.start - 1, job: one}}
	j.mu.Unlock()
	if enter(child.pid) != run {
		t.Error("the number was another's before, and is taken for that")
	}
	if enter(1<<22+1) != run {
		t.Error("nobody")
	}
	if enter(child.pid); j.open != 1 {
		t.Errorf("%d directories are open", j.open)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if enter(child.pid) != run || len(j.callers) != 0 || j.open != 0 {
		t.Errorf("a process that has gone is remembered: %v, %d", j.callers, j.open)
	}
}

func TestCensus(t *testing.T) {
	cmd := exec.Command("sh", "-c", "sleep 61 & wait")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() {
		for _, p := range census(cmd.Process.Pid) {
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
	}()
	for len(census(cmd.Process.Pid)) < 2 {
		runtime.Gosched()
	}
	below := census(os.Getpid())
	if _, ok := below[cmd.Process.Pid]; !ok || below.command(os.Getpid()).parent != os.Getpid() {
		t.Errorf("below this: %v", below)
	}
	if now, p := ticksNow(), below[cmd.Process.Pid]; p.start > now || p.start+60*ticksPerSecond < now {
		t.Errorf("started at %d, now is %d", p.start, now)
	}
	if got := len(below.line(cmd.Process.Pid, os.Getpid())); got != 1 {
		t.Errorf("%d generations", got)
	}
	if argv := argvOf(cmd.Process.Pid); len(argv) != 3 || argv[0] != "sh" {
		t.Errorf("its command: %q", argv)
	}
}

func TestProcessFrom(t *testing.T) {
	for threads, gone := range map[int]bool{1: true, 2: false} {
		s := procfs.Stat{State: 'Z', Parent: 1, Group: 2, Session: 3, Front: 5, Threads: threads, Start: 19}
		if got, want := processFrom(7, &s), (process{pid: 7, parent: 1, group: 2, session: 3, front: 5, start: 19, gone: gone}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if got := processFrom(7, &procfs.Stat{}); got != (process{}) {
		t.Errorf("of none: %+v", got)
	}
}

// BenchmarkCaller is what a change costs more while there are jobs.
func BenchmarkCaller(b *testing.B) {
	self, _ := readProcess(os.Getpid())
	for _, jobs := range []int{0, 1} {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) {
			j := newJobs(&keeper{}, 1)
			for range jobs {
				j.callers[self.pid] = caller{start: self.start, job: j.room(self)}
				j.epoch.Add(1)
			}
			for b.Loop() {
				j.leave(j.enter(&broker.Change{TID: uint32(self.pid)}).keeper)
			}
		})
	}
}

// TestJobsComeAndGo: changes of many threads while jobs begin and end; none is in
// between, and none goes into a job that is over.
func TestJobsComeAndGo(t *testing.T) {
	self, _ := readProcess(os.Getpid())
	run := &keeper{}
	j := newJobs(run, self.parent)
	j.epoch.Add(1) // nobody watches here
	end := make(chan struct{})
	var all sync.WaitGroup
	var inJobs atomic.Int64
	for range 4 {
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				ch := &broker.Change{TID: uint32(self.pid)}
				k := j.enter(ch).keeper
				if k != run {
					inJobs.Add(1)
					if k.over != nil {
						t.Error("a change in a job that is over")
					}
				}
				j.leave(k)
			}
		})
	}
	inside := processes{self.parent: {pid: self.parent}, 1 << 23: {pid: 1 << 23, parent: self.parent, start: 1}, self.pid: self}
	for range 300 {
		run.gate.Lock()
		j.take(inside, &outlived{since: 2})
		run.gate.Unlock()
		runtime.Gosched()
		run.gate.Lock()
		gone := j.gone(processes{}, j.epoch.Load())
		run.gate.Unlock()
		for _, one := range gone {
			one.line.gate.Lock()
			one.line.over = make(chan struct{})
			one.line.gate.Unlock()
			_, _ = j.finish(one, 0)
		}
		if len(gone) != 1 {
			t.Fatalf("%d jobs have gone", len(gone))
		}
	}
	close(end)
	all.Wait()
	if inJobs.Load() == 0 {
		t.Error("no change was a job's")
	}
}
