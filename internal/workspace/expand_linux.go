package workspace

import (
	"encoding/binary"
	"fmt"
	"path"
	"strings"
	"sync"

	"carrel/internal/policy"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/sys/unix"
)

// maxExpandEntries bounds one expansion; a tree beyond it is refused rather
// than half covered.
const maxExpandEntries = 5_000_000

// globs is a set of deny and protect globs, ready to be asked about a name
// before the costlier question about its path.
type globs struct {
	rules []policy.Rule
	last  []string // last segment of each, what a name must match first
}

// expand finds what the globs match now, below the given roots. Mounts hold
// what exists at the start; what is created later under a denied name is the
// workspace's own content. It walks with two threads and reads no file.
func expand(rules []policy.Rule, roots []string) ([]policy.Rule, error) {
	g := globs{}
	for _, r := range rules {
		if r.Glob != "" {
			g.rules = append(g.rules, r)
			g.last = append(g.last, path.Base(r.Glob))
		}
	}
	if len(g.rules) == 0 {
		return nil, nil
	}
	w := &walker{globs: g}
	w.cond = sync.NewCond(&w.mu)
	for _, root := range g.starts(roots) {
		w.queue = append(w.queue, root)
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
	return w.found, nil
}

// starts gives the directories to search: for each root the deepest directory
// that is common to what the globs can match in it.
func (g *globs) starts(roots []string) []string {
	var out []string
	for _, root := range roots {
		for _, r := range g.rules {
			base, _ := doublestar.SplitPattern(r.Glob)
			switch {
			case within(base, root):
				out = append(out, base)
			case within(root, base):
				out = append(out, root)
			}
		}
	}
	return outermost(out)
}

// match gives the strongest rule for an entry: deny beats protect.
func (g *globs) match(dir, name string) (policy.Rule, bool) {
	best := -1
	for i, last := range g.last {
		if last != "**" && !matches(last, name) {
			continue
		}
		if !matches(g.rules[i].Glob, dir+"/"+name) {
			continue
		}
		if best < 0 || g.rules[i].Access > g.rules[best].Access {
			best = i
		}
	}
	if best < 0 {
		return policy.Rule{}, false
	}
	r := g.rules[best]
	r.Path, r.Glob = dir+"/"+name, ""
	return r, true
}

func matches(pattern, name string) bool {
	if rest, ok := strings.CutPrefix(pattern, "*"); ok && !strings.ContainsAny(rest, `*?[{\`) && !strings.Contains(name, "/") {
		return strings.HasSuffix(name, rest)
	}
	ok, err := doublestar.Match(pattern, name)
	return ok || err != nil // a pattern that cannot be read matches everything
}

// walker is a bounded breadth-first walk; directories wait in queue.
type walker struct {
	globs   globs
	mu      sync.Mutex
	cond    *sync.Cond
	queue   []string
	pending int // directories queued or being read
	entries int
	found   []policy.Rule
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

// read looks at one directory. A directory that cannot be read holds nothing
// that the command could read either: it runs as the same user.
func (w *walker) read(dir string, buf []byte) (dirs []string, found []policy.Rule, n int) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
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
			kind, name := b[18], string(b[19:19+clen(b[19:length])])
			b = b[length:]
			if name == "." || name == ".." {
				continue
			}
			n++
			rule, hit := w.globs.match(strings.TrimSuffix(dir, "/"), name)
			if hit {
				found = append(found, rule)
			}
			isDir := kind == unix.DT_DIR || kind == unix.DT_UNKNOWN && isDirectory(fd, name)
			if isDir && !(hit && rule.Access == policy.Deny) {
				dirs = append(dirs, strings.TrimSuffix(dir, "/")+"/"+name)
			}
		}
	}
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
