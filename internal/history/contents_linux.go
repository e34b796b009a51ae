package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// errContentGone says that nobody holds a content any more.
var errContentGone = errors.New("its content is no longer kept")

// Contents opens what a file held before and after a step; nil where there was no
// file. What a step found is an object as long as the step is not taken back; what
// it left is what the next step found, or what is there.
func (s *Store) Contents(l *Log, step *Step, path string) (before, after io.ReadCloser, err error) {
	origin := path
	post, left := step.PostOf(path)
	if left && len(post.Origin) > 0 {
		origin = string(post.Origin)
	}
	pre, found := step.PreOf(origin)
	now := l.live(step)
	held := now
	if now == nil { // the undo keeps what the step left
		held = l.undoOf(step)
	}
	if found && pre.State.Kind == File {
		if now != nil {
			before, err = s.openPre(l, now, origin, &pre.State)
		} else {
			before, err = s.openLater(l, held, origin, &pre.State)
		}
	}
	if err == nil && left && post.State.Kind == File {
		if now != nil {
			after, err = s.openLater(l, now, path, &post.State)
		} else {
			after, err = s.openPre(l, held, path, &post.State)
		}
	}
	if err != nil {
		if before != nil {
			before.Close()
		}
		return nil, nil, fmt.Errorf("%q: %w", path, err)
	}
	return before, after, nil
}

// undoOf gives the undo that a step is taken back by now.
func (l *Log) undoOf(s *Step) *Step {
	for range l.Steps {
		u := l.Step(s.UndoneBy)
		if u == nil || u.UndoneBy == 0 {
			return u
		}
		if s = l.Step(u.UndoneBy); s == nil {
			return nil
		}
	}
	return nil
}

// openPre opens what a step keeps of a file.
func (s *Store) openPre(l *Log, holder *Step, path string, like *State) (io.ReadCloser, error) {
	if holder == nil {
		return nil, errContentGone
	}
	pre, ok := holder.PreOf(path)
	switch {
	case ok && pre.Object != (Object{}):
		return s.openObject(pre.Object)
	case ok && pre.Inode != (Object{}):
		return s.openObject(pre.Inode)
	case ok && pre.State.Size == 0 && pre.State.Kind == File:
		return io.NopCloser(&io.LimitedReader{}), nil
	}
	post, ok := holder.PostOf(path) // only its name or metadata changed
	if ok && post.State.Kind == File && post.State.ID == like.ID {
		return s.openLater(l, holder, path, &post.State)
	}
	for i := range holder.Post {
		if q := &holder.Post[i]; string(q.Origin) == path {
			return s.openLater(l, holder, string(q.Path), &q.State)
		}
	}
	return nil, errContentGone
}

// openLater opens a file as a step left it.
func (s *Store) openLater(l *Log, holder *Step, path string, like *State) (io.ReadCloser, error) {
	if holder == nil {
		return nil, errContentGone
	}
	i, _ := slices.BinarySearchFunc(l.Steps, holder.Number+1, func(s *Step, n uint64) int { return cmp.Compare(s.Number, n) })
	for _, e := range l.Steps[i:] {
		if pre, ok := e.PreOf(path); ok && e.UndoneBy == 0 {
			if pre.Object != (Object{}) {
				return s.openObject(pre.Object)
			}
			if pre.State.Kind != File || pre.State.Size == 0 {
				break
			}
		}
		if post, ok := e.PostOf(path); ok && e.UndoneBy == 0 && post.State.Kind == File {
			like = &post.State
		}
		path = e.carried(path)
	}
	return openAsLeft(path, like)
}

// openAsLeft opens a file on the disk if it still is what a step left.
func openAsLeft(path string, like *State) (io.ReadCloser, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, errContentGone
	}
	st, err := stateAt(fd, "", 0)
	if err != nil || st.Kind != File || st.Size != like.Size || st.Mtime != like.Mtime {
		unix.Close(fd)
		return nil, errContentGone
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (s *Store) openObject(o Object) (io.ReadCloser, error) {
	dir, err := s.objectsOf(o.Segment, false)
	if err != nil {
		return nil, errContentGone
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, objectName(o.Number), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errContentGone
	}
	return os.NewFile(uintptr(fd), objectName(o.Number)), nil
}
