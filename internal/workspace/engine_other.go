//go:build !linux

package workspace

// PreviewEngine is never asked where nothing can be started.
func (p *Prepared) PreviewEngine() error { return nil }
