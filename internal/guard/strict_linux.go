package guard

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"carrel/internal/broker"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/secrets"
)

// With secrets strict each open is looked at: a secret that came into the project a moment
// ago, or that lies where nothing is watched, is refused like one that is masked. It is
// judged by the file that is about to be opened, and not by another look at its name.

// secretOf gives the path of a change at which there is a secret, and why it is one; "" for
// none. What a command of this run made is its own.
func (c *Config) secretOf(ch *broker.Change) (at, reason string) {
	if !c.Strict || removes(ch) { // what is gone tells nothing
		return "", ""
	}
	if ch.Kind == broker.KindFile || ch.Op == broker.OpLink {
		if reason, ok := c.isSecret(ch.Path, ch.Dir, ch.Name, ch.Pinned); ok {
			return ch.Path, reason
		}
	}
	if ch.Op == broker.OpExchange && ch.Over == broker.KindFile {
		if reason, ok := c.isSecret(ch.To, ch.ToDir, ch.ToName, 0); ok {
			return ch.To, reason
		}
	}
	moves := ch.Op == broker.OpRename || ch.Op == broker.OpExchange
	if moves && ch.Kind == broker.KindDir {
		if at, reason := c.sheltered(ch.Path, ch.To); at != "" {
			return at, reason
		}
	}
	if ch.Op == broker.OpExchange && ch.Over == broker.KindDir {
		return c.sheltered(ch.To, ch.Path)
	}
	return "", ""
}

// maxSheltered bounds the look at a directory that is renamed to where less is looked for.
const maxSheltered = 20_000

// sheltered gives a secret in a directory that a rename brings to where it would be shown;
// "" for none.
func (c *Config) sheltered(from, to string) (at, reason string) {
	below := func(path string) string { return strings.TrimPrefix(path, c.Project+"/") }
	if !pathname.Within(to, c.Project) || !hostview.Sheltered(below(to)) || hostview.Sheltered(below(from)) {
		return "", ""
	}
	seen := 0
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if seen++; err != nil || seen > maxSheltered {
			return errors.New("it cannot be looked at as a whole")
		}
		if !e.Type().IsRegular() {
			return nil
		}
		pin, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(pin)
		if why, ok := c.isSecret(path, 0, "", pin); ok {
			at, reason = path, why
			return filepath.SkipAll
		}
		return nil
	})
	if err != nil {
		return from, "secrets are looked for in it, and " + err.Error()
	}
	return at, reason
}

// writeTime is how long a program is given that has made or cut off a file to write into it.
const writeTime = 2 * time.Second

// justChanged says whether a file was made or cut off a moment ago.
func justChanged(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return true
	}
	since := time.Since(time.Unix(st.Ctim.Unix()))
	return since < writeTime
}

// isSecret judges a file by its path and by what it holds. It is the one that is pinned,
// or that has a name in a directory.
func (c *Config) isSecret(at string, dir int, name string, pinned int) (reason string, ok bool) {
	rel, inside := strings.CutPrefix(at, c.Project+"/")
	if !inside {
		return "", false
	}
	l := c.Policy.Lookup(at)
	switch own := l.Rule != nil && l.Rule.Path == at; {
	case own && l.Access == policy.Deny && l.Rule.Source.Layer == policy.LayerDefault:
		return strings.TrimPrefix(l.Rule.Source.Text, hostview.SecretPrefix), true // it is masked; what the host puts in its place is not, for a moment
	case own, c.granted(at, l.Rule):
		return "", false // a rule of its own says what becomes of it
	}
	open := func() (int, error) {
		switch {
		case pinned > 0:
			return unix.Open("/proc/self/fd/"+strconv.Itoa(pinned), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		case dir > 0:
			return unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
		return -1, unix.EBADF
	}
	begun := false
	finished, locked := strings.CutSuffix(rel, ".lock")
	reason, ok = hostview.SecretFile(finished, func() ([]byte, error) {
		fd, err := open()
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fd), name)
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, secrets.MaxRead))
		begun = err == nil && (locked || len(data) == 0 && justChanged(fd))
		return data, err
	})
	if begun {
		reason, ok = "it may become one: its content decides, and is still to come", true
	}
	if !ok {
		return "", false
	}
	var st unix.Stat_t
	switch {
	case pinned > 0 && unix.Fstat(pinned, &st) == nil, dir > 0 && unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil:
		return reason, !c.MadeInside(at, broker.Inode{Dev: st.Dev, Ino: st.Ino})
	}
	return reason, true
}
