package hostview

import (
	"bytes"
	"path"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/wildmatch"
)

// gitReader collects the entries of files and of what they include, in Git's
// order: an included file counts at the place of its include.
type gitReader struct {
	in      *inspector
	gitDir  string // canonical; "" outside a repository
	files   int
	entries []gitconf.Entry
}

// file reads one file. A file with a syntax error counts for nothing.
func (r *gitReader) file(p string, depth int) {
	if !path.IsAbs(p) || path.Clean(p) == "/dev/null" {
		return
	}
	data, at, err := r.in.h.load(path.Clean(p), maxGitFile)
	if err != nil {
		if at.found {
			r.in.out.note("Git configuration: %v", err)
		}
		return
	}
	if r.files++; r.files > maxGitFiles {
		r.in.out.note("Git configuration: more than %d files are included", maxGitFiles)
		return
	}
	entries, err := gitconf.Parse(data)
	if err != nil {
		r.in.out.note("%s is left out: %v", r.in.o.tilde(p), err)
		return
	}
	for _, e := range entries {
		if len(r.entries) >= maxGitEntries {
			r.in.out.note("Git configuration: more than %d entries", maxGitEntries)
			return
		}
		if e.Key == "path" && !e.NoValue && r.included(e, at.path) {
			r.include(e.Value, p, depth)
		}
		r.entries = append(r.entries, e)
	}
}

// include reads a file that is named relative to the file that names it.
func (r *gitReader) include(value, from string, depth int) {
	if depth >= maxGitDepth {
		r.in.out.note("Git configuration %s: includes are nested deeper than %d", r.in.o.tilde(from), maxGitDepth)
		return
	}
	if p := r.in.o.gitPath(value, path.Dir(path.Clean(from))); p != "" {
		r.file(p, depth+1)
	}
}

// included decides about include.path and includeIf.CONDITION.path. real is the
// canonical path of the file that asks.
func (r *gitReader) included(e gitconf.Entry, real string) bool {
	if e.Section == "include" && !e.HasSub {
		return true
	}
	if e.Section != "includeif" || !e.HasSub {
		return false
	}
	if pattern, ok := strings.CutPrefix(e.Sub, "gitdir:"); ok {
		return r.matchGitDir(pattern, real, false)
	}
	if pattern, ok := strings.CutPrefix(e.Sub, "gitdir/i:"); ok {
		return r.matchGitDir(pattern, real, true)
	}
	r.in.out.note("Git configuration: the condition %q is not followed", e.Sub)
	return false
}

// matchGitDir compares the project's git directory with a gitdir condition, as
// include_by_gitdir of Git does.
func (r *gitReader) matchGitDir(pattern, real string, fold bool) bool {
	if r.gitDir == "" {
		return false
	}
	literal := "" // a directory that is compared byte by byte, not as a pattern
	switch {
	case strings.HasPrefix(pattern, "~/") && r.in.o.Home != "":
		pattern = r.in.o.Home + pattern[1:]
	case strings.HasPrefix(pattern, "./"):
		literal = strings.TrimSuffix(path.Dir(real), "/") + "/"
		pattern = pattern[2:]
	case !path.IsAbs(pattern):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") || pattern == "" {
		pattern += "**"
	}
	text := r.gitDir
	if fold {
		literal, pattern, text = foldASCII(literal), foldASCII(pattern), foldASCII(text)
	}
	rest, ok := strings.CutPrefix(text, literal)
	return ok && wildmatch.Match(pattern, rest, true)
}

func foldASCII(s string) string {
	b := []byte(s)
	for i := range b {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

const maxGitLink = 8 << 10

// gitDir finds the git directory of the project: .git, where a file of that
// name (worktree, submodule) points, or the project itself if it is bare.
func (in *inspector) gitDir() string {
	at := in.h.walk(path.Join(in.o.Project, ".git"))
	if at.isDir() {
		return at.path
	}
	if at.isFile() {
		data, err := in.h.read(at.path, maxGitLink)
		target, ok := bytes.CutPrefix(data, []byte("gitdir: "))
		if err != nil || !ok {
			return ""
		}
		p := strings.TrimRight(string(target), "\r\n")
		if !path.IsAbs(p) {
			p = path.Join(path.Dir(at.path), p)
		}
		if to := in.h.walk(path.Clean(p)); to.isDir() {
			return to.path
		}
		return ""
	}
	if in.h.walk(path.Join(in.o.Project, "HEAD")).isFile() && in.h.walk(path.Join(in.o.Project, "objects")).isDir() {
		return in.o.Project
	}
	return ""
}
