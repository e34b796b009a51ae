// Package hostfacts finds, once and remembered, the canonical name and the kind of each path,
// and where the kernel's own file systems lie; and the project around a directory. The answers
// are the base of what is decided and mounted; the package itself decides nothing and changes
// nothing.
package hostfacts

// OwnTops are the directories at the root that a workspace has of its own.
var OwnTops = []string{"proc", "sys", "dev", "run"}
