//go:build !linux

package replay

import (
	"fmt"
	"io"
)

// Main needs Linux.
func Main(_ io.Reader, _, errs io.Writer) int {
	fmt.Fprintln(errs, "layers are not supported on this system")
	return 1
}
