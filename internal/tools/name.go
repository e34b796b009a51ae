package tools

import (
	"crypto/rand"
	"encoding/hex"
)

// OwnName is a name for a workspace that only one front end uses, of one that says what
// it is of, and a mark that says which kind of front end.
func OwnName(of, mark string) string {
	var b [3]byte
	_, _ = rand.Read(b[:])
	return of[:min(len(of), maxOwnName)] + mark + hex.EncodeToString(b[:])
}

// maxOwnName leaves room for the rest of the name.
const maxOwnName = 40
