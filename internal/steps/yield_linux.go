package steps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/history"
)

// An undo needs the history for itself, and a workspace that stays would hold it for
// days. So it lets go when it is asked to: nothing inside runs meanwhile, every open step
// is closed, and what comes afterwards begins new ones.

// Yielded is a history that was let go of: no change can be made until it is taken back.
type Yielded struct {
	run   *Recorder
	lines []*line // of its apps
}

// yieldTime is how long a change that is on its way may take: one that waits for a
// person's word is not waited for.
const yieldTime = 2 * time.Second

// Yield closes all that is open. No process inside may run until back is called.
func (k *Recorder) Yield(ctx context.Context) (*Yielded, error) {
	ctx, cancel := context.WithTimeout(ctx, yieldTime)
	defer cancel()
	for !k.gate.TryLock() {
		select {
		case <-ctx.Done():
			return nil, errors.New("a change is on its way, or waits for an answer: `carrel approvals` lists those")
		case <-time.After(time.Millisecond):
		}
	}
	y := &Yielded{run: k}
	k.jobs.mu.Lock()
	for _, one := range k.jobs.list {
		y.lines = append(y.lines, one.line)
	}
	k.jobs.mu.Unlock()
	var own []history.Written
	if k.writer != nil && k.step != 0 {
		var theirs carried
		own, theirs = k.jobs.share(k.writer)
		for one, files := range theirs {
			one.line.kept = append(one.line.kept, files...)
		}
	}
	err := k.letGo(own)
	for _, line := range y.lines {
		err = errors.Join(err, line.lineLetsGo())
	}
	if err != nil {
		return nil, errors.Join(err, y.Back())
	}
	return y, nil
}

// lineLetsGo is letGo for an app, which may be ending at this moment.
func (l *line) lineLetsGo() error {
	l.gate.Lock()
	defer l.gate.Unlock()
	if l.closed {
		return nil
	}
	var written []history.Written
	if l.writer != nil {
		written = l.writer.StillWritten()
	}
	return l.letGo(written)
}

// letGo ends the open step and the segment. written is what can still be written to.
func (l *line) letGo(written []history.Written) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.writer != nil {
		l.kept = append(l.kept, written...)
		if l.step != 0 {
			l.counted()
		}
		l.tellStep("close", l.step)
		_, err = l.writer.End(0, nil)
		err = errors.Join(err, l.writer.Sync(), l.writer.Close())
		l.former = append(l.former, Segment{l.writer.Segment(), l.writer.Lost()})
		l.writer, l.step = nil, 0
	}
	if l.store != nil {
		l.store.Close()
		l.store = nil
	}
	if err != nil {
		return fmt.Errorf("closing a step of the history: %w", err)
	}
	return nil
}

// Back lets changes be made again. What can be written to without asking is kept first.
func (y *Yielded) Back() error {
	defer y.run.gate.Unlock()
	err := y.run.takeBack()
	for _, line := range y.lines {
		line.gate.RLock()
		if !line.closed {
			err = errors.Join(err, line.takeBack())
		}
		line.gate.RUnlock()
	}
	return err
}

func (l *line) takeBack() error {
	files := l.kept
	if l.kept = nil; len(files) == 0 {
		return nil
	}
	err := l.begun(false)
	if err == nil {
		err = l.writer.Keep(files)
	}
	return err
}
