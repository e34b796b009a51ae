package session

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/named"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/spool"
	"carrel/internal/stdio"
	"carrel/internal/steps"
	"carrel/internal/supervisor"
	"carrel/internal/tty"

	"golang.org/x/sys/unix"
)

// Bounds on apps.
const (
	maxApps      = 256 // that run at once
	keptApps     = 100 // that have ended and are still told of
	maxAppArgv   = 2 << 10
	drainTime    = 2 * time.Second // for what an app that has ended has left in its pipes
	lingerPeriod = 2 * processes.CountAge
)

// appTable holds the apps of one workspace: it starts them, waits for their ends, finds them
// and tells of them.
type appTable struct {
	decided  *decide.Decision
	name     string // of the workspace
	place    *named.Place
	walls    *sandbox.Walls
	recorder *steps.Recorder // nil without history
	server   *supervisor.Server
	changed  func() // is called when one has come or gone
	*lifetime

	inside processes.Members
	rests  *time.Timer // lets memory go when no app has ended for long
	files  fileHelpers

	mu     sync.Mutex
	all    []*app // in the order of their starts; of those that have ended, the newest
	labels uint64
	left   processes.Counts
}

// start starts an app. The status with an error is what a shell would tell.
func (t *appTable) start(s started) (*app, int, error) {
	argv, env, dir, err := t.command(&s.cmd)
	if err != nil {
		return nil, api.ExitOurs, err
	}
	if s.id == "" {
		s.id = newID()
	}
	a := &app{inside: t.inside, over: t.over, done: make(chan struct{}), logs: s.logs, from: s.from, term: s.term}
	a.sits = s.term != nil || s.cmd.Terminal
	name := s.cmd.Name
	if name == "" {
		name = filepath.Base(argv[0])
	}
	a.info = api.App{
		ID: s.id, Name: named.AppName(name), Kind: s.kind, Argv: supervisor.BoundArgv(s.cmd.Argv, maxAppArgv), Dir: dir,
		Started: time.Now(), Running: true, Processes: 1,
	}
	t.mu.Lock()
	if t.runningLocked() >= maxApps {
		t.mu.Unlock()
		return nil, api.ExitOurs, api.Refused(api.CodeBusy, s.kind, name, fmt.Sprintf("%d apps run already", maxApps), "`carrel apps "+t.name+"` lists them, `carrel kill` ends one")
	}
	tool := s.kind == api.AppExec && !s.cmd.Terminal && isFileTool(&s.cmd)
	if tool {
		a.helper = t.files.take(dir)
	}
	if a.helper != nil {
		a.label = a.helper.label
	} else {
		t.labels++
		a.label = t.labels
	}
	if tool && a.helper == nil && t.decided.Machine == nil { // no socket with descriptors leads there
		t.labels++
		a.stays = helperThatStays(env, dir, t.labels)
	}
	t.all = append(t.all, a)
	t.mu.Unlock()
	a.job = t.recorder.StartApp(a.info.ID, a.label, argv, cmp.Or(s.cmd.Label, strings.Join(s.cmd.Argv, " ")), s.kind == api.AppSetup || s.kind == api.AppExec && !s.cmd.Terminal && !t.decided.IsAgent(s.cmd.Argv))
	if a.helper != nil && a.helper.ask(argv, s.stdio) == nil {
		a.id = a.helper.id
	} else {
		t.files.drop(a.helper)
		a.helper = nil
		a.id, err = t.walls.Exec(sandbox.Command{Argv: argv, Env: env, Dir: dir, Session: true, Terminal: a.sits, Label: a.label}, s.stdio)
	}
	if err != nil {
		t.drop(a)
		if t.ending() {
			return nil, api.ExitOurs, api.Refused(api.CodeStart, s.kind, name, "the workspace is ending", "`carrel start "+t.name+"` makes it anew when it has ended")
		}
		if start := (*sandbox.StartError)(nil); errors.As(err, &start) && start.Name == dir && dir != argv[0] {
			return nil, api.ExitNotRunable, api.Refused(api.CodeStart, s.kind, dir, fmt.Sprintf("the directory %q cannot be entered inside: %s", dir, start.Err), "--cwd names one that is seen there")
		}
		var exit int
		if exit, err = whyNotStarted(t.decided, argv[0], err); exit == 0 {
			exit = api.ExitNotRunable
		}
		return nil, exit, err
	}
	for stream := range s.from {
		a.drain(stream)
	}
	t.server.Emit(api.Event{Kind: api.EventLaunch, Text: a.info.ID + " " + a.info.Kind + " " + a.info.Name})
	t.decided.Audit.App("start", &a.info)
	t.busy.Go(func() { t.await(a) })
	t.changed()
	return a, 0, nil
}

// command completes what is to be started.
func (t *appTable) command(c *api.Command) (argv, env []string, dir string, err error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, t.name, "no command was given", "carrel exec NAME -- COMMAND [ARG...]")
	}
	dir = t.decided.Plan.Command.Dir
	if c.Dir != "" {
		if dir = filepath.Clean(c.Dir); !filepath.IsAbs(dir) {
			return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, c.Dir, fmt.Sprintf("%q is not an absolute path", c.Dir), "a directory as it is seen inside")
		}
	}
	env = slices.Clone(t.decided.Plan.Command.Env)
	for _, v := range c.Env {
		name, _, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.ContainsRune(v, 0) || name == decide.EnvInside || strings.HasPrefix(name, decide.EnvInside+"_") {
			return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, shortened(name), "this is no variable that a command can be given", "NAME=VALUE; names that begin with CARREL are carrel's own")
		}
		env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		env = append(env, v)
	}
	for _, a := range c.Argv {
		if strings.ContainsRune(a, 0) {
			return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, c.Argv[0], "an argument has a zero byte", "")
		}
	}
	return t.decided.WithAgentFlags(c.Argv), env, dir, nil
}

// await waits for the end of an app's first process and tells it.
func (t *appTable) await(a *app) {
	exit, stays := a.ended(t.walls)
	a.exit = exit
	a.finishLogs()
	left := 0
	if !stays {
		left = t.inside.Count(a.label)
	}
	var steps []uint64
	if left == 0 {
		steps = t.endJob(a)
	} else {
		steps = a.job.Steps()
	}
	t.mu.Lock()
	a.info.Running, a.info.Ended, a.info.Processes, a.info.Steps = false, time.Now(), left, steps
	a.info.Exit = exit.Code
	if exit.Signal != 0 {
		a.info.Exit, a.info.Signal = 128+exit.Signal, unix.SignalName(syscall.Signal(exit.Signal))
	}
	text := fmt.Sprintf("%s %s: status %d", a.info.ID, a.info.Name, a.info.Exit)
	t.decided.Audit.App("end", &a.info)
	t.forgetOld()
	t.mu.Unlock()
	t.server.Emit(api.Event{Kind: api.EventExit, Text: text})
	if stays {
		t.files.give(a.helper)
	}
	close(a.done)
	t.rests.Reset(sandbox.RestAfter)
	t.files.begin(a.stays)
	t.changed()
	for left > 0 { // what it has left behind is still its own
		select {
		case <-t.walls.Done():
			left = 0
		case <-time.After(lingerPeriod):
			left = t.left.Of(t.inside, a.label)
		}
		if left == 0 {
			steps = t.endJob(a)
		}
		t.mu.Lock()
		a.info.Processes, a.info.Steps = left, steps
		t.mu.Unlock()
	}
}

// endJob closes the steps of an app of which no process is left.
func (t *appTable) endJob(a *app) []uint64 {
	if a.job == nil {
		return nil
	}
	steps, err := t.recorder.EndApp(a.job, a.exit.Code)
	if err != nil {
		t.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: err.Error()})
	}
	return steps
}

// drop forgets an app that did not start.
func (t *appTable) drop(a *app) {
	t.endJob(a)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = slices.DeleteFunc(t.all, func(b *app) bool { return a == b })
}

// forgetOld drops the oldest apps that have ended; the lock is held.
func (t *appTable) forgetOld() {
	over := -keptApps
	for _, a := range t.all {
		if !a.info.Running {
			over++
		}
	}
	t.all = slices.DeleteFunc(t.all, func(a *app) bool {
		if over <= 0 || a.info.Running || a.info.Processes > 0 {
			return false
		}
		over--
		for stream := range a.logs {
			t.place.RemoveLog(a.info.ID, stream)
		}
		return true
	})
}

func (t *appTable) running() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runningLocked()
}

func (t *appTable) runningLocked() (n int) {
	for _, a := range t.all {
		if a.info.Running {
			n++
		}
	}
	return n
}

// list tells of all apps; look has their processes counted.
func (t *appTable) list(look bool) []api.App {
	t.mu.Lock()
	apps := slices.Clone(t.all)
	t.mu.Unlock()
	var now processes.Counts
	out := make([]api.App, 0, len(apps))
	for _, a := range apps {
		one := t.told(a, false)
		if look {
			t.look(a, &one, &now)
		}
		out = append(out, one)
	}
	return out
}

// look puts in what an app is at this moment.
func (t *appTable) look(a *app, one *api.App, now *processes.Counts) {
	if one.Running || one.Processes > 0 {
		one.Processes = now.Of(t.inside, a.label)
		one.Steps = a.job.Steps()
	}
}

func (t *appTable) told(a *app, look bool) api.App {
	t.mu.Lock()
	info := a.info
	t.mu.Unlock()
	if look {
		t.look(a, &info, new(processes.Counts))
	}
	if a.term != nil {
		info.Title = a.term.title()
	}
	return info
}

// find gives the app that a word means, see [named.PickApp].
func (t *appTable) find(word string) (*app, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]api.App, len(t.all))
	for i, a := range t.all {
		all[i] = a.info
	}
	i, err := named.PickApp(api.OpApps, t.name, all, word)
	if err != nil {
		return nil, err
	}
	return t.all[i], nil
}

// atTerminals are the apps that run at one.
func (t *appTable) atTerminals() (out []*app) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.all {
		if a.sits && (a.info.Running || a.info.Processes > 0) {
			out = append(out, a)
		}
	}
	return out
}

// killNow ends an app that stands still, and all that it has started: none of it runs
// again. What is started by others meanwhile is found by whoever waits for its end.
func (t *appTable) killNow(id string) {
	a, err := t.find(id)
	if err != nil {
		return
	}
	for range 3 {
		a.signal(syscall.SIGKILL)
	}
}

// newLogs opens what an app's output goes to; with an error too, as far as it came.
func (t *appTable) newLogs(a string, streams []string) (map[string]*spool.Log, error) {
	logs := make(map[string]*spool.Log)
	for _, stream := range streams {
		l, err := t.place.CreateLog(a, stream)
		if err != nil {
			return logs, fmt.Errorf("opening the log of an app: %w", err)
		}
		logs[stream] = l
	}
	return logs, nil
}

// launch starts a command and keeps its output.
func (t *appTable) launch(kind string, c api.Command) (*app, int, error) {
	s := started{kind: kind, cmd: c, id: newID(), from: make(map[string]*os.File)}
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return nil, api.ExitOurs, err
	}
	defer null.Close()
	s.stdio[0] = null
	defer func() {
		if err != nil { // out of descriptors, most likely: what was opened goes back
			t.dropLogs(&s)
		}
	}()
	streams := []string{api.StreamStdout, api.StreamStderr}
	if c.Joined {
		streams = streams[:1]
	}
	if s.logs, err = t.newLogs(s.id, streams); err != nil {
		return nil, api.ExitOurs, err
	}
	for i, stream := range streams {
		var r, w *os.File
		if r, w, err = stdio.BlockingPipe(); err != nil {
			return nil, api.ExitOurs, fmt.Errorf("making a pipe: %w", err)
		}
		defer w.Close()
		s.from[stream] = os.NewFile(uintptr(tty.Dup(r)), "output")
		s.stdio[i+1] = w
	}
	if c.Joined {
		s.stdio[2] = s.stdio[1]
	}
	var a *app
	var exit int
	a, exit, err = t.start(s)
	return a, exit, err
}

// dropLogs removes what was made for the output of an app that did not start.
func (t *appTable) dropLogs(s *started) {
	for stream, l := range s.logs {
		l.Close()
		if from := s.from[stream]; from != nil {
			from.Close()
		}
		t.place.RemoveLog(s.id, stream)
	}
}

// byLabel are the ids of the apps that run.
func (t *appTable) byLabel() map[uint64]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[uint64]string, len(t.all))
	for _, a := range t.all {
		out[a.label] = a.info.ID
	}
	return out
}
