package gitconf

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ConfigError says why a changed git configuration is not accepted. The file
// comes from a program inside: Error quotes what it takes from it.
type ConfigError struct {
	Key    string // as `git config --list` names it; "" where the file cannot be read
	Line   int    // in the file after the change, or before it where Before is set
	Reason string // what is wrong, or what would be right
	Before bool   // it is the file before the change that is meant
}

// Error names the key, the place and the reason.
func (e *ConfigError) Error() string {
	file := "git configuration"
	if e.Before {
		file += " before the change"
	}
	if e.Key == "" {
		return fmt.Sprintf("%s, line %d: %s", file, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s, line %d: %q: %s", file, e.Line, e.Key, e.Reason)
}

// VetChange compares a repository's configuration before and after a change
// (before is empty where there is none). It is nil when only harmless keys
// changed: those of harmless, to values that it accepts. Everything else must be
// there in the same order with the same values; comments and layout may change.
// Both files must be in syntax that all versions of git read alike.
//
// What it cannot see: a name of a remote that has no address any more is a path
// to git. So a branch that still names a removed remote, and a directory of that
// name made a repository, lead a push there; embedded repositories are to be
// looked for with BareRepository.
//
// It suits config and config.worktree. It looks at one file only: what included
// files hold is not its business, and include itself cannot change.
//
// The caller passes the bytes that it will put in place, not a file that
// somebody may still write.
func VetChange(before, after []byte) error {
	old, now, err := parseBoth(before, after)
	if err != nil {
		return err
	}
	return vetBoth(old, now)
}

// VetSubmodule is VetChange for the configuration of a submodule in the repository
// around it: where its working tree is goes with "submodule deinit", and comes back.
// inside judges a working tree, as written.
func VetSubmodule(before, after []byte, inside func(tree string) bool) error {
	old, now, err := parseBoth(before, after)
	if err != nil {
		return err
	}
	tree := func(e Entry) bool { return e.Name() == "core.worktree" && !e.Odd && !e.NoValue }
	for i := range now {
		if e := &now[i]; tree(*e) && (path.IsAbs(e.Value) || !inside(e.Value)) && !slices.ContainsFunc(old, func(o Entry) bool { return o.same(e) }) {
			return &ConfigError{Key: e.Name(), Line: e.Line, Reason: fmt.Sprintf("the working tree %q lies elsewhere", e.Value)}
		}
	}
	return vetBoth(slices.DeleteFunc(old, tree), slices.DeleteFunc(now, tree))
}

func parseBoth(before, after []byte) (old, now []Entry, err error) {
	old, err = ParseStrict(before)
	if err != nil {
		if c, ok := err.(*ConfigError); ok {
			c.Before = true
		}
		return nil, nil, err
	}
	now, err = ParseStrict(after)
	return old, now, err
}

func vetBoth(old, now []Entry) error {
	if err := vetFixed(old, now); err != nil {
		return err
	}
	return vetChanged(old, now)
}

// vetFixed holds all keys that are not harmless to what they were.
func vetFixed(old, now []Entry) error {
	fixed := func(e Entry) bool { return harmless(&e) != nil }
	old = slices.DeleteFunc(slices.Clone(old), fixed)
	now = slices.DeleteFunc(slices.Clone(now), fixed)
	for i := range now {
		if i >= len(old) || !now[i].same(&old[i]) {
			return blame(old, now, i)
		}
	}
	if len(old) > len(now) {
		return removed(&old[len(now)])
	}
	return nil
}

// blame finds the entry to name for the first difference, at i: where what was
// there follows later something was put in, else something went away.
func blame(old, now []Entry, i int) error {
	e := &now[i]
	if i < len(old) && !slices.ContainsFunc(now[i:], func(n Entry) bool { return n.same(&old[i]) }) &&
		slices.ContainsFunc(old[i:], func(o Entry) bool { return o.same(e) }) {
		return removed(&old[i])
	}
	return &ConfigError{Key: e.Name(), Line: e.Line, Reason: "this key is not among those that may change inside, as " + reason(e.Name()) + "; change it outside, or grant the file with --write"}
}

// reason says what is wrong with a key.
func reason(name string) string {
	if k, ok := Lookup(name); ok {
		return k.Why
	}
	return "it can make git run programs, read other files or work elsewhere"
}

func removed(e *Entry) error {
	return &ConfigError{Key: e.Name(), Line: e.Line, Before: true, Reason: "this key is gone or moved; only harmless keys may be removed inside: remove it outside, or grant the file with --write"}
}

// vetChanged looks at each harmless key whose list of values is not what it was.
// Then all its values are checked: which of several counts depends on the order.
func vetChanged(old, now []Entry) error {
	changed, is := changedKeys(old, now)
	remotes, had := configuredRemotes(now), configuredRemotes(old)
	for i := range now {
		e := &now[i]
		check := harmless(e)
		if check == nil || !changed[e.Name()] {
			continue
		}
		reason := vetValue(e, check, remotes)
		if reason == "" && e.HasSub && e.Section == "remote" && (e.Key == "mirror" || e.Key == "push") && had[e.Sub] {
			reason = "it decides what the next push to a remote that was there sends and deletes; change it outside, or grant the file with --write"
		}
		if reason != "" {
			return &ConfigError{Key: e.Name(), Line: e.Line, Reason: reason}
		}
	}
	for i := range old { // what may not be removed
		e := &old[i]
		if e.Name() == "extensions.worktreeconfig" && is[e.Name()] == nil {
			return removed(e)
		}
	}
	return nil
}

// vetValue gives what is wrong with an entry, "" where nothing is.
func vetValue(e *Entry, check check, remotes map[string]bool) string {
	if e.Odd {
		return "a changed value has to stand on one line, with tabs in quotes"
	}
	if e.HasSub && !plainName(e.Sub) && (e.Section != "lfs" || address(e, e.Sub, nil) != "") {
		return fmt.Sprintf("%q is no name that git itself would give; names have no leading \"-\" or \"/\", no \"..\", blanks or quotes", e.Sub)
	}
	if e.NoValue {
		return "it has no value; write key = value"
	}
	if strings.ContainsAny(e.Value, "\b\x00") {
		return "the value holds a control character"
	}
	return check(e, e.Value, remotes)
}

// changedKeys are those whose values differ; is holds the present ones.
func changedKeys(old, now []Entry) (changed map[string]bool, is map[string][]*Entry) {
	was, is := byName(old), byName(now)
	changed = make(map[string]bool)
	for name, values := range is {
		changed[name] = !slices.EqualFunc(was[name], values, func(a, b *Entry) bool { return a.same(b) })
	}
	return changed, is
}

func byName(list []Entry) map[string][]*Entry {
	m := make(map[string][]*Entry)
	for i := range list {
		m[list[i].Name()] = append(m[list[i].Name()], &list[i])
	}
	return m
}

// configuredRemotes are those with an address. Any other name that stands where
// a remote belongs is taken for a path.
func configuredRemotes(list []Entry) map[string]bool {
	m := make(map[string]bool)
	for i := range list {
		if e := &list[i]; e.Section == "remote" && e.HasSub && e.Key == "url" && e.Value != "" {
			m[e.Sub] = true
		}
	}
	return m
}
