package tools

import (
	"os"
	"time"

	"carrel/internal/api"
)

// Limits bound what is kept of a command's output, and say who hears of it.
type Limits struct {
	Stdout, Stderr int // bytes; 0 is 128 KiB

	// Stdin, where it is not nil, is the command's standard input in place of bytes. It is closed.
	Stdin *os.File

	// Progress, where it is not nil, is called with each new piece of output, one at a
	// time. The bytes are its own until it returns.
	Progress func(stream string, piece []byte)
}

// Result is how a command ended.
type Result struct {
	App            api.App // its exit status, and its steps of the history
	Stdout, Stderr *Output
}

// BashRequest is a shell command.
type BashRequest struct {
	Command    string
	Dir        string        // absolute, inside; "" is the workspace's own
	Env        []string      // NAME=VALUE
	Timeout    time.Duration // 0 is two minutes, MaxTimeout is the most
	Background bool          // it goes on alone, and the result is there at once
	Output     int           // bytes of output that are kept in the result
	Progress   func(piece []byte)
}

// Times of a shell command.
const (
	usualTimeout = 2 * time.Minute
	MaxTimeout   = time.Hour
)

// BashResult is how it ended. All that it has written is kept by the workspace as the
// log of App, 8 MiB of it, until the app is forgotten: `carrel logs NAME APP`.
type BashResult struct {
	App      api.App // Exit, Signal, Steps; Dir is where it ran
	Output   *Output // both streams, as they came; empty in the background
	TimedOut bool    // it was ended since its time was over
}
