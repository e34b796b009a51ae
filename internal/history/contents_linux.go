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
	if found && pre.State.Kind == File {
		before, err = s.openSide(l, step, origin, &pre.State, true)
	}
	if err == nil && left && post.State.Kind == File {
		after, err = s.openSide(l, step, path, &post.State, false)
	}
	if err != nil {
		if before != nil {
			before.Close()
		}
		return nil, nil, fmt.Errorf("%q: %w", path, err)
	}
	return before, after, nil
}

// openSide opens a file as a step found it, or as it left it.
func (s *Store) openSide(l *Log, step *Step, path string, like *State, before bool) (io.ReadCloser, error) {
	holder, back := l.holder(step, path)
	if before != back {
		return s.openPre(l, holder, path, like)
	}
	return s.openLater(l, holder, path, like)
}

// holder gives the step that keeps the side of a path that is not the present one:
// what was before a step, or where that was taken back what came of it.
func (l *Log) holder(step *Step, path string) (s *Step, back bool) {
	now := l.live(step)
	if now == nil {
		return l.undoOf(step), true
	}
	if p := l.partOf(now, path); p != nil {
		return p, true
	}
	return now, false
}

// partOf gives the undo that took back what a step did to a path, and not all of
// the step; nil for none.
func (l *Log) partOf(s *Step, path string) *Step {
	for _, p := range slices.Backward(l.partly) {
		if p.UndoneBy != 0 || !slices.Contains(p.Begin.Of, s.Number) {
			continue
		}
		if _, ok := p.PreOf(path); ok {
			return p
		}
		if _, ok := p.PostOf(path); ok {
			return p
		}
	}
	return nil
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
	case ok && pre.Lost != "":
		return nil, errContentGone
	case ok && pre.State.Size == 0 && pre.State.Kind == File:
		return io.NopCloser(&io.LimitedReader{}), nil
	}
	post, ok := holder.PostOf(path) // only its name or metadata changed
	if ok && post.State.Kind == File && post.State.ID == like.ID {
		return s.openLater(l, holder, path, &post.State)
	}
	for i := range holder.Posts() {
		if q := &holder.posts[i]; string(q.Origin) == path {
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
		if e.UndoneBy == 0 && !l.cancels(e, holder) && l.partOf(e, path) == nil {
			if f, done, err := s.openFound(e, path, like); done {
				return f, err
			}
			if post, ok := e.PostOf(path); ok && post.State.Kind == File {
				like = &post.State
			}
		}
		path = e.carried(path)
	}
	return openAsLeft(path, like)
}

// openFound opens what a step found at a path, if that is what it should have
// found; false where it left the content alone.
func (s *Store) openFound(e *Step, path string, like *State) (f io.ReadCloser, done bool, err error) {
	pre, ok := e.PreOf(path)
	switch {
	case !ok:
		return nil, false, nil
	case pre.State.Kind != File || pre.State.Size != like.Size || pre.State.Mtime != like.Mtime:
		return nil, true, errContentGone // somebody changed it in between
	case pre.State.Size == 0:
		return io.NopCloser(&io.LimitedReader{}), true, nil
	case pre.Lost != "" && pre.Object == (Object{}) && pre.Inode == (Object{}):
		return nil, true, errContentGone
	case pre.Object == (Object{}) && pre.Inode == (Object{}):
		return nil, false, nil
	case pre.Object == (Object{}):
		pre.Object = pre.Inode
	}
	f, err = s.openObject(pre.Object)
	return f, true, err
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

// readFile reads a regular file of no more than limit bytes.
func readFile(dir int, name string, limit int64) ([]byte, error) {
	fd, err := openAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if st, err := stateAt(fd, "", 0); err != nil || st.Kind != File {
		return nil, errors.Join(err, errors.New("it is no file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, err
}
