package histories

import "time"

// Project is what the history of one project takes.
type Project struct {
	ID      string
	Path    string // "" where it is not known
	Gone    bool   // there is no such directory any more
	Dir     string // of the history
	Steps   int64
	Bytes   int64 // of the disk
	Exact   bool  // counted, and not estimated
	Used    time.Time
	Counted bool // it is in the place where histories are now, and in the total
}

// Usage is what the histories of all projects take.
type Usage struct {
	Projects         []Project // the one that was used last first
	Total            int64     // of those that count
	Each, Altogether int64     // limits, 0 for none
}
