//go:build !linux

package shim

// Name gives the host command that this program was started as: there are no walls here,
// and so no inside.
func Name(string) string { return "" }

// Main is never called.
func Main(string, []string) int { return 125 }

// Carried is never called.
func Carried(string, []string) int { return 125 }
