//go:build !linux

package fuserelay

import (
	"fmt"
	"os"
)

// Main says that there is no FUSE here.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "carrel-relay: it runs inside a Linux machine")
	return 125
}
