package writer

import "carrel/internal/history/journal"

// maxArgv bounds what is kept of a command line, with perArg for each of its words:
// a record holds no more, and a step whose beginning cannot be read has nothing.
const (
	maxArgv = 64 << 10
	perArg  = 16
)

// Argv copies a command line, which is bytes. Of a long one it is the beginning, and
// the last word is "...".
func Argv(argv []string) []journal.Bytes {
	out := make([]journal.Bytes, 0, min(len(argv), maxArgv/perArg+1))
	left := maxArgv
	for _, a := range argv {
		if left -= len(a) + perArg; left < 0 {
			return append(out, "...")
		}
		out = append(out, journal.Bytes(a))
	}
	return out
}
