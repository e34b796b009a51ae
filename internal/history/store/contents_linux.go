package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// errContentGone says that nobody holds a content any more.
var errContentGone = errors.New("its content is no longer kept")

// Contents opens what a file held before and after a step; nil where there was no
// file. What a step found is an object as long as the step is not taken back; what
// it left is what the next step found, or what is there.
func (s *objects) Contents(l *Log, step *steplog.Step, path string) (before, after io.ReadCloser, err error) {
	origin := path
	post, left := step.PostOf(path)
	if left && len(post.Origin) > 0 {
		origin = string(post.Origin)
	}
	pre, found := step.PreOf(origin)
	if found && pre.State.Kind == journal.File {
		before, err = s.openSide(l, step, origin, true)
	}
	if err == nil && left && post.State.Kind == journal.File {
		after, err = s.openSide(l, step, path, false)
	}
	if err != nil {
		if before != nil {
			before.Close()
		}
		return nil, nil, fmt.Errorf("%q: %w", path, err)
	}
	return before, after, nil
}

// openSide opens a file as a step found it, or as it left it: by the version that it
// had, wherever that is now.
func (s *objects) openSide(l *Log, step *steplog.Step, path string, before bool) (io.ReadCloser, error) {
	r := s.relationsSince(l, step)
	f, known := r.Found[relate.Side{Step: step.Number, Path: path}]
	if !before {
		f, known = r.Left[relate.Side{Step: step.Number, Path: path}]
	}
	if !known || f.Version == graph.Dead {
		return nil, errContentGone
	}
	of := r.Class(f.Version)
	for _, v := range append([]graph.Version{of}, r.Others[of]...) {
		if c, err := s.openVersion(r, v); err == nil {
			return c, nil
		}
	}
	return nil, errContentGone
}

// openVersion opens a version of a file: the copy in the store, or the file itself,
// in the tree or in the store, where it still has it.
func (s *objects) openVersion(r *relate.Relations, v graph.Version) (io.ReadCloser, error) {
	x := r.Versions[v]
	n := r.Nodes[x.Node]
	if x.Object != (journal.Object{}) {
		if st, err := s.Stored(x.Object); err == nil && st.Kind == journal.File && st.Size == x.State.Size { // else it has gone back
			return s.openObject(x.Object)
		}
	}
	if x.State.Kind == journal.File && x.State.Size == 0 && x.Lost == "" {
		return io.NopCloser(&io.LimitedReader{}), nil
	}
	if r.Class(n.Content) == r.Class(v) {
		for _, at := range n.Names {
			if f, err := openAsLeft(r.Path(at), &x.State); err == nil {
				return f, nil
			}
		}
	}
	for _, o := range n.Anchors {
		if st, err := s.Stored(o); err == nil && st.Kind == journal.File && st.Size == x.State.Size && st.Mtime == x.State.Mtime {
			return s.openObject(o)
		}
	}
	return nil, errContentGone
}

// relationsSince gives what a step and all after it say.
func (s *objects) relationsSince(l *Log, step *steplog.Step) *relate.Relations {
	from := l.First(step).Number
	if l.related != nil && l.relatedFrom <= from {
		return l.related
	}
	r := relate.New(s.KeptAsLeft)
	i, _ := slices.BinarySearchFunc(l.Known, from, func(s *steplog.Step, n uint64) int { return cmp.Compare(s.Number, n) })
	for _, st := range l.Known[i:] {
		r.Follow(st)
	}
	r.Classes()
	l.related, l.relatedFrom = r, from
	return r
}

// openAsLeft opens a file on the disk if it still is what a step left.
func openAsLeft(path string, like *journal.State) (io.ReadCloser, error) {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, errContentGone
	}
	st, err := disk.StateAt(fd, "", 0)
	if err != nil || st.Kind != journal.File || st.Size != like.Size || st.Mtime != like.Mtime {
		unix.Close(fd)
		return nil, errContentGone
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (s *objects) openObject(o journal.Object) (io.ReadCloser, error) {
	dir, err := s.ObjectsOf(o.Segment, false)
	if err != nil {
		return nil, errContentGone
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, journal.ObjectName(o.Number), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errContentGone
	}
	return os.NewFile(uintptr(fd), journal.ObjectName(o.Number)), nil
}

// Stored looks at an object; Absent where there is none.
func (s *objects) Stored(o journal.Object) (journal.State, error) {
	dir, err := s.ObjectsOf(o.Segment, false)
	if disk.Missing(err) || errors.Is(err, os.ErrNotExist) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	defer unix.Close(dir)
	return disk.StateAt(dir, journal.ObjectName(o.Number), disk.WithXattrs)
}
