package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"carrel/internal/broker"
	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/protect"

	"golang.org/x/sys/unix"
)

// An index says other paths if it is read for names of objects of another length. How long
// they are a configuration says, and which one that is the file commondir. So each index is
// judged by what git reads it by, and once more when that changes.

var errHash = errors.New("it would change how long names of objects are, and there is an index")

// hashOf gives how long names of objects are in the repository of a git directory, as its
// configuration says. 0: that cannot be read. What is no git directory yet is taken for a
// part of the one around it.
func (d *facts) hashOf(dir string) int {
	if linked(dir) {
		return hashIn(path.Dir(path.Dir(dir)))
	}
	if around := d.gitAround(dir + "/x"); around != "" && !isThere(dir+"/config") && !protect.BareRepository(holds(dir, "")) {
		return hashIn(around)
	}
	return hashIn(dir)
}

// linked says whether a git directory is the part of a worktree, of which the configuration
// is in ../.. of it.
func linked(dir string) bool {
	return path.Base(path.Dir(dir)) == "worktrees" && isThere(dir+"/commondir")
}

// hashIn is what the configuration in a directory says of that.
func hashIn(dir string) int {
	text, err := gitdir.Read(dir+"/config", maxVetted)
	if err != nil && !gitdir.IsMissing(err) {
		return 0
	}
	return hashBy(text)
}

// hashBy is what a configuration says of that.
func hashBy(config []byte) int {
	entries, _ := gitconf.Parse(config)
	hash := gitconf.SHA1
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "extensions.objectformat") {
			hash = gitconf.SHA1
			if strings.EqualFold(e.Value, "sha256") {
				hash = gitconf.SHA256
			}
		}
	}
	return hash
}

// rereads says whether indexes of a git directory were judged by another length than the
// one of its new configuration. The one before is not read by its path: whoever opens that
// waits while it is written, the broker too. Nothing in it may stand for no file, and what is
// no git directory yet was taken for a part of the one around it.
func rereads(d *Guard, dir string, before, after []byte) bool {
	hash := hashBy(after)
	if linked(dir) {
		return d.hashOf(dir) != hash
	}
	if len(before) == 0 && !protect.BareRepository(holds(dir, "")) {
		if around := d.gitAround(dir + "/x"); around != "" && around != dir && hashIn(around) != hash {
			return true
		}
	}
	return hashBy(before) != hash
}

// indexAs judges what a git directory has of an index for a length of names.
func indexAs(dir string, hash int, restoring bool) error {
	entries, err := os.ReadDir(dir)
	if restoring && os.IsNotExist(err) && hash == gitconf.SHA1 {
		return nil // the undo makes it, and judges its index by that length too
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !protect.Index(e.Name(), true) {
			continue
		}
		text, err := unshared(unix.AT_FDCWD, dir+"/"+e.Name(), maxIndex)
		if err == nil {
			err = vetIndex(text, hash, nil)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name(), err)
		}
	}
	return nil
}

// indexesBelow finds each index in a directory; what cannot be looked at is one.
func indexesBelow(dir string) (found []string) {
	_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && protect.Index(e.Name(), true) {
			found = append(found, at)
		}
		return nil
	})
	return found
}

// rehashed gives how long names of objects are once the file that says so is gone; false
// for any other change, and where it makes no difference.
func (d *facts) rehashed(ch *broker.Change, at string) (hash int, ok bool) {
	if !removes(ch) && !(ch.Op == broker.OpRename && at == ch.Path) || d.c.Exactly || d.c.Restoring {
		return 0, false
	}
	dir := path.Dir(at)
	has := holds(dir, path.Base(at))
	switch name := d.folded(path.Base(at), at); {
	case name == "config" && !linked(dir):
		hash, ok = gitconf.SHA1, has("HEAD") || has("worktrees")
	case name == "commondir" && linked(dir):
		hash, ok = hashIn(dir), has("HEAD")
	}
	// Without all of these it is no git directory, and is judged when it becomes one.
	return hash, ok && has("objects") && has("refs") && hash != d.hashOf(dir)
}

// otherwise says why a directory may not have that length of names: an index in it was
// judged by another one, and git might read paths in it that lead elsewhere. Where the
// configuration is removed, as with all of the directory, such an index is emptied first.
func otherwise(ch *broker.Change, dir string, hash int) (empties []string, err error) {
	for _, at := range indexesBelow(dir) {
		text, err := unshared(unix.AT_FDCWD, at, maxIndex)
		if err == nil {
			if err = gitconf.IndexOtherwise(text, hash, inTree); err != nil && ch.Op == broker.OpUnlink && path.Dir(at) == dir {
				empties, err = append(empties, path.Base(at)), nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s would be read in another way, and has to go first: %w", strings.TrimPrefix(at, dir+"/"), err)
		}
	}
	return empties, nil
}
