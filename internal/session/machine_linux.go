package session

import (
	"os"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/changelog"
	"carrel/internal/guard"
	"carrel/internal/hostfacts"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
)

// runInMachine runs the command in the virtual machine of the project. Whatever the machine
// does, the project is changed by the interceptor in this process alone.
func runInMachine(s *Session, r *api.Result) error {
	if s.State == nil {
		return statedir.ErrNone
	}
	if err := s.makePlan(); err != nil {
		return err
	}
	alone, err := s.Machine.Take(s.State.Project(s.Place.Project))
	if err != nil {
		return err
	}
	defer alone.Close()
	relay, err := hostfacts.RelayProgram()
	if err != nil {
		return err
	}
	defer relay.Close()
	before := s.sensitiveNow()
	defer func() { r.Born = s.bornInside(before) }()
	b := &brokered{heard: s.Heard(), most: s.MostDenials(), own: new(remask.OwnFiles)}
	b.judge = guard.New(s.Guards(b.own))
	if b.record, err = changelog.Open(s.RecordsAt(), r.Workspace, false); err != nil {
		return err
	}
	if b.keeper, err = s.openSteps(r.Workspace, os.Getpid()); err != nil {
		b.record.Close()
		return err
	}
	defer s.endBroker(b, r)
	signals := stdio.HoldSignals()
	defer signals.Stop()
	ctx, cancel := s.deadline()
	defer cancel()
	signals.Forward(machineCommand(cancel), stopGrace)
	run := s.Machine.NewRun(s.Place.Project, s.Plan)
	run.Decider, run.Recorder, run.Refused = b.judge, recording{b.record, b.keeper, b.judge, b.own, b.refuse}, b.refuse
	run.Policy, run.Hidden, run.Alone, run.Relay, run.Note = s.Policy, b.judge.Hidden, s.aloneInProject(), relay, s.Note
	status, late, err := run.Command(ctx, s.Place.Cwd, s.Request.Argv)
	if err != nil {
		return err
	}
	exit := sandbox.Exit{Code: status.ExitStatus()}
	if status.Signaled() {
		exit = sandbox.Exit{Signal: int(status.Signal())}
	}
	s.ended(r, exit, late)
	return nil
}

// machineCommand ends a command in a machine.
type machineCommand func()

// Signal implements [stdio.Target]. Signals do not reach processes in a machine: those that
// end a command end limactl, and with it what runs there.
func (end machineCommand) Signal(sig syscall.Signal) {
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		end()
	}
}

// Interrupt implements [stdio.Target].
func (end machineCommand) Interrupt() {}

// LetEnd implements [stdio.Target].
func (end machineCommand) LetEnd() { end() }
