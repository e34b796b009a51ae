package clipboard

// Carried says what was carried between a person's clipboard and a workspace's.
type Carried struct {
	Type  string `json:"type"` // text/plain;charset=utf-8, image/png
	Bytes int    `json:"bytes"`
}

// HolderArg0 is how the process that holds a person's clipboard calls itself.
const HolderArg0 = "carrel-clipboard"
