package fileops

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

func (r *Glob) do(ctx context.Context, _ *place) (any, error) {
	out, left := &Found{Paths: []Path{}}, maxNames
	type one struct {
		path string
		time time.Time
	}
	var all []one
	seen := make(map[string]bool)
	for _, root := range r.dirs() {
		base, pattern, err := r.split(root)
		if err != nil {
			return nil, err
		}
		t := &tree{ctx: ctx, hidden: r.Hidden || dotted(pattern), git: r.gitignored(), left: &left}
		t.prune = func(below string) bool { return !mayHold(pattern, below) }
		err = t.walk(base, func(e entry) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !doublestar.MatchUnvalidated(pattern, e.below) || seen[e.path] || !r.Hidden && !named(pattern, e.below) || !readable(e) {
				return nil
			}
			st, err := os.Lstat(e.path)
			if err != nil {
				return nil
			}
			seen[e.path] = true
			all = append(all, one{e.path, st.ModTime()})
			return nil
		})
		if err != nil && !(len(r.Roots) > 1 && told(root, err).Code == CodeNotFound) {
			return nil, err
		}
		if t.incomplete != "" {
			out.Incomplete = t.incomplete
		}
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(b.time.Compare(a.time), cmp.Compare(a.path, b.path)) })
	from, to, next := page(len(all), r.Limit, r.Offset, usualGlob)
	for _, o := range all[from:to] {
		out.Paths = append(out.Paths, Path(o.path))
	}
	out.Total, out.NextOffset, out.Truncated = len(all), next, next > 0 || out.Incomplete != ""
	return out, nil
}

// split gives where to begin, and the pattern of paths below that. The directories
// that a pattern names are gone to directly.
func (r *Glob) split(root Path) (base, pattern string, err error) {
	pattern = string(r.Pattern)
	if filepath.IsAbs(pattern) {
		abs, err := filepath.Abs(string(root))
		if err != nil {
			return "", "", told(root, err)
		}
		below, ok := strings.CutPrefix(pattern, strings.TrimSuffix(abs, "/")+"/")
		if !ok {
			return "", "", failed(CodePattern, r.Pattern, fmt.Sprintf("%q leads out of %q, which is searched", r.Pattern.short(), abs), "give the directory with path, and a pattern of what is below it")
		}
		return abs, below, nil
	}
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(pattern[2:], "/")
	}
	if st, err := os.Stat(string(root)); err == nil && !st.IsDir() {
		return "", "", everywhere.notDir(root, fs.ErrInvalid)
	}
	return string(root), pattern, nil
}

// mayHold says whether a directory may have something below it that a pattern matches.
func mayHold(pattern, below string) bool {
	if strings.ContainsAny(pattern, `{\`) {
		return true
	}
	for part := range strings.SplitSeq(below, "/") {
		first, rest, more := strings.Cut(pattern, "/")
		if first == "**" || strings.Contains(first, "[") {
			return true
		}
		if !more || !doublestar.MatchUnvalidated(first, part) {
			return false
		}
		pattern = rest
	}
	return true
}

// dotted says whether a pattern names something that begins with a dot.
func dotted(pattern string) bool {
	return strings.HasPrefix(pattern, ".") || strings.Contains(pattern, "/.") || strings.Contains(pattern, "{.") || strings.Contains(pattern, ",.")
}

// named says whether all that begins with a dot in a path is named so in the pattern,
// and not by a star.
func named(pattern, below string) bool {
	if !strings.HasPrefix(below, ".") && !strings.Contains(below, "/.") {
		return true
	}
	for part := range strings.SplitSeq(below, "/") {
		if strings.HasPrefix(part, ".") && !slices.ContainsFunc(strings.FieldsFunc(pattern, func(r rune) bool { return strings.ContainsRune("/{},", r) }), func(p string) bool {
			return strings.HasPrefix(p, ".") && doublestar.MatchUnvalidated(p, part)
		}) {
			return false
		}
	}
	return true
}
