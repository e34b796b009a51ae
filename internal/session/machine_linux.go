package session

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/changelog"
	"carrel/internal/decide"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/inside"
	"carrel/internal/machine"
	"carrel/internal/policy"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
)

// raiseInMachine is raise in the virtual machine of the project. Whatever the machine does, the
// project is changed by the interceptor in this process alone.
func raiseInMachine(s *Session, u *raised, id string, files [3]*os.File, starting func()) error {
	if s.State == nil {
		return statedir.ErrNone
	}
	alone, err := s.Machine.Take(s.State.Project(s.Place.Project))
	if err != nil {
		return err
	}
	s.NoteUse() // a machine is made for it, whatever comes of this
	ctx, stop := stdio.Interruption(0, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	u.drop = func() {
		stop()
		alone.Close()
	}
	relay, err := hostfacts.RelayProgram()
	if err != nil {
		return err
	}
	defer relay.Close()
	b := &brokered{heard: s.Heard(), most: s.MostDenials(), own: new(remask.OwnFiles)}
	b.judge = guard.New(s.Guards(b.own))
	if b.record, err = changelog.Open(s.RecordsAt(), id, s.Request.Stays); err == nil {
		b.recorder, err = s.openSteps(id, 0) // none of its processes is one of this machine's
	}
	if err != nil {
		b.record.Close()
		return err
	}
	u.broker = b
	run := s.Machine.NewRun(s.Place.Project, s.Plan)
	u.machine, b.machine = run, run
	run.Decider, run.Refused = keepingWhole(s.Decision, b.judge), b.refuse
	run.Recorder = recording{b.record, b.recorder, b.judge, b.own, b.refuse}
	run.Came = func(path string) bool {
		came := b.own.CameTo(path, s.Place.Project, s.Policy)
		if came {
			b.judge.Hide(path)
		}
		return came
	}
	run.Lost = func(text string) {
		u.desk.Load().Emit(api.Event{Kind: api.EventNote, Text: text})
		fmt.Fprintln(os.Stderr, "carrel: machine: "+text)
	}
	run.Policy, run.Hidden, run.Alone, run.Relay, run.Note = s.Policy, b.judge.Hidden, aloneInProject(s.Decision), relay, s.Note
	dropHome, err := openMachineHome(s, run)
	if err != nil {
		return err
	}
	dropMachine := u.drop
	u.drop = func() {
		dropHome()
		dropMachine()
	}
	answerMachine(s, run, u, id)
	s.Machine.Tell(func(text string) { fmt.Fprintln(os.Stderr, "carrel: machine: "+text) })
	if s.Machine.Lasts() { // with programs of its own
		s.Plan.Command.Env, s.Plan.Command.Path = decide.MachineEnviron(s.Decision), ""
	}
	stage, err := run.Raise(ctx, s.Plan)
	if err != nil {
		return err
	}
	u.still.add(run, b)
	starting()
	u.walls, err = sandbox.Launch(s.Plan, "", stage, files, nil, nil, s.stopWith)
	return err
}

// openMachineHome shows the agent's settings and state in the home of commands, and what is written of
// the person's git configuration. drop ends that.
func openMachineHome(s *Session, run *machine.Run) (drop func(), err error) {
	if s.Agent != nil && s.Request.For == "" && len(s.Plan.Command.Argv) > 0 {
		if name := s.Request.Argv[0]; filepath.IsAbs(name) || filepath.Base(name) == name {
			run.Program, run.Install = name, s.Agent.Install
		}
	}
	dir, remove, err := statedir.Private(s.State)
	if err != nil {
		return nil, err
	}
	return func() {
		s.Home.End()
		if err := remove(); err != nil {
			s.Note("the private directory of the run stays behind: %v", err)
		}
	}, run.Files(dir, decide.MachineFiles(s.Decision))
}

// answerMachine begins to answer what programs in a machine connect to. All that comes is of this
// workspace, by the stream that it comes over, and nothing else is known of it: no process and no user.
func answerMachine(s *Session, run *machine.Run, up *raised, id string) {
	if s.Policy.Network == policy.NetFiltered {
		up.network.StartProxy(run.Listen(machine.ProxyAddress))
	}
	up.network.StartInward(run.DialInside)
	run.Ports, run.Dial = s.HostPorts(), up.network.DialPort
	up.machineAPI = run.Listen(inside.Socket)
	host, agent := decide.MachineSockets(s.Decision)
	for _, address := range agent {
		s.Keyring.ServeAgent(run.Listen(address))
	}
	if len(host) > 0 {
		var listeners []net.Listener
		for _, address := range host {
			listeners = append(listeners, run.Listen(address))
		}
		up.host = serveHost(s, up, id, listeners...)
	}
}
