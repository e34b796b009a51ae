// Package globscan finds what the globs of a policy match on the host now, where mounts have
// to hold it. A directory that cannot be searched is denied as a whole: the command runs as
// the same user and could open it again. Each search is bounded.
package globscan

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// Closed gives the directory below root that keeps us from looking at path. We
// own it, or its permissions would not matter: so the command can open it again,
// and what the rules say of its content could not be held. It is hidden whole.
func Closed(path, root string) string {
	if !pathname.Within(path, root) {
		return ""
	}
	for dir := root; dir != path; {
		if st, err := os.Lstat(dir); err != nil || !st.IsDir() {
			return ""
		}
		if !hostfacts.Searchable(dir) {
			return dir
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		next, _, _ := strings.Cut(rest, "/")
		dir = filepath.Join(dir, next)
	}
	return ""
}

// Hide denies a directory that cannot be looked into.
func Hide(dir string) policy.Rule {
	return policy.Rule{Path: dir, Access: policy.Deny,
		Source: policy.Source{Layer: policy.LayerDefault, Text: "it cannot be searched for what is denied or protected; give it back its permissions"}}
}

// Base is the directory that everything a glob matches lies below.
func Base(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		glob = glob[:i]
	}
	return path.Clean(glob[:strings.LastIndexByte(glob, '/')+1])
}

// ErrMoved says that a directory went away while it was being searched: what it
// held may be somewhere that was searched before.
var ErrMoved = errors.New("directories are being renamed while the deny and protect globs are searched for; start again when that has settled")
