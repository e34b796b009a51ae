package histories

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"carrel/internal/changelog"
	"carrel/internal/history"
	"carrel/internal/hostfile"

	"golang.org/x/sys/unix"
)

// All histories in one place, the state directory or history.dir, have a limit together.
// The end of a run that changed something adds up what the counters of all stores say, a
// small read for each project. Only where that exceeds the limit the stores are counted,
// and the oldest steps of the projects go that were not used for the longest time.

const (
	totalFile  = ".total"  // beside the histories: locked by the run that shrinks them
	totalAgain = time.Hour // until what could not be shrunk is tried again
	totalPart  = 64        // which part of the limit a workspace that stays adds before it looks
	totalNamed = 3         // projects that a note names
)

// Limit holds the limit of all histories in one place; nil is none.
type Limit struct {
	Place
	each, limit int64
	named       bool  // notes may name other projects
	looked      int64 // bytes of the project's own history at the last look
}

// NewLimit makes the limit of the histories in one place. each is that of one project;
// named says whether notes may name other projects.
func NewLimit(h Place, each, limit int64, named bool) *Limit {
	return &Limit{Place: h, each: each, limit: limit, named: named}
}

// Grown says whether the project's own history has grown enough for another look.
func (t *Limit) Grown(bytes int64) bool {
	if t == nil {
		return false
	}
	t.looked = min(t.looked, bytes)
	if bytes-t.looked <= t.limit/totalPart {
		return false
	}
	t.looked = bytes
	return true
}

// Hold brings the histories below their limit, and gives what there is to tell. Those of
// projects that are in use stay as they are.
func (t *Limit) Hold() []string {
	if t == nil {
		return nil
	}
	list, err := t.list()
	if err == nil && together(list, t.each) <= t.limit {
		return nil
	}
	var went shrunk
	if err == nil {
		went, err = t.shrink(list)
	}
	notes := went.notes(t.named)
	if err != nil {
		notes = append(notes, "keeping the histories of all projects within history.max_total_bytes: "+err.Error())
	}
	return notes
}

// shrink counts what was estimated, and removes what has to go. One run at a time does so.
// Where less could be removed than had to be, this is tried again after some growth, and
// after some time.
func (t *Limit) shrink(list []holding) (went shrunk, err error) {
	f, err := os.OpenFile(t.place+"/"+totalFile, os.O_RDWR|os.O_CREATE|hostfile.NoFollow, 0o600)
	if err != nil {
		return went, err
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return went, nil
	}
	tried, at, err := lastTry(f)
	if err != nil || time.Since(at) < totalAgain && !Grown(together(list, t.each), tried, t.limit) {
		return went, err
	}
	for i := range list {
		recount(&list[i])
	}
	shrinkOldest(list, t.each, t.limit, func(h holding, to int64) int64 {
		r, e := t.shrinkOne(h, to)
		if e != nil {
			err = errors.Join(err, e)
			return h.size.Bytes
		}
		went.add(t.nameOf(h), len(r.Steps))
		return r.Kept
	})
	went.over = max(0, together(list, t.each)-t.limit)
	text := strconv.FormatInt(together(list, t.each), 10)
	if _, e := f.WriteAt([]byte(text), 0); e == nil {
		err = errors.Join(err, f.Truncate(int64(len(text))))
	}
	return went, err
}

// lastTry gives what the histories took after the last try, and when that was.
func lastTry(f *os.File) (bytes int64, at time.Time, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, time.Time{}, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 32))
	bytes, bad := strconv.ParseInt(string(text), 10, 64)
	if bad != nil {
		return 0, time.Time{}, err // the file is new
	}
	return bytes, info.ModTime(), err
}

// recount makes an estimate exact; that of a history of another version stays.
func recount(h *holding) {
	store, err := history.Open(h.dir)
	if err != nil {
		return
	}
	defer store.Close()
	if size, err := store.Recount(); err == nil {
		h.size, h.exact = size, true
	}
}

// shrinkOne brings one history down to some bytes, with the records of the steps that go.
// One that is in use, or of another version, keeps what it has.
func (t *Limit) shrinkOne(h holding, to int64) (*history.Removal, error) {
	asItIs := &history.Removal{Kept: h.size.Bytes}
	store, err := history.Open(h.dir)
	var other *history.FormatError
	if errors.As(err, &other) {
		return asItIs, nil
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	r, err := store.Shrink(to)
	if errors.Is(err, history.ErrBusy) {
		return asItIs, nil
	}
	if err == nil {
		err = changelog.Drop(t.recordsOf(h.id), r.Oldest)
	}
	return r, err
}

// shrunk is what went of histories.
type shrunk struct {
	projects []string
	steps    []int
	over     int64 // bytes that could not go
}

func (s *shrunk) add(project string, steps int) {
	if steps > 0 {
		s.projects, s.steps = append(s.projects, project), append(s.steps, steps)
	}
}

// notes tell of it in one line; named says whether projects may be named.
func (s *shrunk) notes(named bool) []string {
	var parts []string
	others, of := 0, 0
	for i, n := range s.steps {
		if named && i < totalNamed {
			parts = append(parts, fmt.Sprintf("%d of %s", n, s.projects[i]))
			continue
		}
		others, of = others+n, of+1
	}
	switch {
	case of == 1:
		parts = append(parts, fmt.Sprintf("%d of 1 other project", others))
	case of > 1:
		parts = append(parts, fmt.Sprintf("%d of %d other projects", others, of))
	}
	const more = "; `carrel du` shows what is kept"
	text := "the histories of all projects "
	switch {
	case len(parts) > 0 && s.over > 0:
		text += fmt.Sprintf("are %d bytes beyond history.max_total_bytes, though old steps are discarded, %s", s.over, strings.Join(parts, ", "))
	case len(parts) > 0:
		text += "have reached history.max_total_bytes: old steps are discarded, " + strings.Join(parts, ", ")
	case s.over > 0:
		text += fmt.Sprintf("are %d bytes beyond history.max_total_bytes: newest steps and projects in use are kept", s.over)
	default:
		return nil
	}
	return []string{text + more}
}
