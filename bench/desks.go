package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The rows of the suites of workspaces that stay.
const (
	rowStart = "carrel start NAME"
	rowRun   = "carrel run -- true"

	rowAPI        = "by API, true"
	rowCLI        = "carrel exec NAME -- true"
	rowTouch      = "native, touch"
	rowTouchAPI   = "by API, touch"
	rowTouchCLI   = "carrel exec NAME -- touch"
	rowDeskIdle   = "idle"
	rowDeskSleeps = "with 10 apps, each a `sleep`"
)

// deskPlace is a home, state and runtime directory for named workspaces, in which
// nothing else runs: whatever is registered there is ours to stop.
type deskPlace struct {
	b       *bench
	runtime string
	env     []string
}

// deskSuite has the tables of workspaces that stay, and of what agents do in one.
type deskSuite struct{ *bench }

// desks has a table measured with a place for workspaces, and leaves none running:
// not when it goes wrong, and not when this program is asked to end.
func (b *deskSuite) desks(t table, measure func(t *table, p *deskPlace) error) table {
	root := b.fixture.root + "/desks"
	p := &deskPlace{b: b.bench, runtime: root + "/run"}
	p.env = append(slices.Clone(b.fixture.env), "HOME="+root+"/home", "XDG_STATE_HOME="+root+"/state", "XDG_CONFIG_HOME="+root+"/config", "XDG_CACHE_HOME="+root+"/cache", "XDG_RUNTIME_DIR="+p.runtime)
	defer b.cleanedBy(p.stopAll)()
	defer p.stopAll()
	err := mkdirs(root, root+"/home", root+"/state", root+"/config", root+"/cache", p.runtime)
	if err == nil {
		err = measure(&t, p)
	}
	if err != nil {
		t.about += " Not measured to the end: " + escape(err.Error())
	}
	return t
}

func (p *deskPlace) carrel(dir string, args ...string) error {
	return once(dir, p.env, append([]string{p.b.carrel}, args...))
}

// stopAll stops what runs; the supervisor of one that does not stop is killed.
func (p *deskPlace) stopAll() {
	atOnce(4, registry(p.runtime), func(e entry) error {
		_, _, err := finished(context.Background(), patience, "/", p.env, []string{p.b.carrel, "stop", e.ID})
		if err != nil {
			fmt.Fprintf(p.b.progress, "\nstopping workspace %s: %v\n", e.Name, err)
			if process, err := os.FindProcess(e.PID); err == nil && slices.Contains(registry(p.runtime), e) {
				_ = process.Kill()
			}
		}
		return nil
	})
}

// atOnce does something with each of a list, n at the same time, and gives the errors.
func atOnce[T any](n int, list []T, do func(T) error) error {
	work := make(chan T)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for one := range work {
				if err := do(one); err != nil && errs[i] == nil {
					errs[i] = err
				}
			}
		})
	}
	for _, one := range list {
		work <- one
	}
	close(work)
	all.Wait()
	return errors.Join(errs...)
}

// deskSuites are the tables of workspaces that stay.
func (b *deskSuite) deskSuites() []func() table {
	return []func() table{b.deskStart, b.deskExec, b.deskMemory, b.deskMany, b.deskRates}
}

func (b *deskSuite) deskStart() table {
	t := table{title: "Named workspaces: start", unit: "ms", about: "From fork until `carrel start` has returned and the workspace stands, in a git repository of 200 files, history on; stopping it is not in the time. Beside it one command in walls of its own, from fork to end."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		dir := b.fixture.repo
		start := []string{b.carrel, "start", "one"}
		list := []*contender{
			{name: nameNative, dir: dir, argv: []string{"true"}, env: p.env},
			{name: nameSame, dir: dir, env: p.env},
			{name: rowRun, dir: dir, argv: []string{b.carrel, "run", "--", "true"}, env: p.env},
			{name: rowStart, dir: dir, argv: append(start, "--dry-run"), env: p.env},
		}
		if same := bwrapSame(find("bwrap"), b.carrel, p.env); same.argv != nil {
			list[1].argv = same.argv(dir, []string{"true"})
		}
		b.interleave("workspaces: start", b.rounds, list, func(c *contender) (float64, error) {
			if c.name != rowStart {
				return b.clock(c)
			}
			took, err := timed(dir, p.env, start)
			return took, errors.Join(err, p.carrel(dir, "stop", "one"))
		})
		t.rows = rows(list)
		t.atLeast(rowStart, rowRun, 0, "a workspace that stays, against one command's")
		t.atLeast(rowStart, nameSame, 0, "a workspace that stays, against bwrap with the same view and `true`")
		return nil
	})
}

func (b *deskSuite) deskExec() table {
	t := table{title: "Named workspaces: a command in one that runs", unit: "ms", about: "From the decision to run it until its end is known, with /dev/null for its descriptors: fork and exec; the supervisor's socket, from this program, found and connected to anew each time; and `carrel exec`, from fork to end. The `touch` changes a file of the project, which is a step of the history."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		dir := b.fixture.repo
		if err := p.carrel(dir, "start", "one"); err != nil {
			return err
		}
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer null.Close()
		stdio := []*os.File{null, null, null}
		commands := []struct {
			native, api, cli string
			argv             []string
		}{
			{nameNative, rowAPI, rowCLI, []string{find("true")}},
			{rowTouch, rowTouchAPI, rowTouchCLI, []string{find("touch"), dir + "/group00/dir000/file000.txt"}},
		}
		for _, c := range commands { // apart: what a step of the history has to do is not over with it
			cli := append([]string{b.carrel, "exec", "one", "--"}, c.argv...)
			list := []*contender{{name: c.native, argv: c.argv}, {name: c.api, argv: cli}, {name: c.cli, argv: cli}}
			for _, one := range list {
				one.dir, one.env = dir, p.env
			}
			b.interleave("workspaces: "+c.api, 3*b.rounds, list, func(one *contender) (float64, error) {
				if one.name != c.api {
					return b.clock(one)
				}
				start := time.Now()
				err := execIn(p.runtime, "one", stdio, c.argv)
				return millis(time.Since(start)), err
			})
			t.rows = append(t.rows, rows(list)...)
		}
		t.over(rowAPI, nameNative, 1.5, "a command in a running workspace by API, over fork and exec")
		t.over(rowCLI, nameNative, 3, "the same with `carrel exec`")
		t.over(rowTouchAPI, rowTouch, 0, "a command that changes one file, by API, over fork and exec")
		t.over(rowTouchCLI, rowTouch, 0, "the same with `carrel exec`")
		return nil
	})
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (b *deskSuite) deskMemory() table {
	t := table{title: "Named workspaces: memory", unit: "MiB", about: "Proportional set size of the supervisor and all below it, two seconds after the start; then ten apps are launched, and what they are is in it too. Each time anew."}
	return b.desks(t, func(t *table, p *deskPlace) error {
		idle, sleeps := &contender{name: rowDeskIdle}, &contender{name: rowDeskSleeps}
		for range min(5, b.rounds) {
			if err := p.carrel(b.fixture.repo, "start", "one"); err != nil {
				return err
			}
			pss, _, err := p.weigh()
			if err != nil {
				return err
			}
			idle.got = append(idle.got, pss)
			for range 10 {
				if _, err := askDesk(p.runtime, "one", request{Op: "launch", Command: &command{Argv: []string{"sleep", "600"}}}); err != nil {
					return err
				}
			}
			if pss, _, err = p.weigh(); err != nil {
				return err
			}
			sleeps.got = append(sleeps.got, pss)
			p.stopAll()
		}
		t.rows = rows([]*contender{idle, sleeps})
		t.compareTo(rowDeskIdle, 12, "MiB for an idle workspace")
		return nil
	})
}

// weigh gives the proportional set size of all workspaces in MiB, and their processor
// time, when they have come to rest.
func (p *deskPlace) weigh() (pss float64, cpu time.Duration, err error) {
	time.Sleep(2 * settle)
	total := 0
	for _, e := range registry(p.runtime) {
		one, err := treePSS(e.PID)
		if err != nil {
			return 0, 0, err
		}
		total += one
	}
	cpu, err = p.cpu()
	return float64(total) / 1024, cpu, err
}

// cpu is the processor time that the workspaces that run have had, user's and
// system's, of all their threads: utime and stime of proc_pid_stat(5) are whole
// hundredths of a second for each process, which is more than one needs at rest.
func (p *deskPlace) cpu() (time.Duration, error) {
	tree, err := parents()
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, e := range registry(p.runtime) {
		for _, pid := range descendants(tree, e.PID) {
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
			for _, file := range threads {
				if text, err := os.ReadFile(file); err == nil { // an error else: it has ended since
					total += ranFor(string(text))
				}
			}
		}
	}
	return total, nil
}

// ranFor reads the first number of schedstat: nanoseconds on a processor; 0 for what is
// no such line. See Documentation/scheduler/sched-stats.rst of the kernel.
func ranFor(text string) time.Duration {
	first, _, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseInt(first, 10, 64)
	return time.Duration(max(n, 0))
}
