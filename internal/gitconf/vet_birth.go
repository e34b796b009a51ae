package gitconf

import (
	"fmt"
	"path"
	"strings"
)

// VetNew says what in the configuration of a repository born inside is more
// than git's own commands write: nil where all of it is harmless by the rules of
// VetChange, or describes the repository. inside judges a working tree that it
// names, as written. With local a remote may be a path, as a clone of one writes it: only a fetch or a
// push of the user's own goes there.
func VetNew(config []byte, inside func(tree string) bool, local bool) error {
	list, err := ParseStrict(config)
	if err != nil {
		return err
	}
	remotes := configuredRemotes(list)
	fetches := make(map[string]bool) // remotes from which git fetches over https alone
	for i := range list {
		if e := &list[i]; e.HasSub && e.Section == "remote" && e.Key == "url" {
			was, known := fetches[e.Sub]
			fetches[e.Sub] = strings.HasPrefix(e.Value, "https://") && (was || !known)
		}
	}
	var rest []Entry
	for i := range list {
		e := &list[i]
		check := describes[e.Name()]
		if e.HasSub {
			check = describesEach[e.Section+".*."+e.Key]
		}
		switch {
		case local && !e.Odd && e.HasSub && e.Section == "remote" && e.Key == "url" && plainName(e.Sub) && localPath(e.Value):
			e.Value = "https://localhost/" // it has an address, whatever names it
			rest = append(rest, *e)
			continue
		case local && !e.Odd && e.HasSub && e.Section == "branch" && e.Key == "remote" && plainName(e.Sub) && plainName(e.Value):
			continue // without an address it is a path, as while a remote is renamed
		case e.Odd || e.NoValue || check == nil || e.HasSub && !plainName(e.Sub):
			rest = append(rest, *e)
			continue
		case (e.Key == "promisor" || e.Key == "partialclonefilter") && !fetches[e.Sub], e.Name() == "extensions.partialclone" && !fetches[e.Value]:
			return &ConfigError{Key: e.Name(), Line: e.Line, Reason: "what is missing would be fetched when it is looked at; only over https that starts nothing else"}
		case e.Name() == "core.worktree":
			if path.IsAbs(e.Value) || !inside(e.Value) {
				return &ConfigError{Key: e.Name(), Line: e.Line, Reason: fmt.Sprintf("the working tree %q lies elsewhere", e.Value)}
			}
		}
		if reason := check(e, e.Value, remotes); reason != "" {
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
	"core.sharedrepository":   orNumber(orBool("group", "all", "world", "everybody", "umask")),
	"extensions.objectformat": oneOf("sha1", "sha256"), "extensions.refstorage": oneOf("files", "reftable"),
	"extensions.partialclone": remote,
	"submodule.active":        line,
}

// describesEach are those of a remote: what was left out of a clone is fetched from it
// when it is looked at.
var describesEach = map[string]check{
	"remote.*.promisor": boolean, "remote.*.partialclonefilter": line,
}
