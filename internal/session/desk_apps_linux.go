package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/processes"
	"carrel/internal/sandbox"
	"carrel/internal/spool"
	"carrel/internal/steps"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// Bounds on apps.
const (
	maxApps      = 256 // that run at once
	keptApps     = 100 // that have ended and are still told of
	maxAppName   = 64  // bytes
	maxAppArgv   = 2 << 10
	drainTime    = 2 * time.Second // for what an app that has ended has left in its pipes
	lingerPeriod = 2 * processes.CountAge
)

// app is one command in a workspace that stays.
type app struct {
	info  api.App // under desk.mu
	id    uint64  // of the walls
	label uint64
	job   *steps.Job
	exit  sandbox.Exit
	done  chan struct{} // closed when its first process has ended and all is told

	logs    map[string]*spool.Log // by stream; closed when everything is written
	from    map[string]*os.File   // what is read into each
	drained sync.WaitGroup
	term    *terminal        // nil for one without
	sits    bool             // at a terminal, that one or its caller's
	helper  *fileHelper      // that carries it out; nil where it has a program of its own
	stays   *sandbox.Command // the helper for what comes after it; nil for none
}

// started is what an app is started with.
type started struct {
	kind  string
	cmd   api.Command
	stdio [3]*os.File
	id    string                // "" for a new one
	logs  map[string]*spool.Log // by stream, with what is read into each
	from  map[string]*os.File
	term  *terminal
}

// start starts an app. The status with an error is what a shell would tell.
func (d *desk) start(s started) (*app, int, error) {
	argv, env, dir, err := d.command(&s.cmd)
	if err != nil {
		return nil, api.ExitOurs, err
	}
	if s.id == "" {
		s.id = newID()
	}
	a := &app{done: make(chan struct{}), logs: s.logs, from: s.from, term: s.term, sits: s.term != nil || s.cmd.Terminal}
	name := s.cmd.Name
	if name == "" {
		name = filepath.Base(argv[0])
	}
	a.info = api.App{ID: s.id, Name: name[:min(len(name), maxAppName)], Kind: s.kind, Argv: supervisor.BoundArgv(s.cmd.Argv, maxAppArgv), Dir: dir, Started: time.Now(), Running: true, Processes: 1}
	d.mu.Lock()
	if d.runningLocked() >= maxApps {
		d.mu.Unlock()
		return nil, api.ExitOurs, api.Refused(api.CodeBusy, s.kind, name, fmt.Sprintf("%d apps run already", maxApps), "`carrel apps "+d.req.Name+"` lists them, `carrel kill` ends one")
	}
	tool := s.kind == api.AppExec && !s.cmd.Terminal && isFileTool(&s.cmd)
	if tool {
		a.helper = d.files.take(dir)
	}
	if a.helper != nil {
		a.label = a.helper.label
	} else {
		d.labels++
		a.label = d.labels
	}
	if tool && a.helper == nil {
		d.labels++
		a.stays = helperThatStays(env, dir, d.labels)
	}
	d.apps = append(d.apps, a)
	d.mu.Unlock()
	if d.up.broker != nil {
		a.job = d.up.broker.keeper.StartApp(a.info.ID, a.label, argv, strings.Join(s.cmd.Argv, " "), s.kind == api.AppSetup || s.kind == api.AppExec && !s.cmd.Terminal && !d.p.IsAgent(s.cmd.Argv))
	}
	if a.helper != nil && a.helper.ask(argv, s.stdio) == nil {
		a.id = a.helper.id
	} else {
		d.files.drop(a.helper)
		a.helper = nil
		a.id, err = d.up.walls.Exec(sandbox.Command{Argv: argv, Env: env, Dir: dir, Session: true, Terminal: a.sits, Label: a.label}, s.stdio)
	}
	if err != nil {
		d.drop(a)
		if d.ending() {
			return nil, api.ExitOurs, api.Refused(api.CodeStart, s.kind, name, "the workspace is ending", "`carrel start "+d.req.Name+"` makes it anew when it has ended")
		}
		if start := (*sandbox.StartError)(nil); errors.As(err, &start) && start.Name == dir && dir != argv[0] {
			return nil, api.ExitNotRunable, api.Refused(api.CodeStart, s.kind, dir, fmt.Sprintf("the directory %q cannot be entered inside: %s", dir, start.Err), "--cwd names one that is seen there")
		}
		var exit int
		if exit, err = d.p.whyNotStarted(argv[0], err); exit == 0 {
			exit = api.ExitNotRunable
		}
		return nil, exit, err
	}
	for stream := range s.from {
		a.drain(stream)
	}
	d.server.Emit(api.Event{Kind: api.EventLaunch, Text: a.info.ID + " " + a.info.Kind + " " + a.info.Name})
	d.p.Audit.App("start", &a.info)
	d.busy.Go(func() { d.await(a) })
	d.changed()
	return a, 0, nil
}

// command completes what is to be started.
func (d *desk) command(c *api.Command) (argv, env []string, dir string, err error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, d.req.Name, "no command was given", "carrel exec NAME -- COMMAND [ARG...]")
	}
	dir = d.p.Plan.Command.Dir
	if c.Dir != "" {
		if dir = filepath.Clean(c.Dir); !filepath.IsAbs(dir) {
			return nil, nil, "", api.Refused(api.CodeRequest, api.OpExec, c.Dir, fmt.Sprintf("%q is not an absolute path", c.Dir), "a directory as it is seen inside")
		}
	}
	env = slices.Clone(d.p.Plan.Command.Env)
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
	return d.p.WithAgentFlags(c.Argv), env, dir, nil
}

// await waits for the end of an app's first process and tells it.
func (d *desk) await(a *app) {
	exit, stays := a.ended(d.up.walls)
	a.exit = exit
	a.finishLogs()
	left := 0
	if !stays {
		left = d.inside.Count(a.label)
	}
	var steps []uint64
	if left == 0 {
		steps = d.endJob(a)
	} else {
		steps = a.job.Steps()
	}
	d.mu.Lock()
	a.info.Running, a.info.Ended, a.info.Processes, a.info.Steps = false, time.Now(), left, steps
	a.info.Exit = exit.Code
	if exit.Signal != 0 {
		a.info.Exit, a.info.Signal = 128+exit.Signal, unix.SignalName(syscall.Signal(exit.Signal))
	}
	text := fmt.Sprintf("%s %s: status %d", a.info.ID, a.info.Name, a.info.Exit)
	d.p.Audit.App("end", &a.info)
	d.forgetOld()
	d.mu.Unlock()
	d.server.Emit(api.Event{Kind: api.EventExit, Text: text})
	if stays {
		d.files.give(a.helper)
	}
	close(a.done)
	d.rests.Reset(sandbox.RestAfter)
	d.files.begin(a.stays)
	d.changed()
	for left > 0 { // what it has left behind is still its own
		select {
		case <-d.up.walls.Done():
			left = 0
		case <-time.After(lingerPeriod):
			left = d.left.Of(d.inside, a.label)
		}
		if left == 0 {
			steps = d.endJob(a)
		}
		d.mu.Lock()
		a.info.Processes, a.info.Steps = left, steps
		d.mu.Unlock()
	}
}

// ended waits for the end of an app's first process, or of the request that its helper
// carries out, and says whether that stays.
func (a *app) ended(walls *sandbox.Walls) (exit sandbox.Exit, stays bool) {
	if a.helper != nil {
		return a.helper.wait()
	}
	exit, err := walls.Wait(a.id)
	if err != nil { // the walls came down around it
		exit = sandbox.Exit{Signal: int(syscall.SIGKILL)}
	}
	return exit, false
}

// processes finds what runs of an app. A helper that stays is another app's by now where
// this one has ended.
func (a *app) processes(stage int) ([]processes.Process, error) {
	select {
	case <-a.done:
		if a.helper != nil {
			return nil, nil
		}
	default:
	}
	return processes.FindLabelled(stage, a.label)
}

// endJob closes the steps of an app of which no process is left.
func (d *desk) endJob(a *app) []uint64 {
	if a.job == nil {
		return nil
	}
	steps, err := d.up.broker.keeper.EndApp(a.job, a.exit.Code)
	if err != nil {
		d.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: err.Error()})
	}
	return steps
}

// finishLogs waits until what an app has written is in its logs. What it left behind
// may write on, and keep the pipe open.
func (a *app) finishLogs() {
	if a.logs == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		a.drained.Wait()
		for _, l := range a.logs {
			l.Close()
		}
		close(done)
	}()
	empty := 0
	for end := time.Now().Add(drainTime); time.Now().Before(end) && empty < 2; {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		if empty++; a.unread() > 0 {
			empty = 0
		}
	}
}

// unread is how much an app has written that was not read yet, in bytes.
func (a *app) unread() (n int) {
	for _, f := range a.from {
		raw, err := f.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			if left, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ); err == nil {
				n += left
			}
		})
	}
	return n
}

// drop forgets an app that did not start.
func (d *desk) drop(a *app) {
	d.endJob(a)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apps = slices.DeleteFunc(d.apps, func(b *app) bool { return a == b })
}

// forgetOld drops the oldest apps that have ended; the lock is held.
func (d *desk) forgetOld() {
	over := -keptApps
	for _, a := range d.apps {
		if !a.info.Running {
			over++
		}
	}
	d.apps = slices.DeleteFunc(d.apps, func(a *app) bool {
		if over <= 0 || a.info.Running || a.info.Processes > 0 {
			return false
		}
		over--
		for stream := range a.logs {
			d.place.RemoveLog(a.info.ID, stream)
		}
		return true
	})
}

func (d *desk) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.runningLocked()
}

func (d *desk) runningLocked() (n int) {
	for _, a := range d.apps {
		if a.info.Running {
			n++
		}
	}
	return n
}

// list tells of all apps; look has their processes counted.
func (d *desk) list(look bool) []api.App {
	d.mu.Lock()
	apps := slices.Clone(d.apps)
	d.mu.Unlock()
	var now processes.Counts
	out := make([]api.App, 0, len(apps))
	for _, a := range apps {
		one := d.told(a, false)
		if look {
			d.look(a, &one, &now)
		}
		out = append(out, one)
	}
	return out
}

// look puts in what an app is at this moment.
func (d *desk) look(a *app, one *api.App, now *processes.Counts) {
	if one.Running || one.Processes > 0 {
		one.Processes = now.Of(d.inside, a.label)
		one.Steps = a.job.Steps()
	}
}

func (d *desk) told(a *app, look bool) api.App {
	d.mu.Lock()
	info := a.info
	d.mu.Unlock()
	if look {
		d.look(a, &info, new(processes.Counts))
	}
	if a.term != nil {
		info.Title = a.term.title()
	}
	return info
}

// find gives the app that an id, its beginning, or a name means: one that runs before
// one that has ended, the newest before others of its name.
func (d *desk) find(word string) (*app, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []*app
	for _, a := range slices.Backward(d.apps) {
		if a.info.ID == word {
			return a, nil
		}
		if a.info.Name == word && (len(found) == 0 || a.info.Running && !found[0].info.Running) {
			found = []*app{a}
		}
	}
	if len(found) == 0 && word != "" {
		for _, a := range d.apps {
			if strings.HasPrefix(a.info.ID, word) {
				found = append(found, a)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, api.Refused(api.CodeNoApp, api.OpApps, shortened(word), fmt.Sprintf("there is no app %.64q", word), "`carrel apps "+d.req.Name+"` lists them")
	}
	return nil, api.Refused(api.CodeNoApp, api.OpApps, shortened(word), fmt.Sprintf("several apps begin with %.64q", word), "give more of the id")
}

// ask asks an app and all that it has started to end. Shells at a terminal only hear
// that it is closed.
func (d *desk) ask(a *app) {
	pids, _ := a.processes(d.up.walls.PID()) // an error: of none is known
	processes.Signal(pids, syscall.SIGTERM)
	if a.sits {
		processes.Signal(pids, syscall.SIGHUP)
	}
	processes.Signal(pids, syscall.SIGCONT)
}

// atTerminals are the apps that run at one.
func (d *desk) atTerminals() (out []*app) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.apps {
		if a.sits && (a.info.Running || a.info.Processes > 0) {
			out = append(out, a)
		}
	}
	return out
}

// kill ends an app and all that it has started, and returns when nothing of it is left.
func (d *desk) kill(a *app, cancelled <-chan struct{}) error {
	stage := d.up.walls.PID()
	d.ask(a)
	for end := time.Now().Add(stopGrace); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if left, err := a.processes(stage); err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-cancelled:
			return errors.New("nobody waits any more")
		case <-d.over:
			return nil
		default:
		}
	}
	return processes.KillLabel(stage, a.label)
}

// killNow ends an app that stands still, and all that it has started: none of it runs
// again. What is started by others meanwhile is found by whoever waits for its end.
func (d *desk) killNow(id string) {
	a, err := d.find(id)
	if err != nil {
		return
	}
	stage := d.up.walls.PID()
	for range 3 {
		pids, _ := a.processes(stage)
		processes.Signal(pids, syscall.SIGKILL)
	}
}

// newLogs opens what an app's output goes to; with an error too, as far as it came.
func (d *desk) newLogs(a string, streams []string) (map[string]*spool.Log, error) {
	logs := make(map[string]*spool.Log)
	for _, stream := range streams {
		l, err := d.place.CreateLog(a, stream)
		if err != nil {
			return logs, fmt.Errorf("opening the log of an app: %w", err)
		}
		logs[stream] = l
	}
	return logs, nil
}

// drain copies what an app writes into its log until the last process has closed it.
func (a *app) drain(stream string) {
	log, from := a.logs[stream], a.from[stream]
	a.drained.Go(func() {
		defer from.Close()
		_, _ = io.CopyBuffer(struct{ io.Writer }{log}, struct{ io.Reader }{from}, make([]byte, 32<<10))
	})
}
