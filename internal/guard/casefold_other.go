//go:build !linux

package guard

// FoldsCase is not known here.
func FoldsCase(string) bool { return false }
