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
	lines []*Recorder // of its apps
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
func (k *Recorder) lineLetsGo() error {
	k.gate.Lock()
	defer k.gate.Unlock()
	if k.closed {
		return nil
	}
	var written []history.Written
	if k.writer != nil {
		written = k.writer.StillWritten()
	}
	return k.letGo(written)
}

// letGo ends the open step and the segment. written is what can still be written to.
func (k *Recorder) letGo(written []history.Written) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	var err error
	if k.writer != nil {
		k.kept = append(k.kept, written...)
		if k.step != 0 {
			k.counted()
		}
		k.tellStep("close", k.step)
		_, err = k.writer.End(0, nil)
		err = errors.Join(err, k.writer.Sync(), k.writer.Close())
		k.former = append(k.former, Segment{k.writer.Segment(), k.writer.Lost()})
		k.writer, k.step = nil, 0
	}
	if k.store != nil {
		k.store.Close()
		k.store = nil
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

func (k *Recorder) takeBack() error {
	files := k.kept
	if k.kept = nil; len(files) == 0 {
		return nil
	}
	err := k.begun(false)
	if err == nil {
		err = k.writer.Keep(files)
	}
	return err
}
