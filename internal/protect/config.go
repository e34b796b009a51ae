package protect

import (
	"fmt"
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

// VetGitConfig compares a repository's configuration before and after a change
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
func VetGitConfig(before, after []byte) error {
	old, err := parseConfig(before)
	if err != nil {
		if c, ok := err.(*ConfigError); ok {
			c.Before = true
		}
		return err
	}
	now, err := parseConfig(after)
	if err != nil {
		return err
	}
	if err := vetFixed(old, now); err != nil {
		return err
	}
	return vetChanged(old, now)
}

// vetFixed holds all keys that are not harmless to what they were.
func vetFixed(old, now []entry) error {
	fixed := func(e entry) bool { return harmless(&e) != nil }
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
func blame(old, now []entry, i int) error {
	e := &now[i]
	if i < len(old) && !slices.ContainsFunc(now[i:], func(n entry) bool { return n.same(&old[i]) }) &&
		slices.ContainsFunc(old[i:], func(o entry) bool { return o.same(e) }) {
		return removed(&old[i])
	}
	return &ConfigError{Key: e.name(), Line: e.line, Reason: "this key is not among those that may change inside, as it can make git run programs, read other files or work elsewhere; change it outside, or grant the file with --write"}
}

func removed(e *entry) error {
	return &ConfigError{Key: e.name(), Line: e.line, Before: true, Reason: "this key is gone or moved; only harmless keys may be removed inside: remove it outside, or grant the file with --write"}
}

// vetChanged looks at each harmless key whose list of values is not what it was.
// Then all its values are checked: which of several counts depends on the order.
func vetChanged(old, now []entry) error {
	changed, is := changedKeys(old, now)
	remotes := configuredRemotes(now)
	for i := range now {
		e := &now[i]
		check := harmless(e)
		if check == nil || !changed[e.name()] {
			continue
		}
		if reason := vetValue(e, check, remotes); reason != "" {
			return &ConfigError{Key: e.name(), Line: e.line, Reason: reason}
		}
	}
	for i := range old { // what may not be removed
		e := &old[i]
		if e.name() == "extensions.worktreeconfig" && is[e.name()] == nil {
			return removed(e)
		}
	}
	return nil
}

// vetValue gives what is wrong with an entry, "" where nothing is.
func vetValue(e *entry, check check, remotes map[string]bool) string {
	if e.odd {
		return "a changed value has to stand on one line, with tabs in quotes"
	}
	if e.hasSub && !plainName(e.sub) {
		return fmt.Sprintf("%q is no name that git itself would give; names have no leading \"-\" or \"/\", no \"..\", blanks or quotes", e.sub)
	}
	if e.noValue {
		return "it has no value; write key = value"
	}
	if strings.ContainsAny(e.value, "\b\x00") {
		return "the value holds a control character"
	}
	return check(e, e.value, remotes)
}

// changedKeys are those whose values differ; is holds the present ones.
func changedKeys(old, now []entry) (changed map[string]bool, is map[string][]*entry) {
	was, is := byName(old), byName(now)
	changed = make(map[string]bool)
	for name, values := range is {
		changed[name] = !slices.EqualFunc(was[name], values, func(a, b *entry) bool { return a.same(b) })
	}
	return changed, is
}

func byName(list []entry) map[string][]*entry {
	m := make(map[string][]*entry)
	for i := range list {
		m[list[i].name()] = append(m[list[i].name()], &list[i])
	}
	return m
}

// configuredRemotes are those with an address. Any other name that stands where
// a remote belongs is taken for a path.
func configuredRemotes(list []entry) map[string]bool {
	m := make(map[string]bool)
	for i := range list {
		if e := &list[i]; e.section == "remote" && e.hasSub && e.key == "url" && e.value != "" {
			m[e.sub] = true
		}
	}
	return m
}
