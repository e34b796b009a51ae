package agenthome

import (
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/agents"
	"carrel/internal/dirlist"

	"golang.org/x/sys/unix"
)

// maxLeftTold is how many things that were removed are told by name.
const maxLeftTold = 20

// leftovers looks for what was made in a shared place since a time. It goes by open
// directories, so that each costs the same however deep it lies.
type leftovers struct {
	h     *Home
	s     agents.SharedPlace
	since time.Time
	stack []looking
	all   bool // everything was looked at that has to be
	deep  bool // some was not, as it lies too deep
	gone  int
}

// looking is a directory that is looked through.
type looking struct {
	dirlist.Listing
	place string // in the shared place
}

func (h *Home) dropLeftIn(s agents.SharedPlace, since, until time.Time, most int) bool {
	l := &leftovers{h: h, s: s, since: since, all: true}
	defer l.close()
	root, place, err := realShared(h.Host, s)
	if err != nil {
		return false
	}
	top, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(root, place), &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return err == unix.ENOENT
	}
	defer unix.Close(top)
	l.enter(top, ".", "")
	for n := 0; len(l.stack) > 0; {
		d := &l.stack[len(l.stack)-1]
		name, err := d.Next()
		if err != nil {
			l.all = l.all && errors.Is(err, io.EOF)
			d.Dir.Close()
			l.stack = l.stack[:len(l.stack)-1]
			continue
		}
		if n++; n > most {
			h.Note("%s: ~/%s has too many files to look for links in all of them: from %.200q on none was looked at", h.Agent.Name, s.Place, path.Join(d.place, name))
			return false
		}
		if time.Now().After(until) {
			h.Note("%s: ~/%s takes too long to look for links in all of it: from %.200q on none was looked at", h.Agent.Name, s.Place, path.Join(d.place, name))
			return false
		}
		l.look(d, name)
	}
	return l.all
}

func (l *leftovers) close() {
	for _, d := range l.stack {
		d.Dir.Close()
	}
	if l.deep {
		l.h.Note("%s: ~/%s has directories in each other more than %d deep: no links were looked for in those", l.h.Agent.Name, l.s.Place, dirlist.MaxDepth)
	}
	if more := l.gone - maxLeftTold; more > 0 {
		l.h.Note("%s: removed %d more links and pipes in ~/%s that were made inside", l.h.Agent.Name, more, l.s.Place)
	}
}

// enter begins to look through a directory. One that was closed inside would hide what
// is in it until another run opens it; behind one that has been closed since before the
// run nothing was made.
func (l *leftovers) enter(at int, name, place string) {
	if len(l.stack) == dirlist.MaxDepth {
		l.deep = true
		return
	}
	fd, st, err := dirlist.Look(at, name)
	if err == nil {
		defer unix.Close(fd)
		changed := !l.before(&st)
		if changed {
			_ = dirlist.Unclose(fd, &st)
		}
		var names dirlist.Listing
		if names, err = dirlist.List(fd, name); err == nil {
			l.stack = append(l.stack, looking{names, place})
			return
		}
		if err == unix.EACCES && !changed {
			return
		}
	}
	if err != unix.ENOENT && err != unix.ENOTDIR { // gone meanwhile
		l.all = false
		l.h.Note("%s: no links were looked for in ~/%s: %v", l.h.Agent.Name, path.Join(l.s.Place, place), err)
	}
}

func (l *leftovers) before(st *unix.Stat_t) bool { return time.Unix(st.Ctim.Unix()).Before(l.since) }

// look looks at one name.
func (l *leftovers) look(d *looking, name string) {
	at, place := int(d.Dir.Fd()), path.Join(d.place, name)
	var st unix.Stat_t
	if err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		l.all = l.all && err == unix.ENOENT
		return
	}
	what := ""
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if d.place != "" || !slices.Contains(l.s.Except, name) { // that is covered by the copy's
			l.enter(at, name, place)
		}
		return
	case unix.S_IFLNK:
		if what = "a link out of"; len(l.s.Except) > 0 {
			// It may lead to what is left out, which is another thing inside.
			what = "a link in"
		} else if !l.before(&st) && l.within(place) {
			return
		}
	case unix.S_IFIFO:
		what = "a pipe in"
	}
	if what == "" || l.before(&st) {
		return
	}
	if err := unix.Unlinkat(at, name, 0); err != nil {
		l.all = l.all && err == unix.ENOENT
		return
	}
	if l.gone++; l.gone <= maxLeftTold {
		l.h.Note("%s: removed %s ~/%s that was made inside: %.200q", l.h.Agent.Name, what, l.s.Place, place)
	}
}

// within says whether a link stays in the shared place.
func (l *leftovers) within(place string) bool {
	top := int(l.stack[0].Dir.Fd())
	for range 10 {
		fd, err := unix.Openat2(top, place, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS})
		if err == nil {
			unix.Close(fd)
			return true
		}
		if err != unix.EAGAIN { // something was renamed meanwhile
			return false
		}
	}
	return false
}
