package guard

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// mercurial decides a change of what makes Mercurial run programs or write elsewhere, at any
// depth; false for any other change. A repository below the project counts: hg opens those
// that .hgsub names when it works in the one around them.
//
//   - "hgrc" and "hgrc-not-shared" may say where other repositories are, and who commits.
//   - "sharedpath" names a repository of the project.
//   - Journals say what "hg recover" and "hg rollback" cut, remove and copy where.
func mercurial(d *Guard, ch *broker.Change, at string) (broker.Verdict, bool) {
	low := strings.ToLower(at)
	if !strings.Contains(low, "/.hg") || ch.Asked || d.c.Exactly || d.c.Restoring {
		return broker.Verdict{}, false
	}
	if !d.folds(at) {
		low = at
	}
	if !strings.Contains(low+"/", "/.hg/") {
		return broker.Verdict{}, false
	}
	v := refusal(at, "protected name: it makes Mercurial run programs or write elsewhere", "default", at)
	vet := hgFile(d, low, path.Dir(at))
	v.Most = maxIndex // a journal may have a line for each file
	switch {
	case carries(ch, at):
		err := hgCarried(d, ch, at, low)
		if err == nil {
			return broker.Verdict{Allowed: true, Alone: true}, true
		}
		v.Rule += ": " + err.Error()
		return v, true
	case vet == nil:
		return broker.Verdict{}, false
	}
	switch ch.Op {
	case broker.OpCreate, broker.OpOpen:
		v.Allowed, v.Vet = true, vet
	case broker.OpRename:
		if at == ch.Path {
			return broker.Verdict{}, false
		}
		v.Allowed, v.Vet = ch.Kind == broker.KindFile, vet
	case broker.OpLink, broker.OpExchange, broker.OpTruncate: // a part of what was judged may say something else
	default:
		return broker.Verdict{}, false
	}
	return v, true
}

// hgFile says how a file is judged that has a name of Mercurial's, in dir; nil for others.
func hgFile(d *Guard, at, dir string) func(before, after []byte) error {
	switch in, name := path.Split(at); {
	case strings.HasSuffix(in, "/.hg/") && (name == "hgrc" || name == "hgrc-not-shared"):
		return func(before, after []byte) error { return hgSettings(d, dir, string(before), string(after)) }
	case strings.HasSuffix(in, "/.hg/") && name == "sharedpath":
		return func(_, after []byte) error { return hgShared(d, dir, strings.TrimSuffix(string(after), "\n")) }
	case !strings.HasSuffix(in, "/.hg/store/"):
	case name == "journal" || name == "undo":
		return func(_, after []byte) error { return hgJournal(string(after)) }
	case name == "journal.backupfiles" || name == "undo.backupfiles":
		return func(_, after []byte) error { return hgBackups(string(after)) }
	}
	return nil
}

// hgLinks are the links that Mercurial makes: locks, those under which it takes away what a
// dead process has locked, and some to see whether there are links.
func hgLinks(name string) bool {
	name = strings.TrimSuffix(name, ".break")
	return name == "lock" || name == "wlock" || strings.HasPrefix(name, "checklink")
}

// hgCarried says why something may not come to a place in a repository without being
// written there: what it holds was not judged by the name that it gets.
func hgCarried(d *Guard, ch *broker.Change, at, low string) error {
	name := path.Base(low)
	if ch.Op == broker.OpSymlink || ch.Kind == broker.KindSymlink || ch.Over == broker.KindSymlink {
		if hgLinks(name) {
			return nil
		}
		return errors.New("hg would follow the link")
	}
	if name != "store" || path.Base(path.Dir(low)) != ".hg" { // nothing becomes ".hg" by a rename
		return nil
	}
	from := ch.Path
	if at == ch.Path {
		from = ch.To
	}
	for _, file := range []string{"journal", "undo", "journal.backupfiles", "undo.backupfiles"} {
		text, err := unshared(unix.AT_FDCWD, from+"/"+file, maxIndex)
		if err == nil {
			err = hgFile(d, low+"/"+file, at)(nil, text)
		}
		if err != nil && err != unix.ENOENT {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// hgSettings judges a configuration: it may say again what was in the one before.
func hgSettings(d *Guard, dir, before, after string) error {
	was, err := hgEntries(before)
	if err != nil {
		was = nil
	}
	is, err := hgEntries(after)
	if err != nil {
		return err
	}
	for _, e := range is {
		switch {
		case slices.Contains(was, e):
		case e.section == "ui" && e.key == "username", e.section == "phases":
		case e.section == "paths" && !d.c.leads(e.value, path.Dir(dir)):
		default:
			return fmt.Errorf("hg would act by %q in the section %q", e.key, e.section)
		}
	}
	return nil
}

// hgEntry is a line of a configuration.
type hgEntry struct{ section, key, value string }

// hgEntries reads a configuration as config.py of Mercurial does. A line that goes on with
// the one before is none that Mercurial writes.
func hgEntries(text string) (entries []hgEntry, err error) {
	section := ""
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimRight(line, " \t\r\n\v\f")
		switch {
		case strings.ContainsRune(line, '\r'): // it ends a line, too
			return nil, fmt.Errorf("%q is no line that is known", line)
		case line == "", line[0] == '#', line[0] == ';':
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = line[1 : len(line)-1]
		default:
			key, value, found := strings.Cut(line, "=")
			if !found || strings.ContainsRune(" \t\v\f%[", rune(line[0])) {
				return nil, fmt.Errorf("%q is no line that is known", line)
			}
			entries = append(entries, hgEntry{section, strings.TrimSpace(key), strings.TrimSpace(value)})
		}
	}
	return entries, nil
}

// hgShared judges where a repository has its history and its settings.
func hgShared(d *Guard, dir, to string) error {
	if to == "" {
		return nil
	}
	if !path.IsAbs(to) {
		to = dir + "/" + to
	}
	to = path.Clean(to)
	if path.Base(to) != ".hg" || !slices.ContainsFunc(d.c.Roots, func(r string) bool { return pathname.Within(to, r) }) || d.c.linkTo(to) != "" {
		return fmt.Errorf("%q is no repository of the project", to)
	}
	return nil
}

// hgJournal judges how long files of the store were before a transaction: lines of a name
// and a length, 0 for a file that was not there.
func hgJournal(text string) error {
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(line, "\x00"); hgLeaves(false, name) {
			return fmt.Errorf("hg would cut %q", name)
		}
	}
	return nil
}

// hgBackups judges what a transaction that was not ended is undone by: lines of a place, a
// name, the file that is copied to it, and a flag. hg follows any path there.
func hgBackups(text string) error {
	for line := range strings.Lines(text) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(parts) == 1 { // the version
			continue
		}
		if len(parts) < 3 {
			return errors.New("there is a line in it that Mercurial does not write")
		}
		for _, name := range parts[1:3] {
			if hgLeaves(parts[0] == "plain", name) {
				return fmt.Errorf("hg would write to %q", name)
			}
		}
	}
	return nil
}

// hgLeaves says whether a name leads out of a repository, or, where it is one of ".hg" and
// not of its store, to what hg runs programs by.
func hgLeaves(plain bool, name string) bool {
	parts := strings.Split(strings.ToLower(name), "/")
	last := parts[len(parts)-1]
	return path.IsAbs(name) || slices.Contains(parts, "..") || slices.ContainsFunc(parts[:len(parts)-1], hgLinks) ||
		plain && (strings.HasPrefix(last, "hgrc") || last == "sharedpath" || last == "requires")
}
