package workspace

import (
	"fmt"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/history"
)

// keeper tells the history of a project what the broker is about to change. A
// nil keeper has nowhere to keep anything.
type keeper struct {
	store  *history.Store
	writer *history.Writer
	step   uint64
}

// historyDir is where the history of a project is kept.
func (s *stateDir) historyDir(project string) string { return s.project(project) + "/history" }

// openHistory opens the history of the project and a step for the whole run.
func (p *Prepared) openHistory(id string) (*keeper, error) {
	if p.state == nil {
		return nil, nil
	}
	store, err := history.Open(p.state.historyDir(p.place.project))
	if err != nil {
		return nil, noRecord(err)
	}
	k := &keeper{store: store}
	if k.writer, err = store.NewWriter(id, p.Plan.Roots); err == nil {
		k.step, err = k.writer.Begin(history.Begin{Kind: history.StepRun, Run: id, Command: history.Argv(p.req.Argv)})
	}
	if err != nil {
		k.close(0)
		return nil, noRecord(err)
	}
	return k, nil
}

// before keeps what a change is about to destroy.
func (k *keeper) before(ch *broker.Change) error {
	if k == nil {
		return nil
	}
	c, ok := historyChange(ch)
	if !ok {
		return nil
	}
	return k.writer.Before(&c)
}

func (k *keeper) after(ch *broker.Change, err error) {
	if k == nil {
		return
	}
	if c, ok := historyChange(ch); ok {
		k.writer.After(&c, err)
	}
}

// close ends the step and the segment.
func (k *keeper) close(exit int) error {
	if k == nil {
		return nil
	}
	var err error
	if k.writer != nil {
		err = k.writer.End(exit)
		if e := k.writer.Close(); err == nil {
			err = e
		}
	}
	k.store.Close()
	if err != nil {
		return fmt.Errorf("closing step %d of the history: %w", k.step, err)
	}
	return nil
}

// historyChange says what a change does to names and objects; false for what
// leaves both as they are.
func historyChange(ch *broker.Change) (history.Change, bool) {
	c := history.Change{Path: ch.Path, To: ch.To}
	switch ch.Op {
	case broker.OpOpen, broker.OpTruncate:
		c.Op = history.Content
	case broker.OpCreate, broker.OpMkdir, broker.OpMknod, broker.OpSymlink, broker.OpBind:
		c.Op = history.Make
		if strings.HasSuffix(ch.Path, "/#") { // a file without a name
			return c, false
		}
	case broker.OpLink:
		c.Op = history.Link
	case broker.OpUnlink, broker.OpRmdir:
		c.Op = history.Remove
	case broker.OpRename:
		c.Op = history.Rename
	case broker.OpExchange:
		c.Op = history.Exchange
	case broker.OpChmod, broker.OpChown, broker.OpUtimes, broker.OpSetxattr, broker.OpIoctl:
		c.Op = history.Meta
	default:
		return c, false
	}
	return c, true
}
