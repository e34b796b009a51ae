package steps

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
	"carrel/internal/processes"

	"golang.org/x/sys/unix"
)

// Processes of a workspace: 10 is the stage, 20 the command, an agent in the
// session and group of its terminal.
func testDesk(more ...processes.Process) processes.Tree {
	all := processes.Tree{10: {PID: 10, Parent: 1, Session: 1, Group: 5, Front: 5, Start: 100}}
	for _, p := range append([]processes.Process{{PID: 20, Parent: 10, Session: 1, Group: 5, Front: 5, Start: 101}}, more...) {
		if p.Session == 0 {
			p.Session, p.Group, p.Front = 1, 5, 5
		}
		all[p.PID] = p
	}
	return all
}

// grouped tells which processes are in jobs together, by what the first is.
func (j *jobs) grouped(inside processes.Tree) string {
	var out []string
	for _, one := range j.list {
		var pids []int
		for pid, p := range inside {
			if j.jobOf(inside.Look, p) == one {
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
		inside processes.Tree
		want   string
	}{
		"nothing":                   {mark, testDesk(), ""},
		"who makes the mark":        {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210}, processes.Process{PID: 31, Parent: 30, Start: 211}), ""},
		"a server":                  {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210}, processes.Process{PID: 31, Parent: 20, Start: 211}), "30"},
		"started before":            {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 199}, processes.Process{PID: 31, Parent: 20, Start: 211}), ""},
		"of one started before":     {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 199}, processes.Process{PID: 40, Parent: 30, Start: 211}), "40"},
		"in the same moment":        {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 200}), "30"},
		"ended and not collected":   {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210, Gone: true}), ""},
		"with children":             {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210}, processes.Process{PID: 29, Parent: 30, Start: 210}, processes.Process{PID: 28, Parent: 29, Start: 215}), "28 29 30"},
		"two":                       {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210}, processes.Process{PID: 40, Parent: 20, Start: 210}), "30 | 40"},
		"two in a group":            {mark, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210, Session: 1, Group: 30}, processes.Process{PID: 40, Parent: 20, Start: 210, Session: 1, Group: 30}), "30 40"},
		"two daemons of a session":  {mark, testDesk(processes.Process{PID: 30, Parent: 10, Start: 210, Session: 25, Group: 25}, processes.Process{PID: 40, Parent: 10, Start: 210, Session: 25, Group: 25}), "30 40"},
		"the stage's own":           {mark, testDesk(processes.Process{PID: 30, Parent: 10, Start: 210}), "30"},
		"a mark without a caller":   {outlived{since: 200}, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210}), "30"},
		"a burst: in front":         {burst, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210, Session: 1, Group: 5, Front: 5}), ""},
		"a burst: a foreground job": {burst, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210, Session: 1, Group: 30, Front: 30}), ""},
		"a burst: behind":           {burst, testDesk(processes.Process{PID: 30, Parent: 20, Start: 210, Session: 1, Group: 30, Front: 5}), "30"},
		"a burst: a daemon":         {burst, testDesk(processes.Process{PID: 30, Parent: 10, Start: 102, Session: 30, Group: 30, Front: -1}), "30"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJobs(&Recorder{}, 10)
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
// number that another process has by now is not taken for it.
func TestWhoseAChangeIs(t *testing.T) {
	server := processes.Process{PID: 30, Parent: 20, Start: 210, Session: 30, Group: 30}
	beside := processes.Process{PID: 32, Parent: 20, Start: 210}
	j := newJobs(&Recorder{}, 10)
	j.take(testDesk(server, beside), &outlived{since: 200})
	if len(j.list) != 2 {
		t.Fatalf("%d jobs", len(j.list))
	}
	for name, c := range map[string]struct {
		inside []processes.Process
		p      processes.Process
		want   int // of the list, -1 for none
	}{
		"a child":                          {[]processes.Process{server}, processes.Process{PID: 50, Parent: 30, Start: 300}, 0},
		"a grandchild":                     {[]processes.Process{server, {PID: 49, Parent: 30, Start: 300}}, processes.Process{PID: 50, Parent: 49, Start: 300}, 0},
		"a child in a session of its own":  {[]processes.Process{server}, processes.Process{PID: 50, Parent: 30, Start: 300, Session: 50, Group: 50}, 0},
		"reparented, in the job's session": {[]processes.Process{server}, processes.Process{PID: 50, Parent: 10, Start: 300, Session: 30, Group: 44}, 0},
		"the same, the leader has gone":    {nil, processes.Process{PID: 50, Parent: 10, Start: 300, Session: 30, Group: 44}, 0},
		"the same, the leader is another":  {[]processes.Process{{PID: 30, Parent: 20, Start: 299}}, processes.Process{PID: 50, Parent: 30, Start: 300, Session: 30, Group: 30}, -1},
		"its child":                        {[]processes.Process{{PID: 50, Parent: 10, Start: 300, Session: 30, Group: 44}}, processes.Process{PID: 51, Parent: 50, Start: 301, Session: 51, Group: 51}, 0},
		"another has its number":           {nil, processes.Process{PID: 30, Parent: 20, Start: 299}, -1},
		"a child of that":                  {[]processes.Process{{PID: 30, Parent: 20, Start: 299}}, processes.Process{PID: 50, Parent: 30, Start: 300}, -1},
		"a parent that came later":         {[]processes.Process{{PID: 30, Parent: 20, Start: 210}}, processes.Process{PID: 50, Parent: 32, Start: 300}, -1},
		"reparented, in the command's":     {[]processes.Process{beside}, processes.Process{PID: 50, Parent: 10, Start: 300}, -1},
		"a child of the other":             {[]processes.Process{beside}, processes.Process{PID: 50, Parent: 32, Start: 300}, 1},
		"of the command":                   {[]processes.Process{server}, processes.Process{PID: 50, Parent: 20, Start: 300}, -1},
		"its own parent":                   {nil, processes.Process{PID: 50, Parent: 50, Start: 300}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			want := (*Job)(nil)
			if c.want >= 0 {
				want = j.list[c.want]
			}
			inside := testDesk(append(c.inside, c.p)...)
			if got := j.jobOf(inside.Look, inside[c.p.PID]); got != want {
				t.Errorf("belongs to %v, want %v", got, want)
			}
		})
	}
}

// TestJobsAreBounded: what is too much belongs to the newest.
func TestJobsAreBounded(t *testing.T) {
	var many []processes.Process
	for i := range 2 * maxJobs {
		many = append(many, processes.Process{PID: 100 + i, Parent: 20, Start: 300})
	}
	j := newJobs(&Recorder{}, 10)
	j.take(testDesk(many...), &outlived{since: 200})
	if len(j.list) != maxJobs || j.jobOf(testDesk(many...).Look, many[len(many)-1]) != j.list[maxJobs-1] {
		t.Errorf("%d jobs", len(j.list))
	}
}

// TestCallers: real threads and processes, from the number that a trapped call
// has. One that was remembered, with a number that is another's now, is looked at again.
func TestCallers(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	self, _ := processes.Read(os.Getpid())
	child, _ := processes.Read(cmd.Process.Pid)
	run := &Recorder{}
	j := newJobs(run, 1)
	enter := func(tid int) *line {
		ch := &broker.Change{TID: uint32(tid)}
		u := j.enter(ch)
		l := u.line
		j.leave(l)
		if ch.Memo != u {
			t.Error("the change does not know its line")
		}
		return l
	}
	if enter(child.PID) != &run.line {
		t.Error("without jobs")
	}
	j.mu.Lock()
	one := j.room(self)
	j.callers[self.PID] = caller{start: self.Start, job: one}
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
	for what, pid := range map[string]int{"itself": self.PID, "a thread": tid, "a child": child.PID} {
		for range 2 { // found, and remembered
			if enter(pid) != one.line {
				t.Errorf("%s: not the job's", what)
			}
		}
	}
	if p, ok := processes.Read(tid); ok && processes.OfThread(p.PID) != self.PID {
		t.Errorf("thread %d is of process %d", tid, processes.OfThread(p.PID))
	}
	done <- 0
	j.mu.Lock()
	j.forget(func(int, caller) bool { return true })
	j.callers = map[int]caller{child.PID: {start: child.Start - 1, job: one}}
	j.mu.Unlock()
	if enter(child.PID) != &run.line {
		t.Error("the number was another's before, and is taken for that")
	}
	if enter(1<<22+1) != &run.line {
		t.Error("nobody")
	}
	if enter(child.PID); j.open != 1 {
		t.Errorf("%d directories are open", j.open)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if enter(child.PID) != &run.line || len(j.callers) != 0 || j.open != 0 {
		t.Errorf("a process that has gone is remembered: %v, %d", j.callers, j.open)
	}
}

// BenchmarkCaller is what a change costs more while there are jobs.
func BenchmarkCaller(b *testing.B) {
	self, _ := processes.Read(os.Getpid())
	for _, jobs := range []int{0, 1} {
		b.Run(strconv.Itoa(jobs), func(b *testing.B) {
			j := newJobs(&Recorder{}, 1)
			for range jobs {
				j.callers[self.PID] = caller{start: self.Start, job: j.room(self)}
				j.epoch.Add(1)
			}
			for b.Loop() {
				j.leave(j.enter(&broker.Change{TID: uint32(self.PID)}).line)
			}
		})
	}
}

// TestJobsComeAndGo: changes of many threads while jobs begin and end; none is in
// between, and none goes into a job that is over.
func TestJobsComeAndGo(t *testing.T) {
	self, _ := processes.Read(os.Getpid())
	run := &Recorder{}
	j := newJobs(run, self.Parent)
	j.epoch.Add(1) // nothing watches here
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
				ch := &broker.Change{TID: uint32(self.PID)}
				l := j.enter(ch).line
				if l != &run.line {
					inJobs.Add(1)
					if l.app != "" {
						t.Error("a change in a job that is over")
					}
				}
				j.leave(l)
			}
		})
	}
	inside := processes.Tree{self.Parent: {PID: self.Parent}, 1 << 23: {PID: 1 << 23, Parent: self.Parent, Start: 1}, self.PID: self}
	for range 300 {
		run.gate.Lock()
		j.take(inside, &outlived{since: 2})
		run.gate.Unlock()
		runtime.Gosched()
		run.gate.Lock()
		gone := j.gone(processes.Tree{}, j.epoch.Load())
		run.gate.Unlock()
		for _, one := range gone {
			one.line.gate.Lock()
			one.line.app = "over"
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
