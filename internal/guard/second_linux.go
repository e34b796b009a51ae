package guard

import (
	"carrel/internal/broker"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// second gives the protected file of which a change writes to another name, "" for none.
func (c *Config) second(ch *broker.Change, at string) string {
	if len(c.Seconds) == 0 || c.Exactly {
		return ""
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpTruncate, broker.OpChmod, broker.OpChown, broker.OpSetxattr:
	default:
		return ""
	}
	in := broker.Inode{Dev: ch.Was.Dev, Ino: ch.Was.Ino}
	var st unix.Stat_t
	if in == (broker.Inode{}) && ch.Pinned > 0 && unix.Fstat(ch.Pinned, &st) == nil {
		in = broker.Inode{Dev: st.Dev, Ino: st.Ino}
	}
	if of := c.Seconds[in]; of != "" && !pathname.Within(at, of) {
		return of
	}
	return ""
}
