package guest

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// errSilent says that nothing is known of the processes there.
var errSilent = errors.New("the machine does not say which processes it has")

// All gives how many processes have each label; those of any and of none are at 0.
func (h *Host) All() (map[uint64]int, error) {
	answer := make(chan Counts, 1)
	h.mu.Lock()
	h.question++
	id := h.question
	h.asked[id] = answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.asked, id)
	}()
	h.queue(item{record: Record{Message: sandbox.Message{Kind: MsgCount, ID: id}}})
	late := time.NewTimer(askTime)
	defer late.Stop()
	select {
	case c := <-answer:
		return c, nil
	case <-h.gone: // and all its processes with it
		return nil, nil
	case <-late.C:
		return nil, errSilent
	}
}

// Left gives how many processes have a label, of any and of none where it is 0.
func (h *Host) Left(label uint64) (int, error) {
	all, err := h.All()
	return all[label], err
}

// Running gives the label of the one command that runs, 0 where there are several or none.
func (h *Host) Running() (label uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.commands) == 1 {
		for _, c := range h.commands {
			label = c.label
		}
	}
	return label
}

// Count is Left for callers that ask again.
func (h *Host) Count(label uint64) int {
	n, _ := h.Left(label)
	return n
}

// Signal sends signals to all processes that have a label, to all where it is 0.
func (h *Host) Signal(label uint64, signals ...syscall.Signal) {
	for _, sig := range signals {
		h.queue(item{record: Record{Message: sandbox.Message{Kind: MsgLabel, ID: label, Signal: int(sig)}}})
	}
}

// killTime bounds how long the end of processes is waited for, and killPeriod how often it is asked.
const (
	killTime   = 10 * time.Second
	killPeriod = 10 * time.Millisecond
)

// Kill ends all that has a label, and returns when the machine says that nothing of it is left.
func (h *Host) Kill(label uint64) error {
	h.Signal(label, unix.SIGKILL)
	for end := time.Now().Add(killTime); ; time.Sleep(killPeriod) {
		left, err := h.Left(label)
		switch {
		case err == nil && left == 0:
			return nil
		case err != nil:
			return err
		case time.Now().After(end):
			return fmt.Errorf("%d processes are left after %s", left, killTime)
		}
	}
}

// Freeze stops all processes, as far as the machine is to be believed.
func (h *Host) Freeze() error {
	h.Signal(0, unix.SIGSTOP)
	_, err := h.All() // answered after that
	return err
}

// Thaw lets them go on.
func (h *Host) Thaw() error {
	h.Signal(0, unix.SIGCONT)
	return nil
}
