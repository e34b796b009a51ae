package api

// Sight is how much of a path a workspace shows.
type Sight byte

// Sights, each showing more than the one before it.
const (
	SightNone Sight = '0' // not even its name
	SightName Sight = '1' // its name: what it lies in may be read
	SightRead Sight = '2' // what is there
)

// LeftOut is how much an answer about the history does not tell, and why.
type LeftOut struct {
	Paths int    `json:"paths"`
	Why   string `json:"why"`
}

// NewLeftOut speaks of paths that a workspace does not show; nil for none.
func NewLeftOut(paths int) *LeftOut {
	switch paths {
	case 0:
		return nil
	case 1:
		return &LeftOut{1, "the policy of this workspace does not let it be read"}
	}
	return &LeftOut{paths, "the policy of this workspace does not let them be read"}
}
