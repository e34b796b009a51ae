package session

import (
	"path/filepath"
	"syscall"
	"time"

	"carrel/internal/container"
	"carrel/internal/hostfacts"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
)

// openContainer makes what the container of a workspace needs outside; drop takes it away.
func openContainer(s *Session, id string) (drop func(), err error) {
	if s.Container == nil {
		return func() {}, nil
	}
	if s.State == nil {
		return func() {}, statedir.ErrNone
	}
	run := &container.Run{Engine: s.Container.Engine, Image: s.Container.Image, Workspace: id, UID: s.UID, GID: s.GID, RuntimeDir: s.Getenv("XDG_RUNTIME_DIR")}
	if run.Stage, err = hostfacts.ContainedStage(); err != nil {
		return func() {}, err
	}
	if err := run.Open(filepath.Join(s.State.Root(), "containers")); err != nil {
		return func() {}, err
	}
	var stop func()
	run.Interrupted, stop = stdio.Interruption(startPatience, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	s.Plan.Container = run
	return func() {
		stop()
		if err := run.Close(); err != nil {
			s.Note("the directory of the container stays behind: %v", err)
		}
	}, nil
}

// startPatience is how long an engine may go on with a start after a signal that asks to end.
// Mostly the container stands by then, and the command gets the signal.
const startPatience = 3 * time.Second
