//go:build !linux

package landlock

import (
	"fmt"
	"runtime"
)

// ABI returns 0: Landlock is a part of Linux.
func ABI() (int, error) { return 0, nil }

// Apply is not possible here: Landlock is a part of Linux.
func Apply(Ruleset) (Applied, error) {
	return Applied{}, fmt.Errorf("entering a Landlock domain: Landlock needs Linux, this is %s", runtime.GOOS)
}
