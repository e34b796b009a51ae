//go:build linux && !amd64

package broker

// legacy has nothing to add: newer architectures have only the forms with a
// directory argument.
func legacy(map[int32]handler) {}

func legacyGroups(_, _ map[int32]bool) {}

func legacyReading() []int32 { return nil }

// isOpen says whether a call is open(2) itself, which is not there.
func isOpen(int32) bool { return false }
