package gitconf

import (
	"fmt"
	"path"
)

// VetBirth says what in the configuration of a repository born inside is more
// than git's own commands write: nil where all of it is harmless by the rules of
// VetChange, or describes the repository. inside judges a working tree that it
// names, as written.
func VetBirth(config []byte, inside func(tree string) bool) error {
	list, err := ParseStrict(config)
	if err != nil {
		return err
	}
	var rest []Entry
	for i := range list {
		e := &list[i]
		switch {
		case e.Odd || e.NoValue || describes[e.Name()] == nil:
			rest = append(rest, *e)
			continue
		case e.Name() == "core.worktree":
			if path.IsAbs(e.Value) || !inside(e.Value) {
				return &ConfigError{Key: e.Name(), Line: e.Line, Reason: fmt.Sprintf("the working tree %q lies elsewhere", e.Value)}
			}
		}
		if reason := describes[e.Name()](e, e.Value, nil); reason != "" {
			return &ConfigError{Key: e.Name(), Line: e.Line, Reason: reason}
		}
	}
	if err := vetFixed(nil, rest); err != nil {
		return err
	}
	return vetChanged(nil, rest)
}

// describes are keys that say what kind of repository one is. To change them in
// one that is there is another matter.
var describes = map[string]check{
	"core.repositoryformatversion": oneOf("0", "1"),
	"core.bare":                    boolean, "core.ignorecase": boolean, "core.symlinks": boolean, "core.precomposeunicode": boolean,
	"core.worktree":           text,
	"extensions.objectformat": oneOf("sha1", "sha256"), "extensions.refstorage": oneOf("files", "reftable"),
}
