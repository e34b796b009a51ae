package fuserelay

import (
	"errors"
	"fmt"
	"os"
	"path"
)

// failed is what the relay ends with where it could not do its work.
const failed = 125

// Main mounts the directories that are named, and ends with the stream. It says "ready" on
// standard error when all are there.
func Main(places []string) int {
	if err := relay(places); err != nil {
		fmt.Fprintln(os.Stderr, "carrel-relay:", err)
		return failed
	}
	return 0
}

func relay(places []string) error {
	if len(places) == 0 {
		return errors.New("no directory is named: carrel-relay takes those that it mounts")
	}
	for _, place := range places {
		if !path.IsAbs(place) || path.Clean(place) != place || place == "/" {
			return fmt.Errorf("%q is no absolute path of a directory", place)
		}
	}
	return Run(os.Stdin, os.Stdout, places, func() { fmt.Fprintln(os.Stderr, "ready") })
}
