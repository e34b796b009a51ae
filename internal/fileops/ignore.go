package fileops

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/wildmatch"
)

// maxIgnore bounds one file of patterns, in bytes; a longer one is not obeyed.
const maxIgnore = 1 << 20

// ignoring is what Git ignores at a place: the patterns of one file after those that
// it overrules. Names of a repository are relative to the directory of the file.
type ignoring struct {
	above *ignoring
	rules []ignoreRule
	base  string // the directory, as the walk names it
	inner string // between that and the file's own directory, where the walk began below it
}

// ignoreRule is one line of gitignore(5).
type ignoreRule struct {
	pattern  string
	plain    int  // so many bytes at its beginning are not special
	negated  bool // what it matches is not ignored
	dirs     bool // only directories
	baseOnly bool // no slash in it: it is of names, at any depth
}

// ignored says whether Git ignores an entry. Whatever lies in an ignored directory is
// ignored, too: whoever walks does not enter it.
func (g *ignoring) ignored(path string, dir bool) bool {
	name := filepath.Base(path)
	for ; g != nil; g = g.above {
		below := strings.TrimPrefix(strings.TrimPrefix(path, g.base), "/")
		if g.base == "." {
			below = path
		}
		if g.inner != "" {
			below = g.inner + "/" + below
		}
		for i := len(g.rules) - 1; i >= 0; i-- {
			if r := &g.rules[i]; r.matches(below, name, dir) {
				return !r.negated
			}
		}
	}
	return false
}

func (r *ignoreRule) matches(path, name string, dir bool) bool {
	switch {
	case r.dirs && !dir:
		return false
	case r.baseOnly && r.plain == len(r.pattern):
		return r.pattern == name
	case r.baseOnly:
		return wildmatch.Match(r.pattern, name, false)
	case !strings.HasPrefix(path, r.pattern[:r.plain]):
		return false
	}
	return wildmatch.Match(r.pattern[r.plain:], path[r.plain:], true)
}

// parseIgnore reads the lines of one file.
func parseIgnore(text []byte) (rules []ignoreRule) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for line := range bytes.Lines(text) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if at := bytes.IndexByte(line, 0); at >= 0 {
			line = line[:at]
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		p := trimSpaces(string(line))
		var r ignoreRule
		if r.negated = strings.HasPrefix(p, "!"); r.negated {
			p = p[1:]
		}
		if r.dirs = strings.HasSuffix(p, "/"); r.dirs {
			p = p[:len(p)-1]
		}
		r.baseOnly = !strings.Contains(p, "/")
		p = strings.TrimPrefix(p, "/")
		if p == "" {
			continue
		}
		r.pattern, r.plain = p, len(p)
		if i := strings.IndexAny(p, `*?[\`); i >= 0 {
			r.plain = i
		}
		rules = append(rules, r)
	}
	return rules
}

// trimSpaces takes the spaces at the end that no backslash keeps.
func trimSpaces(p string) string {
	end := -1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case ' ':
			if end < 0 {
				end = i
			}
			continue
		case '\\':
			if i++; i == len(p) {
				return p
			}
		}
		end = -1
	}
	if end >= 0 {
		return p[:end]
	}
	return p
}

// ignoringAt is what holds in a directory where a walk begins: the repository's and
// the user's own patterns, and those of the directories from its top down to there,
// without the directory's own file.
func ignoringAt(dir string) *ignoring {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	top := abs
	for !isRepository(top) {
		if parent := filepath.Dir(top); parent != top {
			top = parent
			continue
		}
		return nil // in no repository: only what the walk finds
	}
	inner, err := filepath.Rel(top, abs)
	if err != nil {
		return nil
	}
	if inner == "." {
		return nil // the walk sees the repository itself
	}
	g := repository(top, dir, inner)
	at := top
	for {
		g = g.with(at, dir, inner)
		first, rest, more := strings.Cut(inner, "/")
		if !more {
			return g
		}
		at, inner = filepath.Join(at, first), rest
	}
}

func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// repository is what holds in all of a repository.
func repository(top, base, inner string) *ignoring {
	g := &ignoring{base: base, inner: inner}
	if config := os.Getenv("XDG_CONFIG_HOME"); config != "" {
		g.rules = parseIgnore(readIgnore(filepath.Join(config, "git/ignore"), 0))
	} else if home := os.Getenv("HOME"); home != "" {
		g.rules = parseIgnore(readIgnore(filepath.Join(home, ".config/git/ignore"), 0))
	}
	own := &ignoring{above: g, base: base, inner: inner}
	own.rules = parseIgnore(readIgnore(filepath.Join(gitDir(top), "info/exclude"), 0))
	return own
}

// gitDir is where a repository keeps what all its work trees share.
func gitDir(top string) string {
	dir := filepath.Join(top, ".git")
	text, ok := strings.CutPrefix(string(readIgnore(dir, 0)), "gitdir: ")
	if !ok {
		return dir
	}
	if dir = strings.TrimSpace(text); !filepath.IsAbs(dir) {
		dir = filepath.Join(top, dir)
	}
	if common := strings.TrimSpace(string(readIgnore(filepath.Join(dir, "commondir"), 0))); filepath.IsAbs(common) {
		return common
	} else if common != "" {
		return filepath.Join(dir, common)
	}
	return dir
}

// with adds the .gitignore of a directory, if it has one.
func (g *ignoring) with(dir, base, inner string) *ignoring {
	rules := parseIgnore(readIgnore(filepath.Join(dir, ".gitignore"), noFollow))
	if len(rules) == 0 {
		return g
	}
	return &ignoring{above: g, rules: rules, base: base, inner: inner}
}

// readIgnore reads a small regular file; anything else is as if it were not there.
func readIgnore(path string, flags int) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|careful|flags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > maxIgnore {
		return nil
	}
	text, _ := io.ReadAll(io.LimitReader(f, maxIgnore))
	return text
}
