package taskop_test

import "context"

// cleanupContext outlives a test.
func cleanupContext() context.Context { return context.Background() }
