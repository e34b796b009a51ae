package projecthistory

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/steplog"
)

// SeenBy has the history tell what a workspace shows, and no more.
func (h *History) SeenBy(ask Sighted) { h.ask = ask }

// look finds out about paths that were not asked about yet. Without a workspace that asks,
// callers under a ceiling are told what theirs would show; others everything.
func (h *History) look(paths []string) error {
	if h.ask == nil && h.under.Session.Restricted() {
		if err := h.decided(h.req); err != nil {
			return err
		}
		h.ask = func(paths []string) ([]api.Sight, error) {
			out := make([]api.Sight, len(paths))
			for i, at := range paths {
				out[i] = h.prepared.Sight(nil, at)
			}
			return out, nil
		}
	}
	if h.ask == nil {
		return nil
	}
	if h.sights == nil {
		h.sights = make(map[string]api.Sight)
	}
	var fresh []string
	for _, at := range paths {
		if _, known := h.sights[at]; !known && at != "" {
			h.sights[at] = api.SightNone
			fresh = append(fresh, at)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	said, err := h.ask(fresh)
	if err == nil && len(said) != len(fresh) {
		err = fmt.Errorf("%d answers to %d questions", len(said), len(fresh))
	}
	if err != nil {
		return fmt.Errorf("what of the history may be told is not known: %w", err)
	}
	for i, at := range fresh {
		h.sights[at] = said[i]
	}
	return nil
}

// may says whether so much of a path may be told, once it was looked at.
func (h *History) may(need api.Sight, at string) bool {
	return h.ask == nil || at == "" || h.sights[at] >= need
}

// Unnamed gives the paths, of those given, that may not be named.
func (h *History) Unnamed(paths []string) (map[string]bool, error) {
	out := make(map[string]bool)
	err := h.look(paths)
	for _, at := range paths {
		if err != nil || !h.may(api.SightName, at) {
			out[at] = true
		}
	}
	return out, err
}

// Redacted is an error of the history without names that may not be told. It quotes them.
func (h *History) Redacted(err error) error {
	if err == nil {
		return nil
	}
	text := inQuotes().ReplaceAllStringFunc(err.Error(), func(quoted string) string {
		at, bad := strconv.Unquote(quoted)
		if bad != nil || !path.IsAbs(at) || h.look([]string{at}) == nil && h.may(api.SightName, at) {
			return quoted
		}
		return "a path that is left out"
	})
	return &redacted{text, err}
}

var inQuotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }

func (r *redacted) Unwrap() error { return r.err }

// mayRestore asks allow, and gives no reason that names what may not be told.
func (h *History) mayRestore(allow func(*history.Restoration) error) func(*history.Restoration) error {
	return func(r *history.Restoration) error {
		err := allow(r)
		if unnamed, failed := h.Unnamed([]string{r.Path}); err != nil && (failed != nil || unnamed[r.Path]) {
			return errors.New(api.NewLeftOut(1).Why)
		}
		return err
	}
}

// Tell gives those changes of a step of which so much may be told, and the paths of the
// others. A change counts by all names that its content has had.
func (h *History) Tell(s *steplog.Step, changes []steplog.PathChange, need api.Sight) (
	told []steplog.PathChange, left []string, err error) {
	var paths []string
	for _, c := range changes {
		paths = append(paths, namesOf(s, c)...)
	}
	if err := h.look(paths); err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		if slices.ContainsFunc(namesOf(s, c), func(at string) bool { return !h.may(need, at) }) {
			left = append(left, c.Path)
			continue
		}
		told = append(told, c)
	}
	return told, left, nil
}

// namesOf are the names under which a step found and left something.
func namesOf(s *steplog.Step, c steplog.PathChange) []string {
	names := []string{c.Path}
	if c.From != "" {
		names = append(names, c.From)
	}
	if post, ok := s.PostOf(c.Path); ok && post.Origin != "" {
		names = append(names, string(post.Origin))
	}
	return names
}

// Contents opens a file as a step found it and as it left it; nil for where there
// was no file. An error says that it is not to be had any more.
func (h *History) Contents(s *steplog.Step, at string) (before, after io.ReadCloser, err error) {
	_, left, err := h.Tell(s, []steplog.PathChange{{Path: at}}, api.SightRead)
	if err == nil && len(left) > 0 {
		err = errors.New(api.NewLeftOut(1).Why)
	}
	if err != nil {
		return nil, nil, err
	}
	return h.store.Contents(h.Log, s, at)
}

// Export writes a step as a tar, and gives what that does not hold: what is no longer kept,
// and how many paths may not be told.
func (h *History) Export(step uint64, to io.Writer) (missing []history.Unexported, left int, err error) {
	s := h.Log.Step(step)
	if s == nil {
		return nil, 0, fmt.Errorf("step %d: there is none of this number", step)
	}
	changes := s.Changes()
	told, _, err := h.Tell(s, changes, api.SightRead)
	if err != nil {
		return nil, 0, err
	}
	if h.ask == nil {
		missing, err = h.store.Export(step, h.Project, to)
		return missing, 0, err
	}
	x, tells := exporting{History: h, barred: make(map[string]bool), left: make(map[string]bool)}, make(map[steplog.PathChange]bool)
	for _, c := range told {
		tells[c] = true
	}
	for _, c := range changes {
		if !tells[c] {
			for _, at := range namesOf(s, c) {
				x.barred[at] = true
			}
		}
	}
	from, whole := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var err error
		missing, err = h.store.Export(step, h.Project, whole)
		whole.CloseWithError(h.Redacted(err))
	}()
	err = x.copy(tar.NewReader(from), tar.NewWriter(to))
	from.CloseWithError(err)
	<-done
	missing = slices.DeleteFunc(missing, func(m history.Unexported) bool { return !x.tells(m.Path) })
	return missing, len(x.left), err
}

// exporting leaves out of a tar what may not be told.
type exporting struct {
	*History
	barred map[string]bool // as they had such names before the step, or got them
	left   map[string]bool
}

func (x *exporting) tells(at string) bool {
	if !x.barred[at] && x.look([]string{at}) == nil && x.may(api.SightRead, at) {
		return true
	}
	x.left[at] = true
	return false
}

func (x *exporting) copy(from *tar.Reader, to *tar.Writer) error {
	gone := make(map[string]bool) // entries that others may be links to
	for {
		e, err := from.Next()
		if err == io.EOF {
			return to.Close()
		}
		if err != nil {
			return err
		}
		at := exportedPath(x.Project, e.Name)
		if e.Typeflag == tar.TypeLink && gone[e.Linkname] {
			x.barred[at] = true
		}
		if !x.tells(at) {
			gone[e.Name] = true
			continue
		}
		if err = to.WriteHeader(e); err == nil {
			_, err = io.Copy(to, from)
		}
		if err != nil {
			return err
		}
	}
}

// exportedPath is the path of an entry of an export; one of no such form is no path, and
// may not be seen.
func exportedPath(project, name string) string {
	name = strings.TrimSuffix(name, "/")
	for _, side := range []string{"before", "after"} {
		if name == side {
			return project
		}
		if rest, ok := strings.CutPrefix(name, side+"/"); ok {
			return path.Join(project, rest)
		}
		if rest, ok := strings.CutPrefix(name, "outside/"+side+"/"); ok {
			return "/" + rest
		}
	}
	return name
}
