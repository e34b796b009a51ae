//go:build !linux

package workspace

import (
	"context"

	"carrel/internal/supervisor"
)

// SendClipboard has nowhere to send to here.
func SendClipboard(context.Context, supervisor.Entry, func(string) string, bool) (Carried, error) {
	return Carried{}, errHere
}

// TakeClipboard has nothing to take here.
func TakeClipboard(context.Context, supervisor.Entry, func(string) string, []string, bool) (Carried, error) {
	return Carried{}, errHere
}

// HoldClipboard holds nothing here.
func HoldClipboard(string, func(string) string) int { return ExitOurs }
