//go:build !linux

package agenthome

import (
	"time"

	"carrel/internal/agents"
)

func (h *Home) dropLeftIn(agents.SharedPlace, time.Time, time.Time, int) bool { return true }
