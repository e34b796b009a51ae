package fileops

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// Bounds of one grep's answer.
const (
	maxShown    = 500       // bytes of a line
	maxGrepText = 512 << 10 // bytes of all lines
	firstBatch  = 256       // files that are searched side by side, and told in order
	nextBatch   = 2048
	usualFiles  = 1000
)

// errEnough ends a search whose answer is full.
var errEnough = errors.New("enough")

func (r *Grep) do(ctx context.Context, _ *place) (any, error) {
	re, err := r.compile()
	if err != nil {
		return nil, err
	}
	s := &search{req: r, ctx: ctx, how: r.matcher(re), out: &Matches{Files: []FileMatches{}}, size: firstBatch, seen: make(map[string]bool)}
	if s.limit = r.Limit; s.limit == 0 {
		s.limit = usualMatch
		if r.OutputMode != ModeContent {
			s.limit = usualFiles
		}
	}
	left := maxNames
	for _, root := range r.dirs() {
		t := &tree{ctx: ctx, hidden: r.Hidden, git: r.gitignored(), left: &left, prune: func(below string) bool { return anyGlob(r.Exclude, below) }}
		err := t.walk(string(root), s.add)
		if err == nil {
			err = s.flush()
		}
		switch {
		case errors.Is(err, errEnough):
			return s.out, nil
		case err != nil && !(len(r.Roots) > 1 && told(root, err).Code == CodeNotFound):
			return nil, err
		case t.incomplete != "":
			s.out.Incomplete, s.out.Truncated = t.incomplete, true
		}
	}
	return s.out, nil
}

// anyGlob says whether one of some globs is of a path: of its name where the glob has
// no slash.
func anyGlob(globs []Path, below string) bool {
	return slices.ContainsFunc(globs, func(g Path) bool {
		glob := strings.TrimSuffix(strings.TrimPrefix(string(g), "./"), "/")
		if !strings.Contains(glob, "/") {
			return doublestar.MatchUnvalidated(glob, below[strings.LastIndexByte(below, '/')+1:])
		}
		return doublestar.MatchUnvalidated(strings.TrimPrefix(glob, "/"), below)
	})
}

// search goes through files in batches: several at once, told in order.
type search struct {
	req   *Grep
	ctx   context.Context
	how   *matcher
	out   *Matches
	limit int
	text  int // bytes of lines so far
	batch []string
	size  int // of a batch
	seen  map[string]bool
}

// add takes one more file. What is no file is not opened.
func (s *search) add(e entry) error {
	if !e.kind.IsRegular() || s.seen[e.path] || len(s.req.Include) > 0 && !anyGlob(s.req.Include, e.below) || anyGlob(s.req.Exclude, e.below) {
		return s.ctx.Err()
	}
	s.seen[e.path] = true
	if s.batch = append(s.batch, e.path); len(s.batch) < s.size {
		return nil
	}
	defer func() { s.size = nextBatch }()
	return s.flush()
}

// flush searches what has been collected.
func (s *search) flush() error {
	files := s.how.candidates(s.ctx, s.batch)
	s.batch = nil
	results := make([]fileResult, len(files))
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(runtime.GOMAXPROCS(0), 4, max(len(files), 1)) {
		wg.Go(func() {
			var buf []byte
			for i := range next {
				if s.ctx.Err() == nil {
					results[i], buf = s.how.file(s.ctx, files[i], buf)
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := s.ctx.Err(); err != nil {
		return err
	}
	for i := range results {
		if err := s.tell(Path(files[i]), &results[i]); err != nil {
			return err
		}
	}
	return nil
}

// tell adds what was found in a file to the answer.
func (s *search) tell(path Path, r *fileResult) error {
	s.out.TooLarge += r.large
	if r.count == 0 {
		return nil
	}
	if s.full() {
		s.out.Truncated = true
		return errEnough
	}
	f := FileMatches{Path: path}
	switch s.req.OutputMode {
	case ModeCount:
		f.Count = r.count
		s.out.Matches += r.count
	case ModeContent:
		s.lines(&f, r)
	}
	s.out.Files = append(s.out.Files, f)
	if s.out.Truncated {
		return errEnough
	}
	return nil
}

func (s *search) full() bool {
	if s.req.OutputMode == ModeContent {
		return s.out.Matches >= s.limit || s.text >= maxGrepText
	}
	return len(s.out.Files) >= s.limit
}

// lines adds the lines of a file until the answer is full.
func (s *search) lines(f *FileMatches, r *fileResult) {
	shown := 0
	for _, l := range r.lines {
		if l.Match && s.full() {
			s.out.Truncated = true
			break
		}
		if l.Match {
			s.out.Matches++
			shown++
		}
		s.text += len(l.Text) + 16
		f.Lines = append(f.Lines, l)
	}
	if f.Count = r.count; r.count > shown {
		s.out.Truncated = true
	}
}

// matcher is how lines are found.
type matcher struct {
	re            *regexp.Regexp
	must          []byte // text that every match has; nil where that is not known
	wider         string // see ripgrep; "" where it is not asked
	multi         bool
	before, after int
	keep          int // lines that are kept of a file; 0: it is enough to know that there is one
	count         bool
}

func (r *Grep) matcher(re *regexp.Regexp) *matcher {
	m := &matcher{re: re, multi: r.Multiline, count: r.OutputMode == ModeCount, before: max(r.Context, r.Before), after: max(r.Context, r.After)}
	if !r.Multiline {
		m.must, m.wider = required(re), wider(re)
	}
	if r.OutputMode == ModeContent {
		if m.keep = r.Limit; m.keep == 0 {
			m.keep = usualMatch
		}
	} else {
		m.before, m.after = 0, 0
	}
	return m
}
