package steps

import (
	"carrel/internal/broker"
	"carrel/internal/history"
	"carrel/internal/history/journal"
)

// historyChange says what a change does to names and objects; false for what
// leaves both as they are.
func historyChange(ch *broker.Change) (history.Change, bool) {
	c := history.Change{
		Path: ch.Path, To: ch.To, Dir: ch.Dir, Name: ch.Name, ToDir: ch.ToDir, ToName: ch.ToName, Pinned: ch.Pinned,
		In: journal.ID{Dev: ch.In.Dev, Ino: ch.In.Ino}, ToIn: journal.ID{Dev: ch.ToIn.Dev, Ino: ch.ToIn.Ino},
		Copied: ch.Copied, New: ch.New, Hides: ch.Hides,
	}
	if ch.Pinned > 0 && ch.Was.Ino != 0 {
		c.Is = journal.ID{Dev: ch.Was.Dev, Ino: ch.Was.Ino}
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpTruncate:
		c.Op, c.Opens = history.Content, true
	case broker.OpCreate, broker.OpMkdir, broker.OpMknod, broker.OpSymlink, broker.OpBind:
		c.Op, c.Opens = history.Make, ch.Op == broker.OpCreate
		if ch.Name == "" { // a file without one
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
		c.Op, c.Times = history.Meta, ch.Op == broker.OpUtimes
	default:
		return c, false
	}
	return c, true
}
