package store

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// Export writes a step as a tar: before/PATH as the step found every path that it
// touched, after/PATH as it left it. What is no longer kept, or has no place in a
// tar, is given. An undo cannot begin meanwhile.
func (s *Store) Export(number uint64, project string, to io.Writer) ([]Unexported, error) {
	if err := s.Share(); err != nil {
		return nil, err
	}
	defer s.Unlock()
	l, err := s.Survey()
	if err != nil {
		return nil, err
	}
	step := l.Step(number)
	if step == nil {
		return nil, fmt.Errorf("step %d: there is none of this number", number)
	}
	if step.Open() {
		return nil, fmt.Errorf("step %d is not over", number)
	}
	x := &export{Store: s, log: l, step: step, project: project, tar: tar.NewWriter(to)}
	if err := x.both(); err != nil {
		return x.out, fmt.Errorf("exporting step %d: %w", number, err)
	}
	return x.out, x.tar.Close()
}

// export is one under way.
type export struct {
	*Store
	log     *Log
	step    *steplog.Step
	project string
	tar     *tar.Writer
	out     []Unexported
}

// exported is one path of a side.
type exported struct {
	path  journal.Bytes
	state *journal.State
	lost  string
}

func (x *export) both() error {
	var before, after []exported
	for i := range x.step.Pres() {
		p := &x.step.Pres()[i]
		before = append(before, exported{p.Path, &p.State, p.Lost})
	}
	for i := range x.step.Posts() {
		p := &x.step.Posts()[i]
		after = append(after, exported{p.Path, &p.State, ""})
	}
	if err := x.side(true, before); err != nil {
		return err
	}
	return x.side(false, after)
}

// side writes one side, directories before what is in them.
func (x *export) side(before bool, list []exported) error {
	slices.SortStableFunc(list, func(a, b exported) int { return cmp.Compare(a.path, b.path) })
	list = slices.CompactFunc(list, func(a, b exported) bool { return a.path == b.path })
	first := make(map[oneFile]string)
	for _, e := range list {
		if e.state.Kind == journal.Absent {
			continue
		}
		if err := x.one(before, e, first); err != nil {
			return err
		}
	}
	return nil
}

// oneFile is what makes names of a side one file.
type oneFile struct {
	id          journal.ID
	size, mtime int64
}

// one writes one path, or says why not.
func (x *export) one(before bool, e exported, first map[oneFile]string) error {
	side := "after"
	if before {
		side = "before"
	}
	miss := func(why string) error {
		x.out = append(x.out, Unexported{string(e.path), before, why})
		return nil
	}
	h, unnamed := header(exportName(x.project, side, string(e.path)), e.state)
	for _, k := range unnamed {
		_ = miss(fmt.Sprintf("its attribute %q has no name in a tar", k))
	}
	switch e.state.Kind {
	case journal.File:
		file := oneFile{e.state.ID, e.state.Size, e.state.Mtime}
		if to := first[file]; to != "" && e.state.Links > 1 {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, to, 0
			break
		}
		content, err := x.content(before, e)
		if err != nil {
			return miss(err.Error())
		}
		defer content.Close()
		first[file] = h.Name
		if err := x.tar.WriteHeader(h); errors.Is(err, tar.ErrHeader) {
			return miss(err.Error())
		} else if err != nil {
			return err
		}
		_, err = io.CopyN(x.tar, content, e.state.Size)
		return err
	case journal.Socket, journal.Other:
		return miss("a " + e.state.Kind.String() + " has no place in a tar")
	}
	err := x.tar.WriteHeader(h)
	if errors.Is(err, tar.ErrHeader) {
		return miss(err.Error())
	}
	return err
}

// content opens a file as it was on one side, if that is what is kept.
func (x *export) content(before bool, e exported) (content io.ReadCloser, err error) {
	if e.lost != "" {
		return nil, errors.New(e.lost)
	}
	if content, err = x.openSide(x.log, x.step, string(e.path), before); err != nil {
		return nil, err
	}
	if f, ok := content.(*os.File); ok {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size != e.state.Size {
			content.Close()
			return nil, errors.New("what is kept of it is not what it was")
		}
	}
	return content, nil
}
