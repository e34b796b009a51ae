package history

import (
	"carrel/internal/history/steplog"

	"carrel/internal/history/relate"
)

// Log is what the journals of a store say, with what was worked out of that.
type Log struct {
	steplog.Log
	related     *relate.Relations // what the steps from a number on say
	relatedFrom uint64
}
