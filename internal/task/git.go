package task

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"carrel/internal/hostprogram"
)

const (
	maxAnswer    = 16 << 20 // bytes of what git says
	maxComplaint = 2000     // bytes of its errors that are told
)

// Git is the git of the host, for what reads and changes references and the list of worktrees.
type Git struct{ program *hostprogram.Program }

// FindGit finds git in the system's directories.
func FindGit(getenv func(string) string) (*Git, error) {
	p, err := hostprogram.Find("git", getenv)
	if err != nil {
		return nil, fmt.Errorf("%w: tasks are worktrees of git\nhint: install git", err)
	}
	return &Git{p}, nil
}

// Itself are words that have git read the objects and nothing that only says what is in them. Programs inside
// may write such a commit-graph, replacement or index of packs, and it may lie.
var Itself = []string{"--no-replace-objects", "-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"}

// harmless keeps a repository's and its user's configuration from having git start something.
var harmless = append([]string{
	"--no-pager", "--no-optional-locks",
	"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	"-c", "protocol.allow=never", "-c", "submodule.recurse=false", "-c", "core.quotePath=false",
}, Itself...)

// run asks git about a directory. What it says of errors is part of the error.
func (g *Git) run(ctx context.Context, dir string, args ...string) (string, error) {
	out, told, err := g.program.Run(ctx, nil, maxAnswer, append(append([]string{"-C", dir}, harmless...), args...)...)
	var status *exec.ExitError
	if errors.As(err, &status) {
		text := strings.TrimSpace(string(told[:min(len(told), maxComplaint)]))
		return string(out), &GitError{Status: status.ExitCode(), Text: strings.TrimPrefix(strings.TrimPrefix(text, "fatal: "), "error: ")}
	}
	return string(out), err
}

// GitError is what git says of something that went wrong.
type GitError struct {
	Status int
	Text   string
}

func (e *GitError) Error() string { return "git: " + e.Text }

// line is run for an answer of one line.
func (g *Git) line(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := g.run(ctx, dir, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// Place is where a directory is in a repository.
type Place struct {
	Top    string // of its working tree
	Common string // the repository's git directory, the same for all its worktrees
	Main   string // the main working tree; Common where the repository is bare
	Branch string // that is checked out, without refs/heads/; "" for none
}

// Where finds the repository of a directory.
func (g *Git) Where(ctx context.Context, dir string) (*Place, error) {
	common, err := g.line(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("%w\nhint: a task is a branch and a worktree of a repository: go into one, or `git init` makes one", err)
	}
	p := &Place{Common: common, Main: common}
	if p.Top, err = g.line(ctx, dir, "rev-parse", "--path-format=absolute", "--show-toplevel"); err != nil {
		p.Top = common // bare
	}
	if trees, err := g.Trees(ctx, common); err == nil && len(trees) > 0 && !trees[0].Bare {
		p.Main = trees[0].Path
	}
	if ref, err := g.line(ctx, dir, "symbolic-ref", "--quiet", "HEAD"); err == nil {
		p.Branch = strings.TrimPrefix(ref, "refs/heads/")
	}
	return p, nil
}

// Checkout is one working tree of a repository.
type Checkout struct {
	Path   string
	Head   string // the commit that is checked out
	Branch string // without refs/heads/; "" for none
	Bare   bool
}

// Trees lists the working trees of a repository; the main one is the first.
func (g *Git) Trees(ctx context.Context, dir string) ([]Checkout, error) {
	out, err := g.run(ctx, dir, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	return parseTrees(out), nil
}

// parseTrees reads what git-worktree(1) calls the porcelain format, with -z.
func parseTrees(out string) (list []Checkout) {
	for attribute := range strings.SplitSeq(out, "\x00") {
		name, value, _ := strings.Cut(attribute, " ")
		if name == "worktree" {
			list = append(list, Checkout{Path: value})
		}
		if len(list) == 0 {
			continue
		}
		switch last := &list[len(list)-1]; name {
		case "HEAD":
			last.Head = value
		case "branch":
			last.Branch = strings.TrimPrefix(value, "refs/heads/")
		case "bare":
			last.Bare = true
		}
	}
	return list
}

// Commit gives the id of the commit that a revision names.
func (g *Git) Commit(ctx context.Context, dir, revision string) (string, error) {
	id, err := g.line(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil || !isID(id) {
		return "", fmt.Errorf("%q names no commit here", revision)
	}
	return id, nil
}

// isID says whether git could have named an object so: 40 or 64 hexadecimal digits.
func isID(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}

// HasBranch says whether there is a branch of a name.
func (g *Git) HasBranch(ctx context.Context, dir, branch string) bool {
	_, err := g.run(ctx, dir, "show-ref", "--verify", "--quiet", "refs/heads/"+branch)
	return err == nil
}

// AddTree makes a worktree on a new branch that begins at a commit. Its files are not made: they
// are git's to write inside walls, since filters may run for them.
func (g *Git) AddTree(ctx context.Context, dir, path, branch, base, reason string) error {
	// A bare repository has no logs of its branches yet, and walls let a worktree write only to what is there.
	_, err := g.run(ctx, dir, "-c", "core.logAllRefUpdates=true", "worktree", "add", "--no-checkout", "--lock", "--reason", reason,
		"--no-track", "-b", branch, "--", path, base)
	return err
}

// BorrowTree makes a worktree on a branch that there is; see AddTree.
func (g *Git) BorrowTree(ctx context.Context, dir, path, branch, reason string) error {
	_, err := g.run(ctx, dir, "worktree", "add", "--no-checkout", "--lock", "--reason", reason, "--", path, branch)
	return err
}

// ForgetTree takes a worktree off the list, whose files have been removed.
func (g *Git) ForgetTree(ctx context.Context, dir, path string) error {
	if _, err := g.run(ctx, dir, "worktree", "unlock", "--", path); err != nil {
		var said *GitError
		if !errors.As(err, &said) { // one that is not there, or not locked, is no mistake
			return err
		}
	}
	// No `worktree prune`: that would forget worktrees of others, too, whose disk is not there now.
	_, err := g.run(ctx, dir, "worktree", "remove", "--force", "--", path)
	if said := (*GitError)(nil); errors.As(err, &said) && strings.HasSuffix(said.Text, "is not a working tree") {
		return nil
	}
	return err
}

// RemoveBranch removes a branch while it is at a commit.
func (g *Git) RemoveBranch(ctx context.Context, dir, branch, at string) error {
	_, err := g.run(ctx, dir, "update-ref", "--no-deref", "-d", "refs/heads/"+branch, at)
	return err
}

// RenameBranch gives a branch another name, in the worktrees that are on it, too.
func (g *Git) RenameBranch(ctx context.Context, dir, from, to string) error {
	_, err := g.run(ctx, dir, "branch", "-m", "--", from, to)
	return err
}

// Lonely says how many commits up to one, which is given by its id, are on no branch.
func (g *Git) Lonely(ctx context.Context, dir, of string) (int, error) {
	if !isID(of) {
		return 0, fmt.Errorf("%q names no commit", of)
	}
	out, err := g.line(ctx, dir, "rev-list", "--count", of, "--not", "--branches", "--")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// Count says how many commits of a revision are not reached from another.
func (g *Git) Count(ctx context.Context, dir, without, of string) (int, error) {
	out, err := g.line(ctx, dir, "rev-list", "--count", "--end-of-options", of, "^"+without, "--")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(out)
}

// MergeBase gives the commit at which two parted.
func (g *Git) MergeBase(ctx context.Context, dir, a, b string) (string, error) {
	id, err := g.line(ctx, dir, "merge-base", "--end-of-options", a, b)
	if err != nil || !isID(id) {
		return "", fmt.Errorf("the commits %.12s and %.12s have no history in common", a, b)
	}
	return id, nil
}

// PathOf is where the worktree of a task lies: below the directory for the data of programs,
// as it is a person's to work in.
func PathOf(data, key, main, name string) string {
	base := filepath.Base(main)
	if base == ".git" || bytes.ContainsAny([]byte(base), "\x00/") {
		base = filepath.Base(filepath.Dir(main))
	}
	base = strings.Map(func(r rune) rune { // a workspace is known by it in messages and in JSON
		if r == utf8.RuneError || unicode.IsControl(r) {
			return '_'
		}
		return r
	}, base)
	return filepath.Join(data, "carrel", "tasks", base+"-"+key[:8], name)
}
