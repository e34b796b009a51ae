package globscan

import (
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// maxExpandEntries bounds one expansion; a tree beyond it is refused rather
// than half covered.
const maxExpandEntries = 5_000_000

// globs is a set of deny and protect globs. Most names are ruled out by the
// literal ends of the patterns' last segments; the policy decides the rest.
type globs struct {
	eff   *policy.Effective
	rules []policy.Rule
	ends  []ends
}

// ends are the literal text that a name must begin and end with.
type ends struct{ prefix, suffix string }

// endsOf reads a pattern's last segment. Whatever is not plain there, and any
// pattern that could hide a "/" in braces or ends in a ".", asks the policy; so
// does that of everything, which is about no name.
func endsOf(glob string) ends {
	if strings.ContainsAny(glob, `\{`) || path.Clean(glob) != glob || glob == "/" {
		return ends{}
	}
	last := path.Base(glob)
	first, final := strings.IndexAny(last, "*?["), strings.LastIndexAny(last, "*?]")
	if first < 0 {
		return ends{last, last}
	}
	if strings.Contains(last, "[") {
		return ends{prefix: last[:first]} // an unclosed bracket is plain text
	}
	return ends{last[:first], last[final+1:]}
}

// Find finds what the globs match now, below the given roots but not in
// skip. Mounts hold what exists at the start; what is created later under a
// denied name is the workspace's own content. It walks with two threads and
// reads no file.
func Find(eff *policy.Effective, roots, skip []string) ([]policy.Rule, error) {
	g := globs{eff: eff}
	for _, r := range eff.Rules {
		if r.Glob != "" {
			g.rules = append(g.rules, r)
			g.ends = append(g.ends, endsOf(r.Glob))
		}
	}
	if len(g.rules) == 0 {
		return nil, nil
	}
	w := &walker{globs: g, skip: skip}
	w.cond = sync.NewCond(&w.mu)
	for _, dir := range g.starts(roots) {
		if w.skips(dir) {
			continue
		}
		var st unix.Stat_t
		if unix.Lstat(dir, &st) != nil {
			if closed := Closed(dir, "/"); closed != "" {
				w.found = append(w.found, Hide(closed))
			}
			continue
		}
		// A glob may name the directory itself.
		rule, hit := g.match(strings.TrimSuffix(path.Dir(dir), "/"), path.Base(dir))
		if hit {
			w.found = append(w.found, rule)
		}
		if !hit || rule.Access != policy.Deny {
			w.queue = append(w.queue, dir)
		}
	}
	w.pending = len(w.queue)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(w.work)
	}
	wg.Wait()
	if w.entries > maxExpandEntries {
		return nil, fmt.Errorf("the deny and protect globs search more than %d files below %q; anchor them to a smaller directory", maxExpandEntries, roots)
	}
	if w.moved.Load() {
		return nil, ErrMoved
	}
	return w.found, nil
}

// starts gives the directories to search: for each root the deepest directory
// that is common to what the globs can match in it.
func (g *globs) starts(roots []string) []string {
	var out []string
	for _, root := range roots {
		for _, r := range g.rules {
			base := Base(r.Glob)
			switch {
			case pathname.Within(base, root):
				out = append(out, base)
			case pathname.Within(root, base):
				out = append(out, root)
			}
		}
	}
	return sandbox.Outermost(out)
}

// candidate says whether some glob could match an entry of this name.
func (g *globs) candidate(name []byte) bool {
	for _, e := range g.ends {
		if len(name) >= len(e.prefix) && string(name[:len(e.prefix)]) == e.prefix &&
			len(name) >= len(e.suffix) && string(name[len(name)-len(e.suffix):]) == e.suffix {
			return true
		}
	}
	return false
}

// match asks the policy about an entry that some glob may match.
func (g *globs) match(dir, name string) (policy.Rule, bool) {
	d := g.eff.Lookup(dir + "/" + name)
	switch {
	case d.Keep != nil:
		d.Rule = d.Keep
	case d.Rule == nil || d.Rule.Glob == "":
		return policy.Rule{}, false
	}
	return policy.Rule{Path: dir + "/" + name, Access: d.Access, Source: d.Rule.Source, Note: d.Rule.Note}, d.Access == policy.Deny || d.Protected || d.Keep != nil
}

// walker is a bounded breadth-first walk; directories wait in queue.
type walker struct {
	globs   globs
	skip    []string
	mu      sync.Mutex
	cond    *sync.Cond
	queue   []string
	pending int // directories queued or being read
	entries int
	found   []policy.Rule
	moved   atomic.Bool // a directory was gone when its turn came
}

func (w *walker) skips(dir string) bool {
	return slices.ContainsFunc(w.skip, func(s string) bool { return pathname.Within(dir, s) })
}

func (w *walker) work() {
	buf := make([]byte, 64<<10)
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && w.pending > 0 {
			w.cond.Wait()
		}
		if w.pending == 0 || w.entries > maxExpandEntries {
			w.pending = 0
			w.cond.Broadcast()
			w.mu.Unlock()
			return
		}
		dir := w.queue[len(w.queue)-1]
		w.queue = w.queue[:len(w.queue)-1]
		w.mu.Unlock()

		dirs, found, n := w.read(dir, buf)

		w.mu.Lock()
		w.queue = append(w.queue, dirs...)
		w.found = append(w.found, found...)
		w.entries += n
		w.pending += len(dirs) - 1
		w.cond.Broadcast()
		w.mu.Unlock()
	}
}

// read looks at one directory. One that cannot be opened is hidden: the command
// runs as the same user and could give it back its permissions.
func (w *walker) read(dir string, buf []byte) (dirs []string, found []policy.Rule, n int) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP || err == unix.ESTALE {
		w.moved.Store(true)
	}
	switch err {
	case nil:
	case unix.EACCES, unix.EPERM:
		return nil, []policy.Rule{Hide(dir)}, 1
	case unix.ENAMETOOLONG:
		return nil, []policy.Rule{Hide(nameable(dir))}, 1
	default:
		return nil, nil, 0
	}
	defer unix.Close(fd)
	for {
		size, err := unix.Getdents(fd, buf)
		if err != nil || size <= 0 {
			return dirs, found, n
		}
		for b := buf[:size]; len(b) > 0; {
			length := int(binary.NativeEndian.Uint16(b[16:]))
			kind, raw := b[18], b[19:19+clen(b[19:length])]
			b = b[length:]
			if len(raw) <= 2 && (string(raw) == "." || string(raw) == "..") {
				continue
			}
			n++
			candidate := w.globs.candidate(raw)
			if !candidate && kind != unix.DT_DIR && kind != unix.DT_UNKNOWN {
				continue // the common case, without a copy of the name
			}
			name := string(raw)
			var rule policy.Rule
			hit := false
			if candidate {
				if rule, hit = w.globs.match(strings.TrimSuffix(dir, "/"), name); hit {
					found = append(found, rule)
				}
			}
			isDir := kind == unix.DT_DIR || kind == unix.DT_UNKNOWN && isDirectory(fd, name)
			if isDir && !(hit && rule.Access == policy.Deny) {
				if at := strings.TrimSuffix(dir, "/") + "/" + name; !slices.Contains(w.skip, at) {
					dirs = append(dirs, at)
				}
			}
		}
	}
}

// nameable gives the deepest directory above a path that a mount can still name.
func nameable(dir string) string {
	for len(dir) > unix.PathMax-256 {
		dir = path.Dir(dir)
	}
	return dir
}

func isDirectory(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

func clen(b []byte) int {
	for i, c := range b {
		if c == 0 {
			return i
		}
	}
	return len(b)
}
