package agenthome

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds on the search for a transcript.
const (
	maxTranscriptDepth = 4
	maxTranscripts     = 10000 // names that are looked at
)

// transcript is the name of one, which ends with the id of its conversation.
var transcript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[A-Za-z0-9_.-]*-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$`)
})

// Conversation is the id of the conversation in the private copy that was written to last,
// not before a time: the agent outside does not know it. "" where there is none.
func (h *Home) Conversation(since time.Time) string {
	if h.State == nil || h.Own != "" || h.Shared || len(h.Agent.Resume.Words) == 0 {
		return ""
	}
	root, err := os.OpenRoot(h.private())
	if err != nil {
		return ""
	}
	defer func() { root.Close() }()
	for part := range strings.SplitSeq(h.Agent.Resume.Place, "/") {
		inner, err := root.OpenRoot(part)
		if err != nil {
			return ""
		}
		root.Close()
		root = inner
	}
	s := search{newest: since, left: maxTranscripts}
	s.look(root, 0)
	return s.id
}

type search struct {
	newest time.Time
	id     string
	left   int
}

// look goes through the directories that were made last first: their names are dates where
// there are many.
func (s *search) look(dir *os.Root, depth int) {
	f, err := dir.Open(".")
	if err != nil {
		return
	}
	list, _ := f.ReadDir(s.left + 1)
	f.Close()
	slices.SortFunc(list, func(a, b os.DirEntry) int { return strings.Compare(b.Name(), a.Name()) })
	for _, e := range list {
		if s.left--; s.left < 0 {
			return
		}
		if e.IsDir() && depth < maxTranscriptDepth {
			if inner, err := dir.OpenRoot(e.Name()); err == nil {
				s.look(inner, depth+1)
				inner.Close()
			}
			continue
		}
		m := transcript().FindStringSubmatch(e.Name())
		if m == nil || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && !info.ModTime().Before(s.newest) {
			s.newest, s.id = info.ModTime(), m[1]
		}
	}
}
