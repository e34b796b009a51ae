package review

import "carrel/internal/review/replay"

// Stat is what is known of a path.
type Stat = replay.Stat

// Kind says what is at a path.
type Kind = replay.Kind

// Kinds of what is at a path.
const (
	None    = replay.None
	File    = replay.File
	Dir     = replay.Dir
	Symlink = replay.Symlink
	Fifo    = replay.Fifo
	Socket  = replay.Socket
	Device  = replay.Device
)

// unchanged says whether what an index has of a path is what is there now. The number of the
// device is not compared: it may be another one after a reboot. Of a directory the times change
// with what is in it, and its entries have records of their own.
func unchanged(was, now *Stat) bool {
	if was.Kind != now.Kind {
		return false
	}
	switch was.Kind {
	case None:
		return true
	case Dir:
		return was.Perm == now.Perm
	}
	return was.Perm == now.Perm && was.Size == now.Size && was.Mtime == now.Mtime && was.Ctime == now.Ctime && was.Ino == now.Ino
}
