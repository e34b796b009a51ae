package store

import (
	"carrel/internal/history/relate"
	"carrel/internal/history/steplog"
)

// Log is what the journals of a store say, with what was worked out of that.
type Log struct {
	steplog.Log
	related     *relate.Relations // what the steps from a number on say
	relatedFrom uint64
}
