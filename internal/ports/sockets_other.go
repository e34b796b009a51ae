//go:build !linux

package ports

// inUse is only asked where there are workspaces.
func inUse(error) bool { return true }
