package stepview

import (
	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/show"
)

// Share is how much something keeps.
type Share struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	Disk  int64 `json:"disk_bytes"`
}

// ShareOf gives a share of a history.
func ShareOf(s history.Share) Share { return Share{s.Objects, s.Bytes, s.Disk} }

// Removal is what was removed of a history, or would be.
type Removal struct {
	DryRun bool       `json:"dry_run"`
	Steps  []uint64   `json:"steps"`
	Freed  Share      `json:"freed"`
	Kept   int64      `json:"kept_disk_bytes"`
	Over   int64      `json:"over_limit_bytes,omitempty"`
	Left   []api.Text `json:"left,omitempty"`
}

// RemovalOf tells of a removal.
func RemovalOf(r *history.Removal, dry bool) Removal {
	return Removal{DryRun: dry, Steps: show.NotNil(r.Steps), Freed: ShareOf(r.Freed), Kept: r.Kept, Over: r.Over, Left: show.Texts(r.Left)}
}
